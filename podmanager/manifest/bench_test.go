package manifest

import (
	"encoding/json"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// What a pod costs from bytes to a defaulted, valid pod.
func BenchmarkDecode(b *testing.B) {
	typical := []byte(pod(`containers: [
  {name: web, image: "r.io/web:v1", ports: [{containerPort: 80}], resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}},
   env: [{name: A, value: b}, {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}], volumeMounts: [{name: data, mountPath: /data}],
   livenessProbe: {httpGet: {port: 80}}, readinessProbe: {tcpSocket: {port: 80}}},
  {name: side, image: "r.io/side:v1", volumeMounts: [{name: data, mountPath: /data, readOnly: true}]}],
  volumes: [{name: data, emptyDir: {}}, {name: host, hostPath: {path: /var/log}}]`))
	typicalJSON, err := utilyaml.ToJSON(typical)
	if err != nil || !json.Valid(typicalJSON) {
		b.Fatal(err)
	}
	d := Decoder{NodeName: "node"}
	for _, bc := range []struct {
		name string
		data []byte
	}{{"yaml", typical}, {"json", typicalJSON}} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bc.data)))
			for b.Loop() {
				if r := d.Decode(bc.data, "f"); len(r.Pods) != 1 {
					b.Fatal(r.Errors)
				}
			}
		})
	}
}

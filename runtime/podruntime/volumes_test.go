package podruntime

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// podWith is a pod whose only container mounts the volume "v".
func podWith(source v1.VolumeSource) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1234"},
		Spec: v1.PodSpec{
			Volumes:    []v1.Volume{{Name: "v", VolumeSource: source}},
			Containers: []v1.Container{{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
		},
	}
}

func hostPath(path string, kind v1.HostPathType) v1.VolumeSource {
	return v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path, Type: &kind}}
}

func TestEmptyDir(t *testing.T) {
	l := layout{root: t.TempDir()}
	pod := podWith(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
	paths, err := l.makeVolumes(podFacts{pod: pod})
	require.NoError(t, err)
	dir := filepath.Join(l.root, "pods", "1234", "volumes", "v")
	require.Equal(t, map[string]volume{"v": {path: dir}}, paths)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o777), info.Mode().Perm(), "every user of a container writes to it")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600))
	_, err = l.makeVolumes(podFacts{pod: pod})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "kept"), "made once")
}

func TestHostPathTypes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	short, err := os.MkdirTemp("", "s") // a socket's path has little room
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(short) })
	socket := filepath.Join(short, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()

	for _, tc := range []struct {
		name, path string
		kind       v1.HostPathType
		err        string
	}{
		{"unset asks for nothing", filepath.Join(dir, "none"), v1.HostPathUnset, ""},
		{"directory", dir, v1.HostPathDirectory, ""},
		{"directory is a file", file, v1.HostPathDirectory, "is not a directory"},
		{"directory is missing", filepath.Join(dir, "none"), v1.HostPathDirectory, "no such file"},
		{"directory made", filepath.Join(dir, "a/b"), v1.HostPathDirectoryOrCreate, ""},
		{"directory over a file", filepath.Join(file, "b"), v1.HostPathDirectoryOrCreate, "type check failed"},
		{"file", file, v1.HostPathFile, ""},
		{"file is a directory", dir, v1.HostPathFile, "is not a file"},
		{"file made", filepath.Join(dir, "new"), v1.HostPathFileOrCreate, ""},
		{"file kept", file, v1.HostPathFileOrCreate, ""},
		{"file without a folder", filepath.Join(dir, "no/new"), v1.HostPathFileOrCreate, "no such file"},
		{"socket", socket, v1.HostPathSocket, ""},
		{"socket is a file", file, v1.HostPathSocket, "is not a socket"},
		{"character device", "/dev/null", v1.HostPathCharDev, ""},
		{"block device is none", "/dev/null", v1.HostPathBlockDev, "is not a block device"},
		{"relative", "etc", v1.HostPathUnset, "is not an absolute path"},
		{"unknown", dir, "Tape", `type "Tape" is not supported`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := layout{root: t.TempDir()}.makeVolumes(podFacts{pod: podWith(hostPath(tc.path, tc.kind))})
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, `MountVolume.SetUp failed for volume "v" : `)
			require.ErrorContains(t, err, tc.err)
		})
	}
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "x", string(content))
}

func TestUnsupportedVolumeNamesItsKind(t *testing.T) {
	l := layout{root: t.TempDir()}
	for kind, source := range map[string]v1.VolumeSource{
		"nfs":                   {NFS: &v1.NFSVolumeSource{}},
		"persistentVolumeClaim": {PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}},
		"unknown":               {},
	} {
		_, err := l.makeVolumes(podFacts{pod: podWith(source)})
		require.EqualError(t, err, `MountVolume.SetUp failed for volume "v" : volumes of kind `+kind+` are not supported`)
	}
	unused := podWith(v1.VolumeSource{NFS: &v1.NFSVolumeSource{}})
	unused.Spec.Containers[0].VolumeMounts = nil
	_, err := l.makeVolumes(podFacts{pod: unused})
	require.NoError(t, err, "a volume that no one mounts is not looked at")
}

func TestMounts(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, os.Symlink("/", filepath.Join(dir, "escape")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.Symlink("sub", filepath.Join(dir, "inside")))
	env := &environment{}
	env.set("POD", "web")
	env.set("EMPTY", "")
	env.set("KEY", "../secret")
	env.set("KEY2", "secret")

	for _, tc := range []struct {
		name  string
		mount v1.VolumeMount
		want  runtime.Mount
		err   string
	}{
		{"whole", v1.VolumeMount{MountPath: "/x", ReadOnly: true}, runtime.Mount{HostPath: dir, ContainerPath: "/x", ReadOnly: true}, ""},
		{"relative mount path", v1.VolumeMount{MountPath: "x"}, runtime.Mount{HostPath: dir, ContainerPath: "/x"}, ""},
		{"file", v1.VolumeMount{MountPath: "/x", SubPath: "file"}, runtime.Mount{HostPath: dir + "/file", ContainerPath: "/x"}, ""},
		{"made", v1.VolumeMount{MountPath: "/x", SubPath: "a/b"}, runtime.Mount{HostPath: dir + "/a/b", ContainerPath: "/x"}, ""},
		{"expanded", v1.VolumeMount{MountPath: "/x", SubPathExpr: "logs-$(POD)"}, runtime.Mount{HostPath: dir + "/logs-web", ContainerPath: "/x"}, ""},
		{"link that stays inside", v1.VolumeMount{MountPath: "/x", SubPath: "inside"}, runtime.Mount{HostPath: dir + "/sub", ContainerPath: "/x"}, ""},
		{"link that leads out", v1.VolumeMount{MountPath: "/x", SubPath: "escape/etc"}, runtime.Mount{}, "escapes"},
		{"the link itself", v1.VolumeMount{MountPath: "/x", SubPath: "escape"}, runtime.Mount{}, "escapes"},
		{"upwards", v1.VolumeMount{MountPath: "/x", SubPath: "../other"}, runtime.Mount{}, "leads out of the volume"},
		{"absolute", v1.VolumeMount{MountPath: "/x", SubPath: "/etc"}, runtime.Mount{}, "leads out of the volume"},
		{"upwards by a variable", v1.VolumeMount{MountPath: "/x", SubPathExpr: "$(POD)/../.."}, runtime.Mount{}, "leads out of the volume"},
		{"upwards by a secret", v1.VolumeMount{MountPath: "/x", SubPathExpr: "$(KEY)"}, runtime.Mount{}, `subPath "$(KEY)": it leads out of the volume`},
		{"under a file by a secret", v1.VolumeMount{MountPath: "/x", SubPathExpr: "file/$(KEY2)"}, runtime.Mount{}, `subPath "file/$(KEY2)": not a directory`},
		{"missing variables", v1.VolumeMount{MountPath: "/x", SubPathExpr: "$(NO)/$(EMPTY)"}, runtime.Mount{}, "missing value for NO, EMPTY"},
		{"under a file", v1.VolumeMount{MountPath: "/x", SubPath: "file/sub"}, runtime.Mount{}, "not a directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.mount.Name = "v"
			got, err := mountsOf(&v1.Container{VolumeMounts: []v1.VolumeMount{tc.mount}}, map[string]volume{"v": {path: dir}}, env)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				require.NotContains(t, err.Error(), "secret")
				return
			}
			require.NoError(t, err)
			tc.want.Name = "v"
			require.Equal(t, []runtime.Mount{tc.want}, got)
		})
	}
	_, err = mountsOf(&v1.Container{VolumeMounts: []v1.VolumeMount{{Name: "gone"}}}, nil, env)
	require.ErrorContains(t, err, `the pod has no volume "gone"`)
}

func TestHostileNamesReachNoPath(t *testing.T) {
	l := layout{root: "/root"}
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "a\x00", strings.Repeat("x", 256)} {
		require.Error(t, l.check(runtime.PodRef{UID: "u", Namespace: "n", Name: name}), "%q", name)
		require.Error(t, element("volume", name), "%q", name)
	}
	require.NoError(t, l.check(runtime.PodRef{UID: "u", Namespace: "n", Name: "web-0.example"}))
	pod := podWith(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
	pod.Spec.Volumes[0].Name, pod.Spec.Containers[0].VolumeMounts[0].Name = "../../x", "../../x"
	_, err := l.makeVolumes(podFacts{pod: pod})
	require.ErrorContains(t, err, "can't name a file")
}

func TestFoldersOfPods(t *testing.T) {
	l := layout{root: t.TempDir()}
	none, err := l.folders()
	require.NoError(t, err)
	require.Empty(t, none)
	ref := runtime.PodRef{UID: "u-1", Namespace: "n", Name: "p"}
	require.NoError(t, os.MkdirAll(l.podLogDir(ref), 0o755))
	require.NoError(t, os.MkdirAll(l.podDir("u-2"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(l.logsDir(), "stray"), 0o755))
	found, err := l.folders()
	require.NoError(t, err)
	require.Equal(t, map[types.UID]runtime.PodRef{"u-1": ref, "u-2": {UID: "u-2"}}, found)
}

package probe_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/probe"
)

// drips sends a byte each tenth of a second until the other side is gone.
func drips(head string) func(context.Context, net.Conn) {
	return func(ctx context.Context, conn net.Conn) {
		io.WriteString(conn, head)
		for {
			select {
			case <-ctx.Done():
				io.Copy(io.Discard, conn)
				return
			case <-time.After(100 * time.Millisecond):
			}
			if _, err := io.WriteString(conn, "x"); err != nil {
				return
			}
		}
	}
}

func says(answer string) func(context.Context, net.Conn) {
	return func(_ context.Context, conn net.Conn) { io.WriteString(conn, answer) }
}

// What a server may say within the protocol, and just outside of it.
func TestServersThatSayTooMuch(t *testing.T) {
	const timedOut = "context deadline exceeded (Client.Timeout"
	for name, c := range map[string]struct {
		answer func(context.Context, net.Conn)
		result probe.Result
		output string
		err    string
	}{
		"header in drips":          {drips("HTTP/1.1 200 OK\r\nX-A: "), probe.Failure, timedOut, ""},
		"status in drips":          {drips("HTTP/1.1 20"), probe.Failure, timedOut, ""},
		"body in drips":            {drips("HTTP/1.1 200 OK\r\n\r\n"), probe.Failure, "", timedOut},
		"chunk in drips":           {drips("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n"), probe.Failure, "", timedOut},
		"body of an error drips":   {drips("HTTP/1.1 500 No\r\n\r\n"), probe.Failure, "", timedOut},
		"more than its length":     {says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay, and more\r\n"), probe.Success, "ok", ""},
		"length below zero":        {says("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok"), probe.Failure, "bad Content-Length", ""},
		"two lengths":              {says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok"), probe.Failure, "Content-Length", ""},
		"length without end":       {says("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nok"), probe.Failure, "bad Content-Length", ""},
		"chunk of a huge size":     {says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nok"), probe.Failure, "", "chunk"},
		"chunk sizes of much text": {endlessly("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("x", 4000)+"\r\nx\r\n"), probe.Failure, "", "chunk"},
		"trailer without end":      {endlessly("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", "X-A: b\r\n"), probe.Failure, "", "trailer"},
		"encoding of its own":      {says("HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\nok"), probe.Failure, "unsupported transfer encoding", ""},
		"five continues":           {says(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 5) + "HTTP/1.0 200 OK\r\n\r\nok"), probe.Success, "ok", ""},
		"HTTP/0.9":                 {says("<html>ok</html>"), probe.Failure, "malformed HTTP response", ""},
		"HTTP of the future":       {says("HTTP/9.9 200 OK\r\n\r\nok"), probe.Success, "ok", ""},
		"status out of range":      {says("HTTP/1.0 999 What\r\n\r\nok"), probe.Failure, "HTTP probe failed with statuscode: 999", ""},
		"status zero":              {says("HTTP/1.0 000 What\r\n\r\nok"), probe.Failure, "HTTP probe failed with statuscode: 0", ""},
		"status below zero":        {says("HTTP/1.0 -20 What\r\n\r\nok"), probe.Failure, "malformed HTTP status code", ""},
		"another protocol":         {says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nok"), probe.Failure, "statuscode: 101", ""},
		"a page of no length":      {says("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"), probe.Success, "", ""},
		"redirect nowhere":         {says("HTTP/1.1 302 Found\r\nLocation: http://\r\n\r\n"), probe.Warning, "Probe terminated redirects", ""},
		"redirect to a file":       {says("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n"), probe.Warning, "Probe terminated redirects", ""},
		"redirect to ftp":          {says("HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/\r\n\r\n"), probe.Failure, `unsupported protocol scheme "ftp"`, ""},
		"redirect to no URL":       {says("HTTP/1.1 302 Found\r\nLocation: http://[::1/%zz\r\n\r\n"), probe.Failure, "failed to parse Location header", ""},
		"redirect to no port":      {says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:x/\r\n\r\n"), probe.Failure, "failed to parse Location header", ""},
		"redirect in circles":      {says("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), probe.Failure, "stopped after 10 redirects", ""},
		"far redirect in drips":    {drips("HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\n\r\n"), probe.Failure, "", timedOut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				r, err := (&probe.HTTP{Dialer: answering(c.answer)}).Probe(ctx, get(80))
				require.LessOrEqual(t, time.Since(began), time.Second)
				requireAnswer(t, r, err, c.result, c.output, c.err)
			})
		})
	}
}

// A name server that does not answer, and one that can't be reached.
func TestNamesThatDoNotResolve(t *testing.T) {
	for name, c := range map[string]struct {
		ask     func(ctx context.Context, network, address string) (net.Conn, error)
		timeout time.Duration
		output  string
	}{
		"never answers": {
			func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
			time.Second / 2,
			"context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
		},
		"is not there": {
			func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") },
			time.Minute,
			"lookup no.such.host.invalid",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: c.ask}}
			target := get(80)
			target.Action.HTTPGet.Host = "no.such.host.invalid"
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			r, err := (&probe.HTTP{Dialer: d}).Probe(ctx, target)
			require.NoError(t, err)
			require.Equal(t, probe.Failure, r.Result)
			require.Contains(t, r.Output, c.output)
			target.Action = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Host: "no.such.host.invalid", Port: intstr.FromInt(80)}}
			r, err = (&probe.TCP{Dialer: d}).Probe(ctx, target)
			require.NoError(t, err)
			require.Equal(t, probe.Failure, r.Result)
		})
	}
}

// Whatever a host looks like, what is dialled is that host at that port.
func TestHostsAreDialledAsTheyAre(t *testing.T) {
	for host, want := range map[string]struct{ dialled, header string }{
		"::1":              {"[::1]:80", "[::1]:80"},
		"fe80::1%eth0":     {"[fe80::1%eth0]:80", "[fe80::1]:80"},
		"example.com":      {"example.com:80", "example.com:80"},
		"EXAMPLE.com.":     {"EXAMPLE.com.:80", "EXAMPLE.com.:80"},
		"[::1]":            {"", ""},
		"a b":              {"", ""},
		"user:pw@host":     {"", ""},
		"host/path":        {"", ""},
		"host\r\nX-A: b":   {"", ""},
		"::1]:22/?[":       {"", ""},
		"169.254.169.254#": {"", ""},
	} {
		t.Run(host, func(t *testing.T) {
			dialled, header := "", ""
			d := dialer(func(_ context.Context, address string) (net.Conn, error) {
				dialled = address
				client, server := net.Pipe()
				go func() {
					defer server.Close()
					req, err := http.ReadRequest(bufio.NewReader(server))
					if err == nil {
						header = req.Host
					}
					io.WriteString(server, "HTTP/1.0 200 OK\r\n\r\n")
				}()
				return client, nil
			})
			target := get(80)
			target.Action.HTTPGet.Host = host
			(&probe.HTTP{Dialer: d}).Probe(t.Context(), target)
			require.Equal(t, want.dialled, dialled)
			require.Equal(t, want.header, header)
		})
	}
}

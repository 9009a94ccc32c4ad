package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
	"github.com/kubeparts/kubeparts/podmanager/source"
)

func walkURL(ctx context.Context, p *page) error {
	p.intro(`A source may be a URL that is asked again and again, each 20 seconds as a rule. It
		gives one Pod or a PodList. Here a function stands for the server, and the source
		asks as soon as that has an answer.`)
	server := make(urlServer)
	reports := make(chan podmanager.Report)
	from := &source.HTTP{
		URL:     "https://boot.example.com/pods",
		Decoder: manifest.Decoder{NodeName: "node-a"},
		Client:  &http.Client{Transport: server},
		Period:  1, // the shortest there is
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- from.Run(ctx, func(r podmanager.Report) { reports <- r }) }()
	answer := func(status int, body string) {
		asked := "GET"
		if etag := server.answer(status, body).Get("If-None-Match"); etag != "" {
			asked += ", unless it is still " + etag
		}
		p.in("%s: %d %s\n%s", asked, status, http.StatusText(status), body)
		p.out("%s", showReport(<-reports))
	}

	p.step("The server has a pod", "source.HTTP.Run", "manifest.Decoder.Decode")
	answer(http.StatusOK, webManifest)
	p.why("A static pod, as from a file. The URL is a part of its UID.")

	p.step("It has not changed", "source.HTTP.Run")
	answer(http.StatusNotModified, "")
	p.why("Nothing is sent and nothing decoded. The source is alive, and says so.")

	p.step("The server fails", "source.StatusError")
	answer(http.StatusInternalServerError, "")
	p.why(`No answer is not an empty list: what it said last stays. It is asked again after a
		second, then at growing waits up to the period; the kubelet waits for the period.`)

	p.step("An empty body", "source.ErrEmptyBody", "source.HTTP")
	answer(http.StatusOK, "")
	p.why(`Nor is this one. The kubelet takes it for a list without pods; MissingMeansEmpty
		gives that.`)

	p.step("A list, of which one is bad", "source.HTTP.Run")
	answer(http.StatusOK, `{"apiVersion": "v1", "kind": "PodList", "items": [
 {"metadata": {"name": "db"}, "spec": {"containers": [{"name": "main", "image": "db:1"}]}},
 {"metadata": {"name": "bad"}, "spec": {"containers": [{"name": "main"}]}}]}`)
	p.why("The bad one is refused alone. The kubelet refuses the whole list.")
	cancel()
	return <-ended
}

// urlServer stands for a server and the way to it: it answers once it is told what.
type urlServer chan func(*http.Request) *http.Response

// answer gives the next answer, and returns what it was asked with.
func (s urlServer) answer(status int, body string) (asked http.Header) {
	header := make(chan http.Header)
	s <- func(req *http.Request) *http.Response {
		header <- req.Header
		return &http.Response{
			StatusCode: status, Request: req,
			Header: http.Header{"Etag": {`"v1"`}}, Body: io.NopCloser(strings.NewReader(body)),
		}
	}
	return <-header
}

// RoundTrip implements [http.RoundTripper].
func (s urlServer) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case answer := <-s:
		return answer(req), nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// showReport prints what a source says, and what is wrong with it.
func showReport(r podmanager.Report) string {
	var lines []string
	if r.Op != "" {
		lines = append(lines, showWord(podmanager.SourceHTTP, r.Op, r.Pods...))
	} else {
		lines = append(lines, "no word about pods")
	}
	if r.Err != nil {
		lines = append(lines, fmt.Sprint("problem: ", r.Err))
	}
	return joined(lines)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// client speaks to the agent of a root.
type client struct {
	root   string
	output string
	follow bool
	tail   int
	http   *http.Client
	stdout io.Writer
	stderr io.Writer
}

func (c *client) fail(err error) int {
	fmt.Fprintln(c.stderr, "nodeagent:", oneLine(err.Error()))
	return exitFault
}

// get asks and returns the body of a good answer.
func (c *client) get(ctx context.Context, method, path string, query url.Values, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://agent"+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) {
			return nil, c.nobody()
		}
		if context.Cause(ctx) == errNoAnswer {
			return nil, fmt.Errorf("the agent on %s does not answer within %v", c.root, answerLimit)
		}
		if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("the agent on %s answers only the user that it runs as, and root", c.root)
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		return nil, errors.New(strings.TrimSpace(string(text)))
	}
	return resp.Body, nil
}

// nobody says that no agent runs there, which may be the wrong place.
func (c *client) nobody() error {
	if info, err := os.Stat(c.root); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("no agent runs on %s: there is no such folder", c.root)
	}
	return fmt.Errorf("no agent runs on %s; if one runs on another folder, name it with --root", c.root)
}

// answerLimit is how long an agent may take for an answer that it has at hand.
const answerLimit = 10 * time.Second

var errNoAnswer = errors.New("no answer")

// fetch asks for JSON, and prints it as it is if that is wanted.
func (c *client) fetch(ctx context.Context, path string, query url.Values, into any) (printed bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, errNoAnswer)
	defer cancel()
	body, err := c.get(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return false, err
	}
	defer body.Close()
	if c.output != "json" {
		return false, json.NewDecoder(body).Decode(into)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return false, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		return false, err
	}
	_, err = c.stdout.Write(plainJSON(indented.Bytes()))
	return true, err
}

// print asks for a text, and prints it as it comes.
func (c *client) print(ctx context.Context, path string, query url.Values) error {
	body, err := c.get(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(c.stdout, body)
	return err
}

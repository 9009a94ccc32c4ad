package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// serve is the web server of the samples: `nodeagent serve`. It ends within its
// grace period when asked to.
func serve(args []string, stderr io.Writer) int {
	fs := flag.NewFlagSet("nodeagent serve", flag.ContinueOnError)
	fs.SetOutput(stderr)
	addr := fs.String("addr", "127.0.0.1:8973", "`host:port` to listen on")
	dir := fs.String("dir", "", "`folder` to serve")
	dirEnv := fs.String("dir-env", "", "`variable` that names the folder to serve, in place of --dir")
	if err := fs.Parse(args); err != nil {
		return exitUsage
	}
	if *dirEnv != "" {
		*dir = os.Getenv(*dirEnv)
	}
	if *dir == "" || fs.NArg() > 0 {
		fmt.Fprintln(stderr, "nodeagent serve: name the folder to serve with --dir or --dir-env")
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serveUntil(ctx, *addr, *dir); err != nil {
		fmt.Fprintln(stderr, "nodeagent serve:", err)
		return exitFault
	}
	return exitOK
}

func serveUntil(ctx context.Context, addr, dir string) error {
	server := &http.Server{
		Addr:              addr,
		Handler:           http.FileServer(http.Dir(dir)),
		ReadHeaderTimeout: 5 * time.Second,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(graceful); err != nil {
		return err
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

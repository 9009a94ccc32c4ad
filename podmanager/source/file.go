package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// DefaultPeriod is how often a source is read when nothing says that it
// changed, as in the kubelet.
const DefaultPeriod = 20 * time.Second

func periodOf(period time.Duration) time.Duration {
	if period <= 0 {
		return DefaultPeriod
	}
	return period
}

// settle is how long after the first hint of a change a folder is read: a save
// in an editor is several changes.
const settle = 50 * time.Millisecond

// File is the source of static pods in a file or a folder. A folder is read
// without its sub-folders, which a warning names; names that begin with a dot are
// skipped, and those of editors' and downloads' temporary files (*~, #*#, *.swp,
// *.swx, *.tmp).
//
// A periodic read is the truth, and a watch on the file system a hint that makes
// it come early. A file is parsed again only when it changed.
type File struct {
	// Path of the file or folder; required. It is made absolute, and then is
	// part of the identity of the pods.
	Path string
	// Decoder turns a manifest into pods; its NodeName is required.
	Decoder manifest.Decoder
	// Period between two reads; default DefaultPeriod.
	Period time.Duration
	// NoWatch reads by Period alone.
	NoWatch bool
	// MissingMeansEmpty takes a path that does not exist for a folder without
	// manifests, as the kubelet does, so that all its pods go away. Without it
	// what was read last stays.
	MissingMeansEmpty bool
	// Logger is told what concerns the watch; nil is silent.
	Logger *slog.Logger
}

// Run implements [podmanager.PodSource].
func (f *File) Run(ctx context.Context, deliver func(podmanager.Report)) error {
	if f.Path == "" {
		return errors.New("file source: Path is empty")
	}
	path, err := filepath.Abs(f.Path) // it is part of the pods' identity
	if err != nil {
		return fmt.Errorf("file source: %s: %w", f.Path, err)
	}
	reader := newFileReader(f, path)
	keepReading(ctx, path, f.NoWatch, f.Period, f.Logger, func() { deliver(reader.read()) })
	return nil
}

// Every implements [podmanager.Regular].
func (f *File) Every() time.Duration { return periodOf(f.Period) }

// fileReader reads the pods of a path.
type fileReader struct{ folder[*v1.Pod] }

func newFileReader(f *File, path string) *fileReader {
	decoder := f.Decoder
	decoder.Source = podmanager.SourceFile
	return &fileReader{folder[*v1.Pod]{
		path: path, missingMeansEmpty: f.MissingMeansEmpty,
		decode: func(data []byte, path string) decoded[*v1.Pod] {
			result := decoder.Decode(data, path)
			return decoded[*v1.Pod]{result.Pods, result.Errors, result.Warnings}
		},
		name: func(pod *v1.Pod) string { return "pod " + pod.Namespace + "/" + pod.Name },
	}}
}

// read looks at everything once. The report has a list only if something
// changed since the last one.
func (r *fileReader) read() podmanager.Report {
	all := r.folder.read()
	report := podmanager.Report{Err: all.err, Warnings: all.warnings}
	if all.changed {
		report.Op, report.Pods = podmanager.OpSet, all.items
	}
	return report
}

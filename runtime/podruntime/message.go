package podruntime

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

const (
	// messageMount is the name of the mount that holds the termination message.
	messageMount = "termination-log"
	// messageLimit is how much of the end of a termination message counts.
	messageLimit = 4096
	// fallbackLines and fallbackLimit bound a message that is taken from the
	// log instead.
	fallbackLines = 80
	fallbackLimit = 2048
)

// makeMessage makes the empty file that an instance of a container may write its
// last words to, whatever user it runs as, and returns its mount. A container
// without a terminationMessagePath has none.
func (l layout) makeMessage(uid types.UID, c *v1.Container, attempt uint32) ([]runtime.Mount, error) {
	if c.TerminationMessagePath == "" {
		return nil, nil
	}
	dir := l.messageDir(uid, c.Name)
	if err := l.makeDir(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, messageName(attempt))
	if err := newFile(path); err != nil {
		return nil, err
	}
	return []runtime.Mount{{Name: messageMount, HostPath: path, ContainerPath: c.TerminationMessagePath}}, nil
}

// newFile makes an empty file that everybody may write to, in place of whatever
// a container put there: a link is not followed, a FIFO not waited for.
func newFile(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	// The umask took its share from the mode.
	return errors.Join(f.Chmod(0o666), f.Close())
}

// exitMessage is the message of an instance that exited: the backend's own,
// then what the container left in its file or, if its policy wants that and it
// failed in silence, the end of its log.
func (l layout) exitMessage(c *runtime.Container) string {
	text := ""
	if c.Annotations[messagePathAnnotation] != "" {
		text = l.readMessage(c.PodUID, c.Name, c.Attempt)
	}
	if text == "" && wantsLog(c) {
		text = logTail(c.LogPath)
	}
	switch {
	case text == "":
		return c.Message
	case c.Message == "":
		return text
	}
	return c.Message + ": " + text
}

func wantsLog(c *runtime.Container) bool {
	policy := v1.TerminationMessagePolicy(c.Annotations[messagePolicyAnnotation])
	return policy == v1.TerminationMessageFallbackToLogsOnError &&
		c.ExitCode != 0 && c.Reason != "ContainerCannotRun" && c.LogPath != ""
}

// readMessage reads the end of a termination message. What can't be read is no
// message: the file is the container's to spoil.
func (l layout) readMessage(uid types.UID, container string, attempt uint32) string {
	if element("pod UID", string(uid)) != nil || element("container", container) != nil {
		return ""
	}
	f, err := openRegular(l.messageDir(uid, container), messageName(attempt))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := readEnd(f, messageLimit)
	if err != nil {
		return ""
	}
	return text
}

// logTail is the end of a log, as a termination message.
func logTail(path string) string {
	f, err := openRegular(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return ""
	}
	defer f.Close()
	start, _, err := tailStart(f, fallbackLines)
	if err != nil {
		return ""
	}
	if _, err := f.Seek(start, io.SeekStart); err != nil {
		return ""
	}
	end := tailBuffer{limit: fallbackLimit}
	if _, err := io.Copy(&end, newLineReader(f, runtime.LogOptions{})); err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(end.data), "\uFFFD")
}

// tailBuffer keeps the last bytes that are written to it.
type tailBuffer struct {
	limit int
	data  []byte
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.data = append(b.data, p...)
	if extra := len(b.data) - b.limit; extra > 0 {
		b.data = append(b.data[:0], b.data[extra:]...)
	}
	return len(p), nil
}

// readEnd reads the last bytes of a file, as text.
func readEnd(f *os.File, limit int64) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	start := max(info.Size()-limit, 0)
	data, err := io.ReadAll(io.NewSectionReader(f, start, limit))
	if err != nil {
		return "", err
	}
	return strings.ToValidUTF8(string(bytes.TrimRight(data, "\x00")), "\uFFFD"), nil
}

// openRegular opens a regular file for reading. A container may have put
// anything in its place: a link that leads out of the folder is not followed,
// and a FIFO without a writer does not block.
func openRegular(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: filepath.Join(dir, name), Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

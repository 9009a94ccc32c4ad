package process

import (
	"errors"
	"log/slog"
	"path/filepath"
)

// Name is the type of this backend in container IDs: process://ID.
const Name = "process"

// Version is the version of this backend.
const Version = "0.1.0"

// ErrLocked is wrapped by the error of [New] for a root that another agent
// uses. The message names its process.
var ErrLocked = errors.New("in use by another agent")

// Config is the configuration of a [Backend].
type Config struct {
	// Root is the folder that everything is kept in; required. It is made when
	// it is missing, for its owner alone (with root's rights: others may pass
	// through it, since containers may have another user). One agent at a time
	// uses it.
	Root string
	// NodeIP is the address of every pod. Default 127.0.0.1.
	NodeIP string
	// MaxLogBytes is the size at which a log file is rotated. Default 10 MiB.
	MaxLogBytes int64
	// MaxLogFiles is how many files a container's log has at most, the current
	// one included; at least 2. Default 5.
	MaxLogFiles int
	// Logger is told what is found broken at the root. Nil is silent.
	Logger *slog.Logger
}

// The defaults of a [Config].
const (
	DefaultNodeIP      = "127.0.0.1"
	DefaultMaxLogBytes = 10 << 20
	DefaultMaxLogFiles = 5
)

// complete returns the configuration with its defaults, or says what is wrong.
func (c Config) complete() (Config, error) {
	if c.Root == "" {
		return c, errors.New("process: Config.Root is required")
	}
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return c, err
	}
	c.Root = root
	if c.NodeIP == "" {
		c.NodeIP = DefaultNodeIP
	}
	if c.MaxLogBytes <= 0 {
		c.MaxLogBytes = DefaultMaxLogBytes
	}
	if c.MaxLogFiles == 0 {
		c.MaxLogFiles = DefaultMaxLogFiles
	}
	if c.MaxLogFiles < 2 {
		return c, errors.New("process: Config.MaxLogFiles must be at least 2")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

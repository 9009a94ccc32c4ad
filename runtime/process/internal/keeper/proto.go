//go:build unix

package keeper

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

// Names of files in a sandbox's folder.
const (
	SandboxRecord   = "sandbox" // a Sandbox, written by the agent
	ContainerPrefix = "c-"      // a Container, written by the keeper, and its suffix
	HomePrefix      = "home-"   // folder of a container
	Socket          = "sock"
	ErrorLog        = "keeper.log"
)

// Marker is the variable by which a process is known to belong to a container:
// its ID, and for a command of Exec a dot and a number.
const Marker = "KUBEPARTS_ID"

// Sandbox is what is kept on disk about a sandbox.
type Sandbox struct {
	ID, UID, Namespace, Name string
	Attempt                  uint32
	HostNetwork              bool
	Groups                   []uint32 // supplementary, of its processes
	CreatedAt                time.Time
	Labels, Annotations      map[string]string
}

// The states of a container.
const (
	Created = "created"
	Running = "running"
	Exited  = "exited"
)

// Container is what is kept on disk about a container. It holds neither
// environment nor arguments, which may carry secrets.
type Container struct {
	ID, Name, Image, ImageRef, LogPath string
	Attempt                            uint32
	Labels, Annotations                map[string]string

	State                            string
	CreatedAt, StartedAt, FinishedAt time.Time

	// PID and Ticks (start time in the kernel's clock) and Boot tell the
	// process from a later one with the same number.
	PID   int    `json:",omitempty"`
	Ticks uint64 `json:",omitempty"`
	Boot  string `json:",omitempty"`

	ExitCode        int32
	Reason, Message string
}

// Command is how a container's process is started. It stays in memory.
type Command struct {
	Argv, Env  []string
	Dir        string
	User       *User `json:",omitempty"`
	NoNewPrivs bool
	StopSignal int

	MaxLogBytes int64
	MaxLogFiles int
}

// User is whom a process runs as, when not as the agent.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// The operations of a Request.
const (
	OpHello    = "hello"    // keep Sandbox
	OpList     = "list"     // answer with all that is kept
	OpCreate   = "create"   // keep Container and Command
	OpStart    = "start"    // start ID
	OpStop     = "stop"     // stop ID within Grace; answer when it ended
	OpRemove   = "remove"   // kill ID and forget it
	OpExec     = "exec"     // run Argv in ID on the three descriptors that came along
	OpWatch    = "watch"    // send a byte at once and after each change
	OpShutdown = "shutdown" // kill all, answer, and exit
)

// Request is one call; a connection carries one. Newer agents talk to older
// keepers, so fields are added and never change their meaning.
type Request struct {
	Op        string
	ID        string        `json:",omitempty"`
	Grace     time.Duration `json:",omitempty"`
	Argv      []string      `json:",omitempty"`
	Sandbox   *Sandbox      `json:",omitempty"`
	Container *Container    `json:",omitempty"`
	Command   *Command      `json:",omitempty"`
}

// Response answers a Request.
type Response struct {
	Error      string     `json:",omitempty"`
	NotFound   bool       `json:",omitempty"` // the Error is that there is no such container
	Sandbox    *Sandbox   `json:",omitempty"`
	Containers containers `json:",omitempty"`
	ExitCode   int        `json:",omitempty"`
	// Closing is set while the sandbox is being stopped.
	Closing bool `json:",omitempty"`
	// Unsaved is set when a record of this keeper could not be written yet.
	Unsaved string `json:",omitempty"`
}

// containers are those of an answer. Who answers may be a process of the
// container, which took the keeper's place: what it says must not become a
// hundred times as large in memory.
type containers []Container

// minContainer is how many bytes the shortest record of a container has.
const minContainer = 200

var (
	errShortRecords = errors.New("an answer that no keeper gives: its records are too short")
	errNoList       = errors.New("the containers are no list")
)

// UnmarshalJSON implements [json.Unmarshaler].
func (c *containers) UnmarshalJSON(data []byte) error {
	*c = nil
	if string(data) == "null" {
		return nil
	}
	most := len(data) / minContainer
	d := json.NewDecoder(bytes.NewReader(data))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return errors.Join(err, errNoList)
	}
	for d.More() {
		if len(*c) == most {
			return errShortRecords
		}
		var one Container
		if err := d.Decode(&one); err != nil {
			return err
		}
		*c = append(*c, one)
	}
	return nil
}

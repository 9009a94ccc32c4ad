//go:build unix

package keeper

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// A message is its length in four bytes and then JSON. Descriptors travel with
// the length. What a keeper answers holds no environment, and is shorter than what
// it may be asked.
const (
	maxMessage = 64 << 20
	maxAnswer  = 16 << 20
)

func send(conn *net.UnixConn, message any, files ...*os.File) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(body) > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", len(body))
	}
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = syscall.UnixRights(fds...)
	}
	length := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, _, err := conn.WriteMsgUnix(length, oob, nil); err != nil {
		return err
	}
	_, err = conn.Write(body)
	return err
}

// receive reads one message of so many bytes at most. The files that came with it
// are the caller's.
func receive(conn *net.UnixConn, message any, most uint32) ([]*os.File, error) {
	length, oob := make([]byte, 4), make([]byte, syscall.CmsgSpace(4*4))
	n, oobn, _, _, err := conn.ReadMsgUnix(length, oob)
	files := filesOf(oob[:oobn])
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err == nil {
		_, err = io.ReadFull(conn, length[n:])
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	size := binary.BigEndian.Uint32(length)
	if size > most {
		closeAll(files)
		return nil, fmt.Errorf("a message of %d bytes is too long", size)
	}
	body := make([]byte, size)
	if _, err = io.ReadFull(conn, body); err == nil {
		err = json.Unmarshal(body, message)
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

func filesOf(oob []byte) []*os.File {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var files []*os.File
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "stream"))
		}
	}
	return files
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

package confine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// order is what the warden is told: first Setup, then Start, then possibly Kill. The
// end of the channel is as good as Kill: nobody is left to be served.
type order struct {
	Setup *setup `json:",omitempty"`
	Start *start `json:",omitempty"`
	Kill  bool   `json:",omitempty"`
}

// setup is what is done before the caller knows what to run.
type setup struct {
	Level  Level
	Listen []string
}

// start is all that a program is run with.
type start struct {
	Args, Env      []string
	Dir, Home      string
	Temp           string // for temporary files at levels below full
	Keep, ReadOnly []string
	Limits         Limits
	Level          Level
	UID, GID       int  // of the program
	Switch         bool // to them; false where it already runs under them
	Memfd          bool // files that live in memory only are allowed: their memory is counted
	Probe          bool // do all but run the program
}

// answer is what the warden says: to Setup with the listeners' descriptors beside it,
// to Start, and when the last process is gone.
type answer struct {
	Err       string `json:",omitempty"`
	Listeners int
	Report    *report `json:",omitempty"`
}

// longest is how long a message may be: the kernel bounds arguments and environment to
// less.
const longest = 16 << 20

// channel carries messages and descriptors between us and the warden.
type channel struct{ *net.UnixConn }

// newChannel gives our end of a channel and the other one as a file.
func newChannel() (channel, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return channel{}, nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "channel"), os.NewFile(uintptr(fds[1]), "channel")
	c, err := openChannel(ours)
	if err != nil {
		theirs.Close()
		return channel{}, nil, err
	}
	return c, theirs, nil
}

// openChannel takes over an end.
func openChannel(f *os.File) (channel, error) {
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return channel{}, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return channel{}, fmt.Errorf("the warden's channel is a %T", conn)
	}
	return channel{unixConn}, nil
}

// send sends a message; descriptors go with its length.
func (c channel) send(message any, files ...*os.File) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(body) > longest {
		return fmt.Errorf("arguments and environment have %d bytes: no system takes more than %d", len(body), longest)
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, _, err := c.WriteMsgUnix(header, rights, nil); err != nil {
		return err
	}
	_, err = c.Write(body)
	return err
}

// receive reads a message and at most so many descriptors.
func (c channel) receive(message any, most int) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			files = nil
		}
	}()
	header, rights := make([]byte, 4), make([]byte, unix.CmsgSpace(4*most))
	n, got, _, _, err := c.ReadMsgUnix(header, rights)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	controls, err := unix.ParseSocketControlMessage(rights[:got])
	if err != nil {
		return nil, err
	}
	for _, control := range controls {
		fds, err := unix.ParseUnixRights(&control)
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "handed over"))
		}
	}
	if _, err := io.ReadFull(c, header[n:]); err != nil {
		return files, err
	}
	size := binary.BigEndian.Uint32(header)
	if size > longest {
		return files, errors.New("a message that is too long")
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c, body); err != nil {
		return files, err
	}
	return files, json.Unmarshal(body, message)
}

package wire

import "bytes"

// framer takes a stream of server-sent events (WHATWG HTML, 9.2) apart into frames,
// wherever the network cuts it. A frame is an event with the blank line that ends it;
// the frames and the rest are the stream, byte for byte.
type framer struct {
	buf  []byte
	scan int  // what was looked at
	line int  // where the line began
	cr   bool // the byte before scan was a carriage return: a newline belongs to it
}

// feed adds bytes.
func (f *framer) feed(p []byte) { f.buf = append(f.buf, p...) }

// next is the next frame, while there is one. It stays valid after further calls.
func (f *framer) next() ([]byte, bool) {
	for ; f.scan < len(f.buf); f.scan++ {
		c := f.buf[f.scan]
		if c == '\n' && f.cr {
			f.cr, f.line = false, f.scan+1
			continue
		}
		f.cr = c == '\r'
		if c != '\n' && c != '\r' {
			continue
		}
		blank := f.line == f.scan
		f.line = f.scan + 1
		if !blank {
			continue
		}
		end := f.scan + 1
		if f.cr && end < len(f.buf) && f.buf[end] == '\n' {
			end, f.cr = end+1, false
		}
		frame := f.buf[:end:end]
		f.buf, f.scan, f.line = f.buf[end:], 0, 0
		return frame, true
	}
	return nil, false
}

// rest is what no blank line ended yet.
func (f *framer) rest() []byte { return f.buf }

var bom = []byte("\xef\xbb\xbf")

// parse reads a frame: its name and its data, if it has data. Comments have none.
func parse(frame []byte) (name string, data []byte, ok bool) {
	frame = bytes.TrimPrefix(frame, bom)
	for len(frame) > 0 {
		var line []byte
		if i := bytes.IndexAny(frame, "\r\n"); i < 0 {
			line, frame = frame, nil
		} else {
			line, frame = frame[:i], frame[i+1:]
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if ok {
				data = append(append(data[:len(data):len(data)], '\n'), value...)
			} else {
				data, ok = value, true
			}
		}
	}
	return name, data, ok
}

// event is a frame of our own.
func event(name string, data []byte) []byte {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	return b.Bytes()
}

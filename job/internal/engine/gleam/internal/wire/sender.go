//go:build linux

package wire

// Sender packs a task's records into frames for each of its destinations, and
// keeps the account of each. It is not safe for concurrent use.
type Sender struct {
	out     *Writer
	header  Frame
	to      []destination
	onFrame func(records uint32) error
}

// destination is one task that is sent to.
type destination struct {
	sent    account
	pending []byte // frame under way
	waiting uint32 // records in it
}

// NewSender returns a sender to so many tasks. The header's Step, Attempt and
// From are those of all its frames. onFrame, if not nil, is called after each
// frame of records.
func NewSender(out *Writer, header Frame, destinations int, onFrame func(records uint32) error) *Sender {
	header.Kind = Data
	return &Sender{out: out, header: header, to: make([]destination, destinations), onFrame: onFrame}
}

// Record returns the buffer that one record for the destination is to be
// appended to; Put takes it back.
func (s *Sender) Record(to int) []byte {
	d := &s.to[to]
	if d.pending == nil {
		d.pending = make([]byte, 0, FrameBytes+FrameBytes/8)
	}
	if len(d.pending) == 0 {
		s.header.To = uint32(to)
		d.pending = s.header.begin(d.pending)
	}
	return d.pending
}

// Put takes the buffer of Record back with one record more, and sends the frame
// when it is large enough.
func (s *Sender) Put(to int, b []byte) error {
	d := &s.to[to]
	d.pending = b
	d.waiting++
	if len(b) >= FrameBytes {
		return s.send(to)
	}
	return nil
}

func (s *Sender) send(to int) error {
	d := &s.to[to]
	if d.waiting == 0 {
		return nil
	}
	records := d.waiting
	b, sum := seal(d.pending, records)
	d.sent.add(records, sum)
	d.pending, d.waiting = b[:0], 0
	if err := s.out.write(uint32(to), b); err != nil || s.onFrame == nil {
		return err
	}
	return s.onFrame(records)
}

// Flush sends what waits for all destinations, and passes it on.
func (s *Sender) Flush() error {
	for to := range s.to {
		if err := s.send(to); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

// End ends every destination with its account; counted is what the task counted
// of its own input. All records were flushed before.
func (s *Sender) End(counted uint64) error {
	f := s.header
	f.Kind = End
	for to := range s.to {
		f.To, f.Payload = uint32(to), s.to[to].sent.append(nil, counted)
		if err := s.out.Write(f); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

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

// destination is the state of one receiving task.
type destination struct {
	sent    account
	pending []byte // the frame that is being filled
	waiting uint32 // its records so far
}

// NewSender returns a sender to so many destinations, the tasks 0 to
// destinations-1. All its frames have the header's Step, Attempt and From. onFrame,
// if not nil, is called after each Data frame with its number of records; its error
// is returned by the call that sent the frame.
func NewSender(out *Writer, header Frame, destinations int, onFrame func(records uint32) error) *Sender {
	header.Kind = Data
	return &Sender{out: out, header: header, to: make([]destination, destinations), onFrame: onFrame}
}

// Record returns the buffer to which the caller appends exactly one record for the
// destination, before it hands the buffer back by Put.
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

// Put takes back the buffer of Record, which now has one more record, and sends the
// frame if it has reached FrameBytes.
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

// Flush sends the unfinished frames of all destinations and flushes the writer.
func (s *Sender) Flush() error {
	for to := range s.to {
		if err := s.send(to); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

// End sends every destination its End frame, with the account of what it was sent;
// counted is what the task counted of its own input. The caller calls Flush
// before.
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

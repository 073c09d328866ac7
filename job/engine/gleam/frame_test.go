package gleam

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

func drawFrame(t *rapid.T) frame {
	return frame{
		kind:    rapid.SampledFrom([]byte{kindData, kindEnd, kindError}).Draw(t, "kind"),
		stage:   stageID(rapid.IntRange(1, 6).Draw(t, "stage")),
		attempt: rapid.Uint64().Draw(t, "attempt"),
		from:    rapid.Uint32().Draw(t, "from"),
		to:      rapid.Uint32().Draw(t, "to"),
		records: rapid.Uint32().Draw(t, "records"),
		payload: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload"),
	}
}

func TestFrameSurvivesTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var wire bytes.Buffer
		w := newRowWriter(&wire)
		var want []frame
		for range rapid.IntRange(0, 5).Draw(t, "frames") {
			f := drawFrame(t)
			f.attempt = 7
			b, _ := f.encode()
			if err := w.write(f.to, b); err != nil {
				t.Fatal(err)
			}
			want = append(want, f)
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		r := newRowReader(&wire)
		for _, f := range want {
			b, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := decodeFrame(b, 7)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.payload, f.payload) {
				t.Fatalf("got payload %x, want %x", got.payload, f.payload)
			}
			got.payload, f.payload = nil, nil
			if got.kind != f.kind || got.stage != f.stage || got.from != f.from || got.to != f.to || got.records != f.records {
				t.Fatalf("got %+v, want %+v", got, f)
			}
		}
		if _, err := r.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("got %v at the end", err)
		}
	})
}

func TestAnyFlippedBitIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFrame(t)
		b, _ := f.encode()
		bit := rapid.IntRange(0, len(b)*8-1).Draw(t, "bit")
		b[bit/8] ^= 1 << (bit % 8)
		if _, _, err := decodeFrame(b, f.attempt); !errors.Is(err, errFrame) {
			t.Fatalf("bit %d of %d: %v", bit, len(b)*8, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
		if _, _, err := decodeFrame(b[:len(b)-1], f.attempt); !errors.Is(err, errFrame) {
			t.Fatalf("cut: %v", err)
		}
		if _, _, err := decodeFrame(b, f.attempt+1); !errors.Is(err, errFrame) {
			t.Fatalf("another attempt: %v", err)
		}
	})
}

// TestLedger loses, repeats and changes the order of frames: the book closes
// exactly when what came is what was sent, in any order.
func TestLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		senders := rapid.IntRange(1, 4).Draw(t, "senders")
		type sent struct {
			f   frame
			sum uint64
		}
		var way []sent
		for s := range senders {
			var a account
			for range rapid.IntRange(0, 3).Draw(t, "frames") {
				f := frame{kind: kindData, stage: stageSegment, from: uint32(s), records: uint32(rapid.IntRange(1, 9).Draw(t, "records")), payload: rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "payload")}
				_, sum := f.encode()
				a.add(f.records, sum)
				way = append(way, sent{f, sum})
			}
			way = append(way, sent{frame{kind: kindEnd, stage: stageSegment, from: uint32(s), payload: a.append(nil, 5)}, 0})
		}
		way = rapid.Permutation(way).Draw(t, "order")
		whole := true
		switch at := rapid.IntRange(0, len(way)-1).Draw(t, "at"); rapid.IntRange(0, 2).Draw(t, "mischief") {
		case 1:
			way, whole = slices.Delete(slices.Clone(way), at, at+1), false
		case 2:
			way, whole = append(slices.Clone(way), way[at]), false
		}
		book := newLedger(stageSegment, senders)
		var err error
		for _, s := range way {
			if err = book.enter(s.f, s.sum); err != nil {
				break
			}
		}
		if err == nil {
			err = book.close()
		}
		if whole != (err == nil) {
			t.Fatalf("whole %v, but %v", whole, err)
		}
		if whole && book.references != uint64(5*senders) {
			t.Fatalf("references %d", book.references)
		}
	})
}

func TestRecordsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits")
		cfg := config.Default()
		cfg.Features.Bits, cfg.Match.Distance = bits, rapid.IntRange(0, 5).Draw(t, "k")
		p, err := newPacking(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var want []data.Keyed
		var sent []data.Entry
		var keyed, packed []byte
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			f := simhash.Fingerprint{Lo: rapid.Uint64().Draw(t, "lo")}
			switch bits {
			case 32:
				f.Lo &= 1<<32 - 1
			case 128:
				f.Hi = rapid.Uint64().Draw(t, "hi")
			}
			table := rapid.IntRange(0, p.tables-1).Draw(t, "table")
			var r data.Keyed
			if first := p.layout.Tables(); table < first {
				r = mapper.SegmentTable(p.layout, table, f, rapid.Uint32().Draw(t, "doc"))
				keyed = binary.LittleEndian.AppendUint32(p.appendHead(keyed, table, f), r.Doc)
			} else {
				v := data.View{Lo: f.Lo, Sketch: [data.SketchSize]byte{40: byte(f.Lo), 63: 1}, Letters: []byte("letters")}
				err := mapper.NewFurther(first, true, true).Table(table-first, &v, rapid.Uint32().Draw(t, "doc"), func(k data.Keyed) error { r = k; return nil })
				if err != nil {
					t.Fatal(err)
				}
				keyed = p.appendKeyed(keyed, r)
			}
			want = append(want, r)
			e := data.Entry{Key: r.Key, Hi: r.Hi, Lo: r.Lo, Docs: rapid.SliceOfN(rapid.Uint32(), 1, 5).Draw(t, "docs")}
			sent = append(sent, e)
		}
		got, err := p.keyed(nil, frame{payload: keyed, records: uint32(len(want))})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
		// Entries come as they were sent, in pieces and over several frames too.
		back := entries{p: p}
		var pieces []data.Entry
		n := uint32(0)
		send := func(e data.Entry) {
			packed = p.appendEntry(packed, &e, e.Docs)
			pieces = append(pieces, e)
			if n++; rapid.Bool().Draw(t, "frame ends") {
				if err := back.add(frame{payload: packed, records: n}); err != nil {
					t.Fatal(err)
				}
				packed, n = nil, 0
			}
		}
		for _, e := range sent {
			cut := rapid.IntRange(1, len(e.Docs)).Draw(t, "cut")
			send(data.Entry{Key: e.Key, Hi: e.Hi, Lo: e.Lo, Docs: e.Docs[:cut]})
			if cut < len(e.Docs) {
				send(data.Entry{Key: e.Key, Hi: e.Hi, Lo: e.Lo, Docs: e.Docs[cut:]})
			}
		}
		if err := back.add(frame{payload: packed, records: n}); err != nil {
			t.Fatal(err)
		}
		for _, want := range pieces {
			var e data.Entry
			if ok, err := back.next(&e); !ok || err != nil || !reflect.DeepEqual(e, want) {
				t.Fatalf("got %v, %t, %v, want %v", e, ok, err, want)
			}
		}
		if ok, err := back.next(new(data.Entry)); ok || err != nil {
			t.Fatalf("behind the last entry: %t, %v", ok, err)
		}
	})
}

func FuzzDecodeFrame(f *testing.F) {
	good, _ := frame{kind: kindData, stage: stageFinal, attempt: 1, records: 1, payload: []byte("payload")}.encode()
	f.Add(good)
	f.Add(good[:20])
	f.Add([]byte("ND\x01\x01\x06\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, sum, err := decodeFrame(b, 1)
		if err != nil {
			if !errors.Is(err, errFrame) {
				t.Fatalf("%v is no errFrame", err)
			}
			return
		}
		again, sum2 := fr.encode()
		if !bytes.Equal(again, b) || sum != sum2 {
			t.Fatalf("%x decodes and encodes to %x", b, again)
		}
	})
}

func FuzzRows(f *testing.F) {
	var wire bytes.Buffer
	w := newRowWriter(&wire)
	if err := errors.Join(w.write(3, []byte("frame")), w.write(1<<31, nil), w.flush()); err != nil {
		f.Fatal(err)
	}
	f.Add(wire.Bytes())
	f.Add([]byte{0, 0, 0, 0x80})
	f.Add([]byte{0xff, 0xff, 0xff, 0x7f, 1})
	f.Add([]byte{4, 0, 0, 0, 0x83, 0xc0, 0xc0, 0xc0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRowReader(bytes.NewReader(b))
		for range len(b) + 1 {
			_, err := r.next()
			if errors.Is(err, io.EOF) && !errors.Is(err, errRow) {
				return
			}
			if err != nil {
				if !errors.Is(err, errRow) {
					t.Fatalf("%v is no errRow", err)
				}
				return
			}
		}
		t.Fatal("more rows than bytes")
	})
}

func FuzzEntries(f *testing.F) {
	p, err := newPacking(config.Default())
	if err != nil {
		f.Fatal(err)
	}
	k := mapper.SegmentTable(p.layout, 2, simhash.Fingerprint{Lo: 77}, 0)
	f.Add(p.appendEntry(nil, &data.Entry{Key: k.Key, Lo: k.Lo}, []uint32{1, 2}), uint32(1))
	f.Add([]byte{1, 0}, uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, records uint32) {
		fr := frame{payload: b, records: records}
		_, _ = p.keyed(nil, fr)
		es := entries{p: p}
		if err := es.add(fr); err != nil {
			if !errors.Is(err, errFrame) {
				t.Fatalf("%v is no errFrame", err)
			}
			return
		}
		for n := uint32(0); ; n++ {
			var e data.Entry
			ok, err := es.next(&e)
			if err != nil || ok != (n < records) {
				t.Fatalf("entry %d of %d: %t, %v", n, records, ok, err)
			}
			if !ok {
				return
			}
			if len(e.Docs) == 0 || simhash.Key(e.Key).Table() >= p.tables {
				t.Fatalf("entry %+v", e)
			}
		}
	})
}

func TestParseProcess(t *testing.T) {
	for _, c := range []struct {
		args []string
		want process
	}{
		{[]string{argDir + "/r/tmp/g", argID + "ff"}, process{dir: "/r/tmp/g", id: 255, task: -1}},
		{[]string{argDir + "/g", argID + "1", argStage, "partial", "-gleam.executor", "[::]:1", "-flow.hashcode", "9", "-flow.stepId", "4", "-flow.taskId", "3"}, process{dir: "/g", id: 1, stage: stagePartial, task: 3}},
		{[]string{argDir + "/g", argAgent + "7", argSaid + "99", argKnown + "host-8", argGuard + "/a/9"},
			process{dir: "/g", guard: guardOf{folder: "/a/9", known: "host-8", agent: 7, said: 99}, task: -1}},
	} {
		got, err := parseProcess(c.args)
		if err != nil || got != c.want {
			t.Errorf("%q: got %+v, %v", c.args, got, err)
		}
	}
	for _, args := range [][]string{{argID + "1"}, {argDir + "/g", argStage, "nonsense"}, {argDir + "/g", argStage, "final"}, {argDir + "/g", "run"}, {argDir + "/g", argID + "zz"}} {
		if p, err := parseProcess(args); err == nil {
			t.Errorf("%q: got %+v", args, p)
		}
	}
	var log strings.Builder
	if code, ours := Main([]string{"run", "-gleam.guard=x"}, nil, &log); ours || code != 0 {
		t.Errorf("an argument of the user was taken: %d, %v", code, ours)
	}
	if code, ours := Main([]string{argID + "1"}, nil, &log); !ours || code != 1 || !strings.Contains(log.String(), "missing") {
		t.Errorf("got %d, %v, %q", code, ours, log.String())
	}
}

func TestFolderOf(t *testing.T) {
	for line, want := range map[string]string{
		"/x/gleam execute --dir /a/77 --note 3:1":                                                    "/a/77",
		"/a/77/program -gleam.attempt.dir=/r -gleam.attempt.id=1 -gleam.mapper final -flow.taskId 1": "/a/77",
		"/bin/sh /a/77/neardup -gleam.attempt.dir=/r -gleam.attempt.id=1 -gleam.mapper final":        "/a/77",
		"/bin/sh /b/neardup run -gleam.attempt.dir=/r":                                               "",
		"/b/neardup -gleam.attempt.dir=/r -gleam.guard=/a/77":                                        "",
		"/x/gleam agent --dir /a/77":                                                                 "",
		"vim execute":                                                                                "",
		"/b/neardup run --engine gleam":                                                              "",
	} {
		var args [][]byte
		for _, a := range strings.Fields(line) {
			args = append(args, []byte(a))
		}
		if got := folderOf(args); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestParseAgents(t *testing.T) {
	page := `<title>Gleam 0.01</title><table>
            <tr>
              <td><code>defaultDataCenter</code></td>
              <td>defaultRack</td>
              <td>10.0.0.7</td>
              <td>45331</td>
              <td>2026-11-21 05:26:41.119642121 +0000 UTC m=+0.512681839</td>
              <td>cpu_count:16 cpu_level:1 memory_mb:8192 </td>
              <td>cpu_count:3 cpu_level:3 memory_mb:24 </td>
            </tr>
            <tr>
              <td><code>dc</code></td>
              <td>r</td>
              <td>host</td>
              <td>1</td>
              <td>now</td>
              <td>cpu_count:2 </td>
              <td></td>
            </tr></table>`
	want := []Agent{{Address: "10.0.0.7:45331", Slots: 16, Used: 3, Memory: 8 << 30}, {Address: "host:1", Slots: 2}}
	if got := parseAgents(page); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		splits := make([]data.Split, rapid.IntRange(1, 30).Draw(t, "splits"))
		total, largest := int64(0), int64(0)
		for i := range splits {
			splits[i] = data.Split{Size: rapid.Int64Range(0, 1000).Draw(t, "size"), End: -1}
			total += max(splits[i].Size, 1)
			largest = max(largest, splits[i].Size, 1)
		}
		tasks := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range splits {
				if !yield(i) {
					return
				}
			}
		})).Draw(t, "tasks")
		n := rapid.IntRange(1, 6).Draw(t, "lanes")
		seen := make([]int, len(splits))
		for _, lane := range deal(splits, tasks, n) {
			load := int64(0)
			for _, task := range lane {
				seen[task]++
				load += max(splits[task].Size, 1)
			}
			// Longest first is within 4/3 of the best; a bound without the best.
			if load > total/int64(n)+largest {
				t.Fatalf("a lane of %d where %d in all are dealt to %d, the largest %d", load, total, n, largest)
			}
		}
		for task, count := range seen {
			if count != 1 {
				t.Fatalf("task %d was dealt %d times", task, count)
			}
		}
	})
}

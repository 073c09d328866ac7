package hbase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
)

var schema = lookup.Schema{Bits: 64, Tables: []lookup.Table{{Width: 5, Prints: true}, {Width: 24}}}

// A key's row is read as it was written.
func TestKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := lookup.Schema{Bits: rapid.SampledFrom([]int{64, 128}).Draw(t, "bits"), Tables: schema.Tables}
		want := stored.Reference{Version: uint64(rapid.Uint32().Draw(t, "version")), Row: rapid.Int64Min(0).Draw(t, "row"), Lo: rapid.Uint64().Draw(t, "lo")}
		if s.Bits == 128 {
			want.Hi = rapid.Uint64().Draw(t, "hi")
		}
		if got, err := parseSuffix(s, suffix(s, want)); err != nil || got != want {
			t.Fatalf("%+v became %+v, %v", want, got, err)
		}
	})
}

// A row's key is 4 bytes of value, 1 byte of flag, 8 bytes of fingerprint, and
// what else there is to say.
func TestRowKey(t *testing.T) {
	s := lookup.Schema{Bits: 64, Tables: []lookup.Table{{Width: 16, Prints: true}, {Width: 26, Prints: true}, {Width: 32}}}
	r := stored.Reference{Version: 2, Row: 300, Lo: 0x0123456789abcdef}
	for want, k := range map[string]lookup.Key{
		"0123 0000 01 0123456789abcdef 02 ac02": {Table: 0, Value: 0x123},
		"ffff ffc0 02 0123456789abcdef 02 ac02": {Table: 1, Value: 1<<26 - 1},
		"8000 0001 03 0123456789abcdef 02 ac02": {Table: 2, Value: 0x80000001},
	} {
		if got := fmt.Sprintf("%x", keyPrefix(s, k)+suffix(s, r)); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%+v: %s, want %s", k, got, want)
		}
	}
	if got := fmt.Sprintf("%x", documentKey(r)); got != "c0000000"+"00"+"00000002"+"ac02" {
		t.Errorf("the document's key is %s", got)
	}
	for prefix, want := range map[string]string{"a": "b", "a\xff\xff": "b", "\xff": ""} {
		if got := behind(prefix); got != want {
			t.Errorf("%q is behind %q, want %q", got, prefix, want)
		}
	}
}

// What is put as a set of rows reads back as these rows.
func TestRowSet(t *testing.T) {
	var set rowSet
	set.add("00ab", nil)
	set.add("meta", []byte(`{"a":"\n"}`))
	got, err := parseRows(set.body())
	if err != nil || len(got) != 2 || got[0].key != "00ab" || len(got[0].value) != 0 || string(got[1].value) != `{"a":"\n"}` {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzParseRows(f *testing.F) {
	var set rowSet
	set.add("00ab", []byte("x"))
	f.Add(set.body())
	for _, text := range []string{``, `{}`, `{"Row":null}`, `{"Row":[{"key":"!"}]}`, `{"Row":[{"key":"MDA=","Cell":[]}]}`, `{"Row":[{"key":7,"Cell":[{"$":{}}]}]}`, `{"Row":[{"key":"MDA=","Cell":[{"$":"eA=="}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := parseRows(text)
		if err != nil {
			return
		}
		var set rowSet
		for _, r := range rows {
			set.add(r.key, r.value)
		}
		if len(rows) == 0 {
			return
		}
		again, err := parseRows(set.body())
		if err != nil || !slices.EqualFunc(rows, again, func(a, b row) bool { return a.key == b.key && bytes.Equal(a.value, b.value) }) {
			t.Errorf("%q became %q, %v", rows, again, err)
		}
	})
}

func FuzzParseSuffix(f *testing.F) {
	f.Add(suffix(schema, stored.Reference{Lo: 255, Version: 1, Row: 42}))
	f.Add("00000000\x01")
	f.Add("00000000\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseSuffix(schema, text)
		if err != nil {
			return
		}
		if again, err := parseSuffix(schema, suffix(schema, r)); err != nil || again != r {
			t.Errorf("%q: %+v became %+v, %v", text, r, again, err)
		}
	})
}

// scanner answers scans as the gateway does: each is made by one request, read by
// a second and removed by a third; any may fail.
func scanner(rows func(start, end string, most int) ([]byte, error)) http.HandlerFunc {
	var lock sync.Mutex
	made := map[string][]byte{}
	return func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		text, there := made[r.URL.Path]
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/t/scanner":
			var asked struct {
				Batch            int
				StartRow, EndRow []byte
			}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			text, err := rows(string(asked.StartRow), string(asked.EndRow), asked.Batch)
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			at := fmt.Sprintf("/t/scanner/%d", len(made))
			made[at] = text
			w.Header().Set("Location", "http://elsewhere"+at)
			w.WriteHeader(http.StatusCreated)
		case !there:
			http.Error(w, "", http.StatusNotFound)
		case r.Method == http.MethodDelete:
			made[r.URL.Path] = nil
		case len(text) == 0:
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = w.Write(text)
		}
	}
}

// at returns a gateway that is answered by h.
func at(t *testing.T, h http.HandlerFunc) *gateway {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	g := newGateway(strings.TrimPrefix(server.URL, "http://"), "t")
	t.Cleanup(g.close)
	return g
}

// A request that fails in passing is repeated, a bounded number of times; one
// that is refused is not.
func TestRetries(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits before it asks again")
	}
	t.Parallel() // it waits before it asks again
	for _, test := range []struct {
		code, fails, want int
		ok                bool
	}{{503, 2, 3, true}, {503, 100, attempts, false}, {400, 100, 1, false}, {404, 1, 1, false}} {
		var asked atomic.Int64
		g := at(t, func(w http.ResponseWriter, _ *http.Request) {
			if int(asked.Add(1)) <= test.fails {
				http.Error(w, "java.io.IOException:\n\tat a.b.c "+strings.Repeat("x", 1000), test.code)
				return
			}
			fmt.Fprint(w, `{"Row":[]}`)
		})
		_, err := g.get(context.Background(), []string{"a"})
		if test.code == http.StatusNotFound && err == nil {
			err = errors.New("no row: 404")
		}
		if int(asked.Load()) != test.want || (err == nil) != test.ok {
			t.Errorf("%+v: asked %d times, %v", test, asked.Load(), err)
		}
		if err != nil && (!strings.Contains(err.Error(), strconv.Itoa(test.code)) || len(err.Error()) > 300 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// A connection that breaks in an answer, or an answer that is cut, is no end of
// the rows.
func TestCutAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits before it asks again")
	}
	t.Parallel() // it waits before it asks again
	for name, end := range map[string]func(w http.ResponseWriter){
		"broken": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"cut":    func(http.ResponseWriter) {},
	} {
		scans := scanner(func(string, string, int) ([]byte, error) { return []byte("rows"), nil })
		g := at(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				scans(w, r)
				return
			}
			fmt.Fprint(w, `{"Row":[{"key":"MDBhYg==","Cell":[{"$":""}]}`)
			w.(http.Flusher).Flush()
			end(w)
		})
		if err := g.scan(context.Background(), "00", page, func(row) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A gateway that does not answer is waited for as long as the caller says.
func TestDeadline(t *testing.T) {
	release := make(chan struct{})
	g := at(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := g.put(ctx, rowSet{{}}); err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// Answers with rows that were not asked for, or that lead nowhere, are errors,
// and end.
func TestHostileRows(t *testing.T) {
	prefix := keyPrefix(schema, lookup.Key{})
	one, two := prefix+suffix(schema, stored.Reference{Version: 1, Row: 1}), prefix+suffix(schema, stored.Reference{Version: 1, Row: 2})
	for name, keys := range map[string][]string{
		"another prefix": {"\x01" + one}, "the same again": {one, one}, "backwards": {two, one}, "more": {one + "xyz"}, "short": {one[:12]},
	} {
		var set rowSet
		for _, key := range keys {
			set.add(key, nil)
		}
		body := set.body()
		g := at(t, scanner(func(string, string, int) ([]byte, error) { return body, nil }))
		err := server{g}.Find(context.Background(), schema, []lookup.Key{{Table: 0}}, func(int, stored.Reference) {})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A scan asks for page after page and gives every row once, whatever fails in
// passing.
func TestPages(t *testing.T) {
	prefix := "\x9a\xff\x00\x00\x01"
	keys := []string{"\x9a\xff\x00\x00\x00z", "\x9a\xff\x00\x00\x02"} // others'
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("%s%c", prefix, i*3))
	}
	slices.Sort(keys)
	asked, gone := 0, 0
	scans := scanner(func(start, end string, most int) ([]byte, error) {
		if asked++; asked%5 == 2 {
			return nil, errors.New("a region moves")
		}
		set := rowSet{}
		for _, key := range keys {
			if key >= start && key < end && len(set) < most {
				set.add(key, nil)
			}
		}
		if len(set) == 0 {
			return nil, nil
		}
		return set.body(), nil
	})
	g := at(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && asked == 4 { // of another gateway
			gone++
			http.Error(w, "", http.StatusNotFound)
			return
		}
		scans(w, r)
	})
	var got []string
	err := g.scan(context.Background(), prefix, 10, func(r row) error {
		got = append(got, r.key)
		return nil
	})
	if err != nil || !slices.Equal(got, keys[1:101]) || asked != 11+1+3 || gone != 1 {
		t.Errorf("%q in %d pages, %d scanners gone, %v", got, asked, gone, err)
	}
}

// A gateway that takes a key in base64 for the key itself is refused: it would find
// nothing of what it is given.
func TestGatewayWithoutEncodedKeys(t *testing.T) {
	g := at(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/t/multiget" {
			http.Error(w, "No rows found.", http.StatusNotFound)
			return
		}
		fmt.Fprint(w, `{"ColumnSchema":[{"name":"d"}]}`)
	})
	if _, err := Open(context.Background(), schema, strings.TrimSuffix(strings.TrimPrefix(g.base, "http://"), "/t"), "t"); err == nil || !strings.Contains(err.Error(), "from HBase 2.5.7") {
		t.Error(err)
	}
}

// An attempt whose answer was lost has changed the state: that it is changed
// when it is repeated is no error.
func TestReplaceAgain(t *testing.T) {
	for there, want := range map[string]bool{"new": true, "of another": false} {
		g := at(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			var set rowSet
			set.add(stateKey, []byte(there))
			_, _ = w.Write(set.body())
		})
		if err := g.replace(context.Background(), stateKey, []byte("old"), []byte("new")); (err == nil) != want {
			t.Errorf("%s: %v", there, err)
		}
	}
}

package hbase

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/neardup/neardup/data/lookup/internal/stored"
)

const (
	attempts   = 5                      // of a request that fails in passing
	pause      = 100 * time.Millisecond // before the second; doubled each time
	patience   = time.Minute            // with one attempt
	maxAnswer  = 256 << 20              // bytes of an answer
	inFlight   = 8                      // requests of one call at once
	maxMessage = 200                    // bytes of what a gateway says of a failure
)

// gateway is a table behind HBase's REST gateway. Its requests may be repeated
// without harm, and are when the gateway or a region does not answer.
type gateway struct {
	client *http.Client
	base   string // http://HOST:PORT/TABLE
	table  string
}

func newGateway(address, table string) *gateway {
	return &gateway{
		client: &http.Client{Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 4 * inFlight,
			IdleConnTimeout:     time.Minute,
		}},
		base:  "http://" + address + "/" + url.PathEscape(table),
		table: table,
	}
}

func (g *gateway) close() { g.client.CloseIdleConnections() }

// statusError is an answer that is not what was asked for.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), e.message))
}

// isStatus reports whether the gateway answered with the code.
func isStatus(err error, code int) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == code
}

// do sends a request to a resource of the table and returns the body of a 2xx
// answer.
func (g *gateway) do(ctx context.Context, method, resource string, body []byte) (text []byte, err error) {
	err = again(ctx, func() (err error) {
		text, _, err = g.once(ctx, method, resource, body)
		return err
	})
	return text, err
}

// again tries until it is done, refused, or has failed too often.
func again(ctx context.Context, try func() error) error {
	wait := pause
	for attempt := 1; ; attempt++ {
		err := try()
		if err == nil {
			return nil
		}
		var status *statusError
		final := errors.As(err, &status) && status.code < 500 || ctx.Err() != nil
		if final || attempt == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
			wait *= 2
		}
	}
}

// once sends a request and returns body and header of a 2xx answer.
func (g *gateway) once(ctx context.Context, method, resource string, body []byte) (_ []byte, _ http.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, g.base+resource, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := g.client.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) { // without the address, which may be long
			err = failed.Err
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w: is HBase's REST gateway running there?", err)
		}
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(text) > maxAnswer:
		return nil, nil, fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		message := strings.Join(strings.Fields(string(text[:min(len(text), maxMessage)])), " ")
		return nil, nil, &statusError{answer.StatusCode, strings.ToValidUTF8(message, "")}
	}
	return text, answer.Header, nil
}

// encoded says that the keys in a URL are inURL.
const encoded = "e=b64"

func inURL(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

// row is a row's key with the value of its one cell.
type row struct {
	key   string
	value []byte
}

// family of all cells.
const family = "d"

// rowSet is rows as a request puts them.
type rowSet []setRow

type setRow struct {
	Key  []byte `json:"key"`
	Cell []setCell
}

type setCell struct {
	Column []byte `json:"column"`
	Value  []byte `json:"$"`
}

func (b *rowSet) add(key string, values ...[]byte) {
	r := setRow{Key: []byte(key), Cell: []setCell{}}
	for _, v := range values {
		r.Cell = append(r.Cell, setCell{[]byte(family + ":v"), append([]byte{}, v...)})
	}
	*b = append(*b, r)
}

func (b rowSet) body() []byte {
	text, _ := json.Marshal(struct{ Row rowSet }{b}) // of bytes: it cannot fail
	return text
}

// parseRows reads the rows of an answer: each has one cell.
func parseRows(text []byte) ([]row, error) {
	var set struct{ Row rowSet }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("an answer that is not HBase's: %w", err)
	}
	if set.Row == nil {
		return nil, errors.New("an answer that is not HBase's: it has no rows")
	}
	rows := make([]row, len(set.Row))
	for i, r := range set.Row {
		if len(r.Cell) != 1 {
			return nil, fmt.Errorf("row %.60q has %d cells in place of 1", r.Key, len(r.Cell))
		}
		rows[i] = row{string(r.Key), r.Cell[0].Value}
	}
	return rows, nil
}

func (g *gateway) put(ctx context.Context, rows rowSet) error {
	if len(rows) == 0 {
		return nil
	}
	// The rows are those of the body, whatever the resource says.
	_, err := g.do(ctx, http.MethodPut, "/rows", rows.body())
	return err
}

// replace gives a row another value, if it has the one that is given; else it
// returns stored.ErrChanged.
func (g *gateway) replace(ctx context.Context, key string, old, value []byte) error {
	var set rowSet
	set.add(key, value, old) // the last is what is there
	_, err := g.do(ctx, http.MethodPut, "/"+inURL(key)+"?check=put&"+encoded, set.body())
	if !isStatus(err, http.StatusNotModified) {
		return err
	}
	// An attempt whose answer was lost may have done it.
	have, err := g.get(ctx, []string{key})
	if err == nil && (len(have) != 1 || !bytes.Equal(have[0].value, value)) {
		err = stored.ErrChanged
	}
	return err
}

// remove deletes a row; one that is not there is no error.
func (g *gateway) remove(ctx context.Context, key string) error {
	_, err := g.do(ctx, http.MethodDelete, "/"+inURL(key)+"?"+encoded, nil)
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// get returns those of the rows that are there.
func (g *gateway) get(ctx context.Context, keys []string) ([]row, error) {
	resource := "/multiget?" + encoded
	for _, key := range keys {
		resource += "&row=" + inURL(key)
	}
	text, err := g.do(ctx, http.MethodGet, resource, nil)
	if isStatus(err, http.StatusNotFound) { // no row, or no table
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseRows(text)
}

// scan yields the rows whose keys start with prefix, in order, asking for page
// rows at a time, each time from the last key on.
func (g *gateway) scan(ctx context.Context, prefix string, page int, found func(row) error) error {
	for start := prefix; ; {
		rows, err := g.page(ctx, start, behind(prefix), page)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if !strings.HasPrefix(r.key, prefix) || r.key < start {
				return fmt.Errorf("row %.60q does not belong into a scan of %q", r.key, prefix)
			}
			if err := found(r); err != nil {
				return err
			}
			start = r.key + "\x00" // what comes next at the earliest
		}
		if len(rows) < page {
			return nil
		}
	}
}

// behind is the first key behind all that start with prefix; "" if none is.
func behind(prefix string) string {
	end := bytes.TrimRight([]byte(prefix), "\xff")
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return string(end)
}

// page returns the first rows, at most so many, from one key to before another.
// Of the gateway's scans those alone that it keeps take any bytes for a key: one is
// made, read and removed. Nothing says how far one was read whose answer did not
// arrive, so all is done again then.
func (g *gateway) page(ctx context.Context, start, end string, most int) (rows []row, err error) {
	scanner, _ := json.Marshal(map[string]any{"batch": most, "startRow": []byte(start), "endRow": []byte(end)}) // it cannot fail
	err = again(ctx, func() error {
		_, made, err := g.once(ctx, http.MethodPut, "/scanner", scanner)
		if err != nil {
			return err
		}
		at := "/scanner/" + path.Base(made.Get("Location"))
		text, _, err := g.once(ctx, http.MethodGet, at, nil)
		if isStatus(err, http.StatusNotFound) || isStatus(err, http.StatusGone) {
			return fmt.Errorf("the gateway does not know the scanner that it made: is it one gateway, or several? (%s)", err) //nolint:errorlint // it is not final
		}
		if err != nil {
			return err
		}
		_, _, _ = g.once(ctx, http.MethodDelete, at, nil) // else the gateway does in the end
		if rows = nil; len(text) > 0 {                    // 204
			rows, err = parseRows(text)
		}
		return err
	})
	return rows, err
}

func (g *gateway) exists(ctx context.Context) (bool, error) {
	text, err := g.do(ctx, http.MethodGet, "/schema", nil)
	if isStatus(err, http.StatusNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var schema struct {
		ColumnSchema []struct{ Name string }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		return false, fmt.Errorf("an answer that is not HBase's: %w", err)
	}
	if len(schema.ColumnSchema) != 1 || schema.ColumnSchema[0].Name != family {
		return false, fmt.Errorf("the table is not an index: it has other column families than %s: name another table", family)
	}
	return true, nil
}

func (g *gateway) create(ctx context.Context) error {
	text, err := json.Marshal(map[string]any{"name": g.table, "ColumnSchema": []any{map[string]string{"name": family}}})
	if err != nil {
		return err
	}
	_, err = g.do(ctx, http.MethodPut, "/schema", text)
	return err
}

package parquet

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// Type is that of a column of records.
type Type int

// The types of a column, and what Write takes for a value.
const (
	String Type = iota // string
	Int                // int
	Double             // float64; NaN is written as null
	Bool               // bool
)

// Field is a column of records.
type Field struct {
	Name string
	Type Type
}

// ErrRecord says that a record does not fit the columns.
var ErrRecord = errors.New("record does not fit the columns")

// RecordWriter writes a table of any columns: small ones, of reports.
type RecordWriter struct {
	*table
	fields []Field
}

// CreateRecords starts a file of the table of that name; it appears at path
// with Commit.
func CreateRecords(path, name string, fields []Field, o Options) (*RecordWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	var nodes schema.FieldList
	var cols []batch
	for _, f := range fields {
		switch f.Type {
		case String:
			nodes, cols = append(nodes, stringField(f.Name)), append(cols, &byteValues{stats: true})
		case Int:
			nodes, cols = append(nodes, plainField(f.Name, parquet.Types.Int64)), append(cols, &int64s{})
		case Double:
			nodes = append(nodes, fieldOf(f.Name, parquet.Repetitions.Optional, nil, parquet.Types.Double, -1))
			cols = append(cols, &doubles{nullable: true})
		case Bool:
			nodes, cols = append(nodes, plainField(f.Name, parquet.Types.Boolean)), append(cols, &bools{})
		default:
			return nil, fmt.Errorf("parquet: column %s: %w: type %d", f.Name, ErrRecord, f.Type)
		}
	}
	t, err := createTable(path, name, bits, o, nodes, cols)
	if err != nil {
		return nil, err
	}
	return &RecordWriter{t, fields}, nil
}

// Write appends a record: a value for each column. It keeps nothing of it. A
// record that does not fit is refused, and leaves the table as it was.
func (w *RecordWriter) Write(values ...any) error {
	if len(values) != len(w.fields) {
		return fmt.Errorf("parquet: %s: %w: %d values for %d columns", w.path, ErrRecord, len(values), len(w.fields))
	}
	for i, f := range w.fields {
		ok := false
		switch f.Type {
		case String:
			_, ok = values[i].(string)
		case Int:
			_, ok = values[i].(int)
		case Double:
			_, ok = values[i].(float64)
		case Bool:
			_, ok = values[i].(bool)
		}
		if !ok {
			return fmt.Errorf("parquet: %s: column %s: %w: a %T", w.path, f.Name, ErrRecord, values[i])
		}
	}
	size := 0
	for i, v := range values {
		switch v := v.(type) {
		case string:
			w.cols[i].(*byteValues).add([]byte(v))
			size += len(v)
		case int:
			w.cols[i].(*int64s).add(int64(v))
		case float64:
			w.cols[i].(*doubles).addNullable(v, math.IsNaN(v))
		case bool:
			w.cols[i].(*bools).add(v)
		}
		size += 8
	}
	return w.added(size)
}

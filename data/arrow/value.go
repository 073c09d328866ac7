package arrow

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
)

// leaf is a column that can be read: where it stands in the schema, a place in it and
// in each group below, and its type, of a dictionary that of its values.
type leaf struct {
	path  string
	place []int
	kind  arrow.DataType
}

// leaves lists the columns of a schema, those in groups by their dotted path.
func leaves(s *arrow.Schema) (all []leaf) {
	var add func(prefix string, place []int, fields []arrow.Field)
	add = func(prefix string, place []int, fields []arrow.Field) {
		for i, f := range fields {
			at := append(place[:len(place):len(place)], i)
			if group, ok := f.Type.(*arrow.StructType); ok {
				add(prefix+f.Name+".", at, group.Fields())
				continue
			}
			all = append(all, leaf{prefix + f.Name, at, plain(f.Type)})
		}
	}
	add("", nil, s.Fields())
	return all
}

func paths(all []leaf) (paths []string) {
	for i := range all {
		paths = append(paths, all[i].path)
	}
	return paths
}

// plain is the type of the values that a column of some type holds.
func plain(kind arrow.DataType) arrow.DataType {
	if x, ok := kind.(arrow.ExtensionType); ok {
		kind = x.StorageType()
	}
	if d, ok := kind.(*arrow.DictionaryType); ok {
		kind = d.ValueType
	}
	return kind
}

// withPlain is the type of a column in which values of a plain type stand at a place.
func withPlain(column arrow.DataType, place []int, values arrow.DataType) arrow.DataType {
	if len(place) == 0 {
		return values
	}
	fields := slices.Clone(column.(*arrow.StructType).Fields())
	at := &fields[place[0]]
	at.Type = withPlain(at.Type, place[1:], values)
	return arrow.StructOf(fields...)
}

// strings reports whether a column holds strings, or bytes.
func (l leaf) strings() bool {
	switch l.kind.(type) {
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType,
		*arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return true
	}
	return false
}

// readable is an error for a column of a type that is not read.
func (l leaf) readable() error {
	switch l.kind.(type) {
	case arrow.ListLikeType, *arrow.ListViewType, *arrow.LargeListViewType:
		return fmt.Errorf("column %s is a list: name one that holds a single value a row", l.path)
	case arrow.UnionType, *arrow.RunEndEncodedType:
		return fmt.Errorf("column %s has the type %s, which is not read", l.path, l.kind)
	}
	return nil
}

// column is a column of a record batch: its values, and the groups that it is in.
type column struct {
	groups []arrow.Array
	values arrow.Array
}

// of finds a column in a batch.
func (l leaf) of(batch arrow.Record) *column {
	c := &column{values: batch.Column(l.place[0])}
	for _, i := range l.place[1:] {
		c.groups = append(c.groups, c.values)
		c.values = c.values.(*array.Struct).Field(i)
	}
	return c
}

// value is where the value of a row stands; nil for a null.
func (c *column) value(row int) (values arrow.Array, at int) {
	for _, g := range c.groups {
		if g.IsNull(row) {
			return nil, 0
		}
	}
	values = c.values
	if x, ok := values.(array.ExtensionArray); ok {
		values = x.Storage()
	}
	if values.IsNull(row) {
		return nil, 0
	}
	if d, ok := values.(*array.Dictionary); ok {
		if row = d.GetValueIndex(row); d.Dictionary().IsNull(row) {
			return nil, 0
		}
		values = d.Dictionary()
	}
	if values.DataType().ID() == arrow.NULL {
		return nil, 0
	}
	return values, row
}

// bytesOf is a value of a column of strings or bytes, valid as long as its batch.
func bytesOf(values arrow.Array, at int) (s string, ok bool) {
	switch v := values.(type) {
	case *array.String:
		return v.Value(at), true
	case *array.LargeString:
		return v.Value(at), true
	case *array.StringView:
		return v.Value(at), true
	case *array.Binary:
		return v.ValueString(at), true
	case *array.LargeBinary:
		return v.ValueString(at), true
	case *array.BinaryView:
		return v.ValueString(at), true
	}
	return "", false
}

// appendText appends a value as text; nothing of a null.
func appendText(dst []byte, values arrow.Array, at int) []byte {
	if values == nil {
		return dst
	}
	if s, ok := bytesOf(values, at); ok {
		return append(dst, s...)
	}
	if v, ok := values.(*array.FixedSizeBinary); ok {
		return append(dst, v.Value(at)...)
	}
	if n, ok := integer(values, at); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	return append(dst, values.ValueStr(at)...)
}

// integer is a value of a column of whole numbers that an int64 holds.
func integer(values arrow.Array, at int) (int64, bool) {
	switch v := values.(type) {
	case *array.Int64:
		return v.Value(at), true
	case *array.Int32:
		return int64(v.Value(at)), true
	case *array.Int16:
		return int64(v.Value(at)), true
	case *array.Int8:
		return int64(v.Value(at)), true
	case *array.Uint32:
		return int64(v.Value(at)), true
	case *array.Uint16:
		return int64(v.Value(at)), true
	case *array.Uint8:
		return int64(v.Value(at)), true
	}
	return 0, false
}

// dateOf is a value as Unix milliseconds. A number is taken as field.UnixDate says.
func dateOf(values arrow.Array, at int) int64 {
	switch v := values.(type) {
	case nil:
		return data.NoDate
	case *array.Timestamp:
		t := int64(v.Value(at))
		switch v.DataType().(*arrow.TimestampType).Unit {
		case arrow.Second:
			return time.Unix(t, 0).UnixMilli()
		case arrow.Microsecond:
			return time.UnixMicro(t).UnixMilli()
		case arrow.Nanosecond:
			return time.Unix(0, t).UnixMilli()
		}
		return t
	case *array.Date32:
		return int64(v.Value(at)) * 24 * 60 * 60 * 1000
	case *array.Date64:
		return int64(v.Value(at))
	}
	if s, ok := bytesOf(values, at); ok {
		return field.ParseDate([]byte(s))
	}
	return field.UnixDate(numberOf(values, at))
}

// numberOf is a value as a number; NaN when it is none.
func numberOf(values arrow.Array, at int) float64 {
	if values == nil {
		return math.NaN()
	}
	if n, ok := integer(values, at); ok {
		return float64(n)
	}
	if s, ok := bytesOf(values, at); ok {
		return field.ParseNumber([]byte(s))
	}
	switch v := values.(type) {
	case *array.Uint64:
		return float64(v.Value(at))
	case *array.Float64:
		return v.Value(at)
	case *array.Float32:
		return float64(v.Value(at))
	case *array.Float16:
		return float64(v.Value(at).Float32())
	case *array.Decimal128:
		return v.Value(at).ToFloat64(v.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Decimal256:
		return v.Value(at).ToFloat64(v.DataType().(*arrow.Decimal256Type).Scale)
	case *array.Boolean:
		if v.Value(at) {
			return 1
		}
		return 0
	}
	return math.NaN()
}

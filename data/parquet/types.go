package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
)

// The types of a table's columns: how each is written, and how it is read.

// stored is a column of a table that is written.
type stored[R any] struct {
	batch
	add func(r *R) (size int) // puts a row's value into the batch; size is that of a byte slice
}

// storedAs says how a column is written, as which column of the schema, and
// which type Arrow has for it.
func storedAs[R any](c *data.Column[R], bits int) (s stored[R], node schema.Node, kind arrow.DataType, err error) {
	switch {
	case c.Fingerprint != nil && bits == 128:
		b := &fixedBatch{}
		s = stored[R]{b, func(r *R) int {
			hi, lo := c.Fingerprint(r)
			b.add(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, 16), *hi), *lo))
			return 0
		}}
		kind = &arrow.FixedSizeBinaryType{ByteWidth: 16}
	case c.Fingerprint != nil:
		b := &int64s{}
		s = stored[R]{b, func(r *R) int {
			_, lo := c.Fingerprint(r)
			b.add(int64(*lo))
			return 0
		}}
		kind = arrow.PrimitiveTypes.Uint64
	case c.Hex != nil:
		b := &byteBatch{}
		s = stored[R]{b, func(r *R) int {
			hi, lo := c.Hex(r)
			text := hexadecimal(*hi, *lo, bits)
			b.add(text)
			return len(text)
		}}
		kind = arrow.BinaryTypes.String
	case c.String != nil:
		b := &byteBatch{nullable: c.Null}
		s = stored[R]{b, func(r *R) int {
			v := *c.String(r)
			if !utf8.Valid(v) {
				v = bytes.ToValidUTF8(v, []byte("\uFFFD"))
			}
			b.add(v)
			return len(v)
		}}
		kind = arrow.BinaryTypes.String
	case c.Word != nil:
		b := &byteBatch{nullable: c.Null}
		s = stored[R]{b, func(r *R) int { b.add([]byte(*c.Word(r))); return 0 }}
		kind = arrow.BinaryTypes.String
	case c.Bytes != nil:
		s, kind = storeBytes(c, c.Bytes, &byteBatch{}), arrow.BinaryTypes.Binary
	case c.Sketch != nil:
		s, kind = storeBytes(c, c.Sketch, &fixedBatch{}), &arrow.FixedSizeBinaryType{ByteWidth: data.SketchSize}
	case c.Int32 != nil:
		s, kind = storeScalar(c, c.Int32, &int32s{}, nil), arrow.PrimitiveTypes.Int32
	case c.Int64 != nil:
		s, kind = storeScalar(c, c.Int64, &int64s{}, nil), arrow.PrimitiveTypes.Int64
	case c.Row != nil:
		s, kind = storeScalar(c, c.Row, &int64s{}, nil), arrow.PrimitiveTypes.Int64
	case c.Date != nil:
		s = storeScalar(c, c.Date, &int64s{}, func(v int64) bool { return v == data.NoDate })
		kind = arrow.FixedWidthTypes.Timestamp_ms
	case c.Double != nil:
		s, kind = storeScalar(c, c.Double, &doubles{}, math.IsNaN), arrow.PrimitiveTypes.Float64
	case c.Bool != nil:
		s, kind = storeScalar(c, c.Bool, &bools{}, nil), arrow.FixedWidthTypes.Boolean
	default:
		return s, nil, nil, fmt.Errorf("column %s: its statement has no type", c.Name)
	}
	node, err = nodeOf(c.Name, c.Null, kind)
	return s, node, kind, err
}

// hexadecimal is a fingerprint as text, as package simhash prints it.
func hexadecimal(hi, lo uint64, bits int) []byte {
	if bits == 32 {
		return fmt.Appendf(nil, "%08x", lo)
	}
	var all [16]byte
	binary.BigEndian.PutUint64(all[:8], hi)
	binary.BigEndian.PutUint64(all[8:], lo)
	return hex.AppendEncode(make([]byte, 0, 32), all[16-bits/8:])
}

func storeBytes[R any, T ~[]byte, W scalarWriter[T]](c *data.Column[R], at func(r *R) *[]byte, b *byteValues[T, W]) stored[R] {
	b.nullable = c.Null
	return stored[R]{b, func(r *R) int {
		v := *at(r)
		b.add(v)
		return len(v)
	}}
}

func storeScalar[R, T any, W scalarWriter[T]](c *data.Column[R], at func(r *R) *T, b *scalars[T, W], null func(T) bool) stored[R] {
	if !c.Null {
		return stored[R]{b, func(r *R) int { b.add(*at(r)); return 0 }}
	}
	return stored[R]{b, func(r *R) int {
		v := *at(r)
		b.addNullable(v, null(v))
		return 0
	}}
}

// nodeOf is the column of the schema for values of a type.
func nodeOf(name string, null bool, kind arrow.DataType) (schema.Node, error) {
	var logical schema.LogicalType = schema.NoLogicalType{}
	physical, length := parquet.Types.Int64, -1
	switch kind := kind.(type) {
	case *arrow.Uint64Type:
		logical = schema.NewIntLogicalType(64, false)
	case *arrow.TimestampType:
		logical = schema.NewTimestampLogicalType(true, schema.TimeUnitMillis)
	case *arrow.StringType:
		logical, physical = schema.StringLogicalType{}, parquet.Types.ByteArray
	case *arrow.BinaryType:
		physical = parquet.Types.ByteArray
	case *arrow.FixedSizeBinaryType:
		physical, length = parquet.Types.FixedLenByteArray, kind.ByteWidth
	case *arrow.Int32Type:
		physical = parquet.Types.Int32
	case *arrow.Float64Type:
		physical = parquet.Types.Double
	case *arrow.BooleanType:
		physical = parquet.Types.Boolean
	}
	repetition := parquet.Repetitions.Required
	if null {
		repetition = parquet.Repetitions.Optional
	}
	return schema.NewPrimitiveNodeLogical(name, repetition, logical, physical, length, -1)
}

// setter puts value i of what was decoded of a column into a row.
type setter[R any] func(r *R, i int) error

// setterOf says how a column is read from one of a file, whose values are
// decoded into from; nil when the file's has another type. In a foreign file
// ids and fingerprints may have other types; a fingerprint that is text is a
// hexadecimal number or a decimal one.
func setterOf[R any](c *data.Column[R], from column, leaf *schema.Column, foreign, hexadecimal bool) (set setter[R]) {
	switch {
	case c.Fingerprint != nil:
		_, narrow := from.(*int64Values)
		if _, wide := from.(*fixedArrays); foreign || narrow || wide && leaf.TypeLength() == 16 {
			set = setFingerprint(c.Fingerprint, from, hexadecimal)
		}
	case c.String != nil:
		set = setBytes(c.String, from, foreign)
	case c.Bytes != nil:
		set = setBytes(c.Bytes, from, false)
	case c.Sketch != nil && leaf.TypeLength() == data.SketchSize:
		set = setBytes(c.Sketch, from, false)
	case c.Word != nil:
		if from, ok := from.(*byteArrays); ok {
			last := ""
			set = func(r *R, i int) error {
				if v := from.buf[i]; string(v) != last {
					last = string(v)
				}
				*c.Word(r) = last
				return nil
			}
		}
	case c.Int32 != nil:
		set = setInteger(c.Int32, from)
	case c.Int64 != nil:
		set = setInteger(c.Int64, from)
	case c.Row != nil:
		set = setInteger(c.Row, from)
	case c.Date != nil:
		set = func(r *R, i int) error {
			p := c.Date(r)
			if *p = data.NoDate; !from.load(i) {
				*p = dateOf(leaf, from)
			}
			return nil
		}
	case c.Double != nil:
		set = func(r *R, i int) error {
			p := c.Double(r)
			if *p = math.NaN(); !from.load(i) {
				*p = numberOf(leaf, from)
			}
			return nil
		}
	case c.Bool != nil:
		if from, ok := from.(*boolValues); ok {
			set = func(r *R, i int) error {
				*c.Bool(r) = from.buf[i]
				return nil
			}
		}
	}
	return set
}

func setBytes[R any](at func(r *R) *[]byte, from column, foreign bool) setter[R] {
	switch from := from.(type) {
	case *byteArrays:
		return func(r *R, i int) error {
			*at(r) = slices.Clip([]byte(from.buf[i]))
			return nil
		}
	case *fixedArrays:
		return func(r *R, i int) error {
			*at(r) = slices.Clip([]byte(from.buf[i]))
			return nil
		}
	}
	if !foreign {
		return nil
	}
	return func(r *R, i int) error {
		p := at(r)
		if *p = (*p)[:0]; !from.load(i) {
			*p = appendText(*p, from)
		}
		return nil
	}
}

func setInteger[R any, T int32 | int64](at func(r *R) *T, from column) setter[R] {
	switch from := from.(type) {
	case *int32Values:
		return func(r *R, i int) error {
			*at(r) = T(from.buf[i])
			return nil
		}
	case *int64Values:
		return func(r *R, i int) error {
			*at(r) = T(from.buf[i])
			return nil
		}
	}
	return nil
}

func setFingerprint[R any](at func(r *R) (hi, lo *uint64), from column, hexadecimal bool) setter[R] {
	return func(r *R, i int) (err error) {
		from.load(i)
		hi, lo := at(r)
		*hi, *lo, err = fingerprintOf(from, hexadecimal)
		return err
	}
}

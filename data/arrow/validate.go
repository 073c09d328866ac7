package arrow

import (
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// errValues is returned for values that are not where a column says.
var errValues = errors.New("values that are not where their column says")

// validate checks that all values of a column are there, so that a batch is lost when it
// is read, not when its rows are copied. It panics where arrow does.
func validate(a arrow.Array) error {
	buffers, n := a.Data().Buffers(), a.Len()
	if len(buffers) > 0 && buffers[0] != nil && 8*buffers[0].Len() < n {
		return errValues
	}
	if t, ok := a.DataType().(arrow.FixedWidthDataType); ok && len(buffers) > 1 && n > 0 && (buffers[1] == nil || 8*int64(buffers[1].Len()) < int64(n)*int64(t.BitWidth())) {
		return errValues
	}
	switch v := a.(type) {
	case *array.String:
		return ascending(v.ValueOffsets(), bufferLen(v))
	case *array.Binary:
		return ascending(v.ValueOffsets(), bufferLen(v))
	case *array.LargeString:
		return ascending(v.ValueOffsets(), bufferLen(v))
	case *array.LargeBinary:
		return ascending(v.ValueOffsets(), bufferLen(v))
	case *array.StringView:
		for i := range v.Len() {
			_ = v.Value(i)
		}
	case *array.BinaryView:
		for i := range v.Len() {
			_ = v.Value(i)
		}
	case *array.Map:
		return validateList(v.Offsets(), n, v.ListValues())
	case *array.List:
		return validateList(v.Offsets(), n, v.ListValues())
	case *array.LargeList:
		return validateList(v.Offsets(), n, v.ListValues())
	case *array.FixedSizeList:
		return validate(v.ListValues())
	case *array.Struct:
		for i := range v.NumField() {
			if v.Field(i).Len() != v.Len() {
				return errValues
			}
			if err := validate(v.Field(i)); err != nil {
				return err
			}
		}
	case *array.Dictionary:
		for i := range v.Len() {
			if n := v.GetValueIndex(i); v.IsValid(i) && (n < 0 || n >= v.Dictionary().Len()) {
				return errValues
			}
		}
		return validate(v.Dictionary())
	}
	return nil
}

func bufferLen(a arrow.Array) int {
	if b := a.Data().Buffers()[2]; b != nil {
		return b.Len()
	}
	return 0
}

func validateList[T int32 | int64](offsets []T, rows int, values arrow.Array) error {
	if rows > 0 && len(offsets) <= rows {
		return errValues
	}
	if err := ascending(offsets, values.Len()); err != nil {
		return err
	}
	return validate(values)
}

// ascending checks that offsets ascend, and end within n.
func ascending[T int32 | int64](offsets []T, n int) error {
	for i, o := range offsets {
		if o < 0 || int64(o) > int64(n) || i > 0 && o < offsets[i-1] {
			return errValues
		}
	}
	return nil
}

package arrow

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Views are the other layout of strings and bytes, which polars writes. What arrow/go
// v15 writes of them other programs refuse, and some of these know no views; so they
// are written as large strings and bytes, in groups, lists and dictionaries too.

// viewless is a type without views.
func viewless(kind arrow.DataType) arrow.DataType {
	switch t := kind.(type) {
	case *arrow.StringViewType:
		return arrow.BinaryTypes.LargeString
	case *arrow.BinaryViewType:
		return arrow.BinaryTypes.LargeBinary
	case *arrow.StructType:
		fields := slices.Clone(t.Fields())
		for i := range fields {
			fields[i].Type = viewless(fields[i].Type)
		}
		return arrow.StructOf(fields...)
	case *arrow.ListType:
		return arrow.ListOfField(viewlessField(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(viewlessField(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), viewlessField(t.ElemField()))
	case *arrow.DictionaryType:
		return &arrow.DictionaryType{IndexType: t.IndexType, ValueType: viewless(t.ValueType), Ordered: t.Ordered}
	}
	return kind
}

func viewlessField(f arrow.Field) arrow.Field {
	f.Type = viewless(f.Type)
	return f
}

// withoutViews is the same values as those of a type that viewless returned for theirs.
func withoutViews(from arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	if arrow.TypeEqual(from.DataType(), to) {
		return from
	}
	switch to := to.(type) {
	case *arrow.LargeStringType:
		views, b := array.NewStringViewData(from), array.NewLargeStringBuilder(mem)
		appendViews(views.Len(), views.IsNull, views.Value, b.Append, b.AppendNull)
		return b.NewArray().Data()
	case *arrow.LargeBinaryType:
		views, b := array.NewBinaryViewData(from), array.NewBinaryBuilder(mem, to)
		appendViews(views.Len(), views.IsNull, views.Value, b.Append, b.AppendNull)
		return b.NewArray().Data()
	case *arrow.DictionaryType:
		dictionary := withoutViews(from.Dictionary(), to.ValueType)
		return array.NewDataWithDictionary(to, from.Len(), from.Buffers(), from.NullN(), from.Offset(), dictionary.(*array.Data))
	}
	children := slices.Clone(from.Children())
	switch to := to.(type) {
	case *arrow.StructType:
		for i := range children {
			children[i] = withoutViews(children[i], to.Field(i).Type)
		}
	case arrow.ListLikeType:
		children[0] = withoutViews(children[0], to.Elem())
	}
	return array.NewData(to, from.Len(), from.Buffers(), children, from.NullN(), from.Offset())
}

func appendViews[T any](n int, null func(int) bool, value func(int) T, add func(T), addNull func()) {
	for i := range n {
		if null(i) {
			addNull()
		} else {
			add(value(i))
		}
	}
}

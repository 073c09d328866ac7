package model

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// encode returns the file of a model.
func encode(m *Model) ([]byte, error) {
	payload := m.sections()
	file := []byte(magic)
	file = binary.LittleEndian.AppendUint32(file, Version)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(payload)))
	file = binary.LittleEndian.AppendUint32(file, checksum(payload))
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.EncodeAll(payload, file), nil
}

// sections returns the uncompressed content of the file.
func (m *Model) sections() []byte {
	inner, ends := make([]uint64, (len(m.Nodes)+63)/64), make([]uint64, (len(m.Nodes)+63)/64)
	var checks, weights, idf []uint16
	var tag []uint8
	var bases []uint32
	logs, index := m.logs()
	for s, n := range m.Nodes {
		checks = append(checks, n.Check())
		if n.Base() != 0 {
			inner[s/64] |= 1 << (s % 64)
			bases = append(bases, n.Base())
		}
		if v := n.Value(); v != 0 {
			ends[s/64] |= 1 << (s % 64)
			weights = append(weights, uint16(index(m.Weight[v-1])))
		}
	}
	var user strings.Builder
	for _, u := range m.User {
		fmt.Fprintf(&user, "%s\t%d\t%s\n", u.Text, u.Weight, u.Tag)
	}
	for id := range m.Tag {
		tag, idf = append(tag, uint8(m.Tag[id])), append(idf, uint16(m.IDF[id]))
	}
	var emissions []float64
	for _, e := range m.Emit {
		emissions = append(emissions, e[:]...)
	}
	hmm := slices.Concat(m.Start[:], m.Trans[0][:], m.Trans[1][:], m.Trans[2][:], m.Trans[3][:])

	var p []byte
	p = appendSection(p, m.Runes)
	p = appendSection(p, checks)
	p = appendSection(p, inner)
	p = appendSection(p, bases)
	p = appendSection(p, ends)
	p = appendSection(p, weights)
	p = appendSection(p, logs)
	p = appendSection(p, []float64{m.FreqSum, m.Median, m.Min, m.MeanIDF})
	p = appendSection(p, []byte(strings.Join(m.Tags, "\n")+"\n"))
	p = appendSection(p, tag)
	p = appendSection(p, m.IDFs)
	p = appendSection(p, idf)
	p = appendSection(p, m.Stop)
	p = appendSection(p, []byte(user.String()))
	p = appendSection(p, hmm)
	return appendSection(p, emissions)
}

func appendSection[T byte | int32 | uint16 | uint32 | uint64 | float64](p []byte, section []T) []byte {
	p = binary.LittleEndian.AppendUint32(p, uint32(len(section)))
	p, _ = binary.Append(p, binary.LittleEndian, section) // fails for other types only
	return p
}

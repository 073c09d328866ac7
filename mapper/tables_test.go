package mapper

import "testing"

// What an entry of the list forgets is named here, before a comparison of its pairs
// runs into it.
func TestTablesAreWhole(t *testing.T) {
	names := map[string]bool{}
	for i, table := range Tables {
		for field, stated := range map[string]bool{
			"a Name of its own": table.Name != "" && !names[table.Name],
			"Reads":             table.Reads != 0,
			"Asked":             table.Asked != nil,
			"Values":            table.Values != nil,
			"Brings":            table.Brings != nil,
			"FirstShared":       table.FirstShared != nil || table.Unlike, // whose pairs are reported by all
		} {
			if !stated {
				t.Errorf("mapper/tables.go: table %d, %q, does not state %s", i, table.Name, field)
			}
		}
		names[table.Name] = true
	}
}

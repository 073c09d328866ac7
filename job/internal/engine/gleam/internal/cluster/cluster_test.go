//go:build linux

package cluster

import (
	"slices"
	"testing"
)

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

//go:build unix

package page

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// hostilePieces are markup that is dear to read, or was.
var hostilePieces = []string{
	"<div>", "</div>", "<p>a", "<x>a", "<li>a", "<b hidden>", "<td>", "<tr>", "<table>", "<h1>related</h1>", "<h2>a</h2>", "<a href=x>Home page of a</a>", "<a href=x>a",
	"<select><option>a", "<svg>", "</svg>", "<template>", "<noscript>", "<title>a</title>", "<textarea>", "<script>", "</script>", "<!--", "-->", "<!", "</", "<", "&", "&amp", "&#1", "&#x4e2d;",
	"<i class=x>a</i>", "<div class=\"nav menu comment\">a</div>", "<p style='display:none'>a</p>", "<p>The mayor said on Monday that nothing was known. ", "中文。", "评论", "a\n", "<br>", " ", "a ",
	"<meta name=description content=aa>", `<script type="application/json">{"body":"It is said. It is said. It is said. It is said. It is said. It is said. It is said."}</script>`,
	"<iframe srcdoc='&lt;p&gt;a. '></iframe>", "<input type=password>", "<img>", "2024 12:30 ", "<dl><dt>a<dd>b", "</p>", "<form>", "\"", "'", "<q-", " a=b", "<plaintext>",
}

// hostilePage is a page that is made to be dear: a real one that was mutated, or
// a few pieces many times.
func hostilePage(r *rand.Rand, real [][]byte) []byte {
	piece := func() []byte { return []byte(hostilePieces[r.IntN(len(hostilePieces))]) }
	if r.IntN(2) == 0 && len(real) > 0 {
		html := bytes.Clone(real[r.IntN(len(real))])
		for range r.IntN(9) {
			i := r.IntN(len(html) + 1)
			j := min(len(html), i+r.IntN(1<<(4+r.IntN(12))))
			switch r.IntN(5) {
			case 0: // without a part
				html = append(html[:i], html[j:]...)
			case 1: // a part many times
				html = append(html[:j:j], append(bytes.Repeat(html[i:j], r.IntN(1+(1<<17)/(j-i+1))), html[j:]...)...)
			case 2: // a piece many times
				html = append(html[:i:i], append(bytes.Repeat(piece(), r.IntN(5000)), html[i:]...)...)
			case 3: // other bytes
				for range r.IntN(50) {
					if len(html) > 0 {
						html[r.IntN(len(html))] = "<>/'\"=&!- a"[r.IntN(11)]
					}
				}
			case 4: // the end of another
				other := real[r.IntN(len(real))]
				html = append(html[:i:i], other[r.IntN(len(other)):]...)
			}
		}
		return html[:min(len(html), 1<<20)]
	}
	var unit []byte
	for range 1 + r.IntN(5) {
		unit = append(unit, bytes.Repeat(piece(), 1+r.IntN(1<<r.IntN(6)))...)
	}
	html := []byte(strings.Repeat("<html><body>", r.IntN(2)))
	return append(html, bytes.Repeat(unit, 1+(1<<(12+r.IntN(7)))/len(unit))...)
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// No page takes much more time than its size asks for, whatever it is made of:
// in processor time a MB, with 16 KiB added to each page. NEARDUP_LAB=1 takes
// 20,000 pages, with NEARDUP_LAB=real half of them mutated from the pages that the
// model learns from, and writes the worst to NEARDUP_WORST.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("reads hundreds of pages that are dear to read")
	}
	pages, limit, real := 300, 300*time.Millisecond, [][]byte(nil)
	if os.Getenv("NEARDUP_LAB") != "" {
		pages, limit = 20000, 100*time.Millisecond
	}
	if os.Getenv("NEARDUP_LAB") == "real" {
		for i, s := range samples(t, true) {
			if i%5 == 0 {
				real = append(real, s.html)
			}
		}
	}
	var x Extractor
	var text []byte
	cost := func(html []byte) time.Duration {
		begin := processTime(t)
		x.Parse(html)
		text = x.AppendMain(text[:0])
		text = x.AppendVisible(text[:0])
		return (processTime(t) - begin) * (1 << 20) / time.Duration(len(html)+1<<14)
	}
	r := rand.New(rand.NewPCG(28, 28))
	var worst time.Duration
	var dearest []byte
	var all, over int
	for range pages {
		html := bytes.ToValidUTF8(hostilePage(r, real), []byte(string(utf8.RuneError)))
		all += len(html)
		c := cost(html)
		for again := 0; again < 9 && c > max(worst, limit/2); again++ { // the machine may be busy
			c = min(c, cost(html))
		}
		if c > limit {
			over++
		}
		if c > worst {
			worst, dearest = c, html
		}
	}
	t.Logf("%d pages of %d MB: the worst takes %v a MB, %d bytes, %.200q", pages, all>>20, worst, len(dearest), dearest)
	if name := os.Getenv("NEARDUP_WORST"); name != "" {
		if err := os.WriteFile(name, dearest, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if over > 0 {
		t.Errorf("%d pages take more than %v a MB", over, limit)
	}
}

// What stands around each node is what climbing from it finds.
func TestAncestors(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 29))
	var x Extractor
	var deep int
	for range 200 {
		html := bytes.ToValidUTF8(hostilePage(r, nil), []byte(string(utf8.RuneError)))
		x.Parse(html)
		if x.AppendMain(nil); len(x.blocks) == 0 || len(x.ancestors) != len(x.nodes) {
			continue // it is not judged
		}
		climb := func(at int32, stop func(n, parent *node) bool) int32 {
			for at > 0 && !stop(&x.nodes[at], &x.nodes[x.nodes[at].parent]) {
				at = x.nodes[at].parent
			}
			return at
		}
		for i := range x.nodes {
			deep = max(deep, int(x.nodes[i].depth))
			want := ancestors{
				chunk:   climb(int32(i), func(_, parent *node) bool { return parent.on&onMain != 0 }),
				section: climb(int32(i), func(n, parent *node) bool { return n.within != parent.within }),
				h1:      climb(int32(i), func(n, _ *node) bool { return n.on&onH1 != 0 }),
				body:    climb(int32(i), func(n, _ *node) bool { return n.on&onBody != 0 }),
			}
			if x.ancestors[i] != want {
				t.Fatalf("node %d: %+v, want %+v, of %.300q", i, x.ancestors[i], want, html)
			}
		}
	}
	if deep < 100 {
		t.Errorf("no page is deeper than %d", deep)
	}
}

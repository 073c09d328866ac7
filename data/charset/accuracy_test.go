package charset_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"

	"github.com/neardup/neardup/data/charset"
)

// texts are samples by language, and the encodings that their languages are
// written in.
var texts = []struct {
	language  string
	encodings []string
	text      string
}{
	{"zh-Hans", []string{"gb18030", "utf-16le", "utf-16be"}, `昨天下午，市图书馆举行了一场关于城市历史的讲座，吸引了近三百名读者参加。主讲人介绍说，这座城市的老街始建于明代，至今仍保留着当年的石板路和木结构房屋。近年来，随着旅游业的发展，越来越多的游客来到这里，感受传统文化的魅力。有关部门表示，下一步将加强对老建筑的保护，同时改善周边的交通和卫生条件，让居民和游客都能享受到更好的环境。活动结束后，许多读者围住主讲人继续提问，气氛十分热烈。`},
	{"zh-Hant", []string{"big5", "gb18030", "utf-16le", "utf-16be"}, `昨日下午，市立圖書館舉行了一場關於城市歷史的講座，吸引近三百名讀者參加。主講人介紹說，這條老街建於清朝，至今仍保留著當年的石板路和木造房屋。近年來，隨著觀光業的發展，愈來愈多的遊客來到這裡，感受傳統文化的魅力。有關部門表示，下一步將加強對老建築的保護，同時改善附近的交通和衛生條件，讓居民與遊客都能享受更好的環境。活動結束後，許多讀者圍著主講人繼續發問，氣氛非常熱烈。`},
	{"ja", []string{"shift_jis", "euc-jp", "iso-2022-jp", "utf-16le", "utf-16be"}, `昨日の午後、市の図書館で町の歴史についての講演会が開かれ、およそ三百人が参加しました。講師によると、この古い通りは江戸時代に作られ、今でも当時の石畳や木造の家が残っているそうです。最近は観光客が増えていて、伝統的な文化を楽しむことができます。市では、古い建物を守りながら、まわりの交通やトイレなどの環境をもっとよくしていきたいと考えています。講演のあとも、たくさんの人が講師のまわりに集まって質問をしていました。`},
	{"ko", []string{"euc-kr", "utf-16le", "utf-16be"}, `어제 오후 시립 도서관에서 도시의 역사에 관한 강연회가 열려 약 삼백 명의 시민이 참석했다. 강연자는 이 오래된 거리가 조선 시대에 만들어졌으며 지금도 당시의 돌길과 나무로 지은 집들이 남아 있다고 설명했다. 최근에는 관광 산업이 발전하면서 점점 더 많은 사람들이 이곳을 찾아 전통 문화를 즐기고 있다. 시에서는 앞으로 오래된 건물을 보호하는 동시에 주변의 교통과 위생 환경을 개선할 계획이라고 밝혔다.`},
	{"ru", []string{"windows-1251", "koi8-r", "iso-8859-5", "ibm866", "utf-16le"}, `Вчера днём в городской библиотеке прошла лекция об истории города, на которую пришли около трёхсот человек. По словам лектора, эта старая улица появилась ещё в семнадцатом веке, и на ней до сих пор сохранились каменная мостовая и деревянные дома. В последние годы сюда приезжает всё больше туристов, которые хотят познакомиться с местной культурой. Городские власти обещают беречь старые здания и улучшить транспорт.`},
	{"uk", []string{"windows-1251", "koi8-u"}, `Учора вдень у міській бібліотеці відбулася лекція про історію міста, на яку прийшло близько трьохсот людей. За словами лектора, ця стара вулиця з'явилася ще в сімнадцятому столітті, і на ній досі збереглися кам'яна бруківка та дерев'яні будинки. Останніми роками сюди приїздить усе більше туристів.`},
	{"bg", []string{"windows-1251"}, `Вчера следобед в градската библиотека се проведе лекция за историята на града, на която дойдоха около триста души. Според лектора тази стара улица е създадена още през седемнадесети век и досега са запазени каменната настилка и дървените къщи. През последните години тук идват все повече туристи.`},
	{"el", []string{"windows-1253", "iso-8859-7"}, `Χθες το απόγευμα στη δημοτική βιβλιοθήκη έγινε μια διάλεξη για την ιστορία της πόλης, την οποία παρακολούθησαν περίπου τριακόσια άτομα. Σύμφωνα με τον ομιλητή, ο παλιός αυτός δρόμος φτιάχτηκε πριν από πολλούς αιώνες και διατηρεί ακόμα το λιθόστρωτο και τα ξύλινα σπίτια του.`},
	{"he", []string{"windows-1255"}, `אתמול אחר הצהריים התקיימה בספרייה העירונית הרצאה על תולדות העיר, ובה השתתפו כשלוש מאות איש. לדברי המרצה, הרחוב הישן נבנה לפני מאות שנים, ועד היום נשמרו בו אבני הריצוף ובתי העץ. בשנים האחרונות מגיעים לכאן יותר ויותר תיירים.`},
	{"ar", []string{"windows-1256", "iso-8859-6"}, `أقيمت عصر أمس في مكتبة المدينة محاضرة عن تاريخ المدينة حضرها نحو ثلاثمئة شخص. وقال المحاضر إن هذا الشارع القديم بني قبل مئات السنين وما زال يحتفظ بأرصفته الحجرية وبيوته الخشبية. وفي السنوات الأخيرة صار يزوره عدد متزايد من السياح الذين يريدون التعرف على الثقافة المحلية.`},
	{"th", []string{"windows-874"}, `เมื่อวานนี้ตอนบ่าย ห้องสมุดประชาชนได้จัดการบรรยายเรื่องประวัติศาสตร์ของเมือง มีผู้เข้าร่วมประมาณสามร้อยคน วิทยากรกล่าวว่าถนนสายเก่านี้สร้างขึ้นเมื่อหลายร้อยปีก่อน และยังคงรักษาทางเดินหินและบ้านไม้ไว้จนถึงปัจจุบัน`},
	{"fr", []string{"windows-1252"}, `Hier après-midi, la bibliothèque municipale a organisé une conférence sur l'histoire de la ville, à laquelle près de trois cents personnes ont assisté. Selon l'orateur, cette vieille rue a été créée au dix-septième siècle, et l'on y trouve encore les pavés d'époque et des maisons en bois. Ces dernières années, de plus en plus de visiteurs viennent découvrir la culture du pays où ils séjournent.`},
	{"de", []string{"windows-1252"}, `Gestern Nachmittag fand in der Stadtbücherei ein Vortrag über die Geschichte der Stadt statt, zu dem fast dreihundert Zuhörer kamen. Nach den Worten des Vortragenden entstand die alte Straße im siebzehnten Jahrhundert; das Pflaster und die hölzernen Häuser sind bis heute erhalten. Künftig sollen die Gebäude besser geschützt und die Wege für Fußgänger verschönert werden.`},
	{"es", []string{"windows-1252"}, `Ayer por la tarde se celebró en la biblioteca municipal una conferencia sobre la historia de la ciudad, a la que asistieron unas trescientas personas. Según el conferenciante, esta antigua calle se construyó en el siglo diecisiete y aún conserva el empedrado y las casas de madera. En los últimos años llegan cada vez más turistas, y el año próximo habrá más líneas de autobús.`},
	{"pt", []string{"windows-1252"}, `Ontem à tarde realizou-se na biblioteca municipal uma conferência sobre a história da cidade, à qual assistiram cerca de trezentas pessoas. Segundo o orador, esta rua antiga foi construída no século dezassete e conserva ainda as calçadas e as habitações de madeira. Nos últimos anos são cada vez mais os turistas que vêm conhecer as tradições da região.`},
	{"sv", []string{"windows-1252"}, `I går eftermiddag hölls på stadsbiblioteket ett föredrag om stadens historia, som lockade nära trehundra åhörare. Enligt talaren anlades den gamla gatan på sextonhundratalet, och stenläggningen och trähusen finns kvar än i dag. På senare år kommer allt fler turister hit för att lära känna kulturen.`},
	{"pl", []string{"windows-1250", "iso-8859-2"}, `Wczoraj po południu w bibliotece miejskiej odbył się wykład o historii miasta, na który przyszło około trzystu osób. Według prelegenta ta stara ulica powstała jeszcze w siedemnastym wieku i do dziś zachowały się na niej kamienny bruk oraz drewniane domy. W ostatnich latach przyjeżdża tu coraz więcej turystów, którzy chcą poznać miejscową kulturę.`},
	{"cs", []string{"windows-1250", "iso-8859-2"}, `Včera odpoledne se v městské knihovně konala přednáška o dějinách města, na kterou přišlo téměř tři sta lidí. Podle přednášejícího vznikla tato stará ulice již v sedmnáctém století a dodnes se na ní zachovala kamenná dlažba a dřevěné domy. V posledních letech sem přijíždí stále více turistů, kteří chtějí poznat místní kulturu.`},
	{"hu", []string{"windows-1250", "iso-8859-2"}, `Tegnap délután a városi könyvtárban előadást tartottak a város történetéről, amelyre mintegy háromszázan jöttek el. Az előadó szerint ez a régi utca még a tizenhetedik században épült, és máig megőrizte a kövezetét és a faházait. Az utóbbi években egyre több turista érkezik ide, hogy megismerje a helyi kultúrát.`},
	{"tr", []string{"windows-1254"}, `Dün öğleden sonra şehir kütüphanesinde kentin tarihi üzerine bir konferans düzenlendi ve yaklaşık üç yüz kişi katıldı. Konuşmacıya göre bu eski sokak on yedinci yüzyılda yapılmış, taş döşemeleri ve ahşap evleri bugüne kadar korunmuştur. Son yıllarda buraya giderek daha çok turist geliyor; yerel kültürü tanımak istiyorlar.`},
	{"lt", []string{"windows-1257"}, `Vakar po pietų miesto bibliotekoje vyko paskaita apie miesto istoriją, į kurią susirinko apie trys šimtai žmonių. Pasak lektoriaus, ši sena gatvė atsirado dar septynioliktame amžiuje, joje iki šiol išliko akmeninis grindinys ir mediniai namai. Pastaraisiais metais čia atvyksta vis daugiau turistų, norinčių pažinti vietos kultūrą.`},
}

// corpora are real texts; the test does without those that are not there.
var corpora = []struct{ language, file, key string }{
	{"zh-Hans", "zh/laws.jsonl.gz", "text"},
	{"zh-Hans", "zh/blogs.jsonl.gz", "text"},
	{"zh-Hans", "html/cctv-dev.bodies.jsonl.gz", "body"},
	{"zh-Hans", "zh/weibo_titles.jsonl.gz", "text"},
	{"zh-Hant", "zh/hk-dev.jsonl.gz", "text"},
}

// corpus returns the first texts of a file.
func corpus(t testing.TB, file, key string) []string {
	dir := os.Getenv("NEARDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(dir, "data", file))
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("without %s, which is not here", file)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for lines := bufio.NewReader(z); len(all) < 300; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		if text, ok := fields[key].(string); ok && len([]rune(text)) >= 10 {
			all = append(all, text)
		}
	}
	return all
}

// encode writes text in an encoding, without the characters that it has not.
func encode(t testing.TB, name, text string) []byte {
	t.Helper()
	enc := standard(t, name)
	out, err := enc.NewEncoder().Bytes([]byte(text))
	if err == nil {
		return out
	}
	var all strings.Builder
	for _, r := range text {
		if _, _, err := transform.String(enc.NewEncoder(), string(r)); err == nil {
			all.WriteRune(r)
		}
	}
	if out, err = enc.NewEncoder().Bytes([]byte(all.String())); err != nil {
		t.Fatal(err)
	}
	return out
}

// standard is the encoding of x/text of that name.
func standard(t testing.TB, name string) encoding.Encoding {
	t.Helper()
	switch name {
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case "hz-gb-2312":
		return simplifiedchinese.HZGB2312
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

// decoded is what an encoding's bytes mean.
func decoded(t testing.TB, name string, b []byte) string {
	t.Helper()
	enc := standard(t, name)
	out, err := enc.NewDecoder().Bytes(b)
	if err != nil && !errors.Is(err, encoding.ErrInvalidUTF8) {
		t.Fatal(err)
	}
	return string(out)
}

type cell struct{ right, all int }

// TestAccuracy encodes texts and excerpts of 10 characters and more, and
// decodes them without a declaration, with the right one and with wrong ones
// that are met with. A text is right when it comes back as it was.
func TestAccuracy(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	matrix := make(map[string]*[3][3]cell) // by encoding; declaration; length
	lengths := []int{20, 100, 2000}
	wrong := []string{"iso-8859-1", "utf-8", "gb2312", "windows-1251", ""}
	var d charset.Decoder
	try := func(name, text string, length int) {
		runes := []rune(text)
		if len(runes) > lengths[length] {
			from := random.IntN(len(runes) - lengths[length] + 1)
			runes = runes[from : from+lengths[length]]
		} else if length > 0 && len(runes) < lengths[length]*2/3 && length < 2 {
			return
		}
		b := encode(t, name, string(runes))
		want := decoded(t, name, b)
		if !strings.ContainsFunc(want, func(r rune) bool { return r >= 0x80 }) {
			return
		}
		m := matrix[name]
		if m == nil {
			m = new([3][3]cell)
			matrix[name] = m
		}
		for declaration, label := range []string{"", name, wrong[random.IntN(4)]} {
			if declaration == 2 && (label == name || name == "gb18030" && label == "gb2312") {
				continue
			}
			hint := charset.Hint{}
			if label != "" {
				hint.ContentType = "text/plain; charset=" + label
			}
			got, e := d.Decode(b, hint)
			c := &m[declaration][length]
			c.all++
			if string(got) == want {
				c.right++
			} else if testing.Verbose() && length > 0 {
				t.Logf("%s declared as %q was taken for %s: %.30q", name, label, e.Name(), want)
			}
		}
	}
	for _, s := range texts {
		for _, name := range s.encodings {
			for length := range lengths {
				for range 40 {
					try(name, s.text, length)
				}
			}
		}
		for _, c := range corpora {
			if c.language != s.language {
				continue
			}
			for i, text := range corpus(t, c.file, c.key) {
				if testing.Short() && i%16 > 0 {
					continue
				}
				for _, name := range s.encodings {
					for length := range lengths {
						try(name, text, length)
					}
				}
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %-26s %-26s %s\n", "percent right", "undeclared", "declared", "declared wrongly")
	fmt.Fprintf(&b, "%-14s", "characters")
	for range 3 {
		fmt.Fprintf(&b, " %8d %8d %8d", lengths[0], lengths[1], lengths[2])
	}
	b.WriteByte('\n')
	for _, name := range slices.Sorted(maps.Keys(matrix)) {
		fmt.Fprintf(&b, "%-14s", name)
		for _, row := range matrix[name] {
			for _, c := range row {
				fmt.Fprintf(&b, " %8.1f", 100*float64(c.right)/float64(c.all))
			}
		}
		b.WriteByte('\n')
	}
	t.Log("\n" + b.String())
	for name, m := range matrix {
		// Encodings of other scripts than the Latin are told from the bytes;
		// those of Latin letters hardly differ in a few of them.
		undeclared, declared, chineseDeclaredWrongly := [3]float64{95, 99, 99}, [3]float64{97, 99, 99}, [3]float64{95, 98, 98}
		if strings.HasPrefix(name, "windows-125") && name < "windows-1258" && name != "windows-1251" || name == "iso-8859-2" {
			undeclared, declared = [3]float64{60, 80, 99}, [3]float64{94, 99, 99}
		}
		for length := range lengths {
			check := func(what string, c cell, floor float64) {
				if share := 100 * float64(c.right) / float64(c.all); share < floor {
					t.Errorf("%s, %d characters, %s: %.1f %% are right, at least %.0f should be", name, lengths[length], what, share, floor)
				}
			}
			check("undeclared", m[0][length], undeclared[length])
			check("declared", m[1][length], declared[length])
			if name == "gb18030" || name == "big5" {
				check("declared wrongly", m[2][length], chineseDeclaredWrongly[length])
			}
		}
	}
}

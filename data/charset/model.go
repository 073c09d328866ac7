package charset

import (
	"math"
	"strings"
	"sync"
	"unicode"
)

// A model says how probable the characters of a language are: a character
// costs about as many bits as it would take to say it, minus the logarithm of
// its frequency. The encoding under which a text costs least is the one that
// it is in. Frequencies are told by rank alone, which is enough: under a wrong
// encoding common characters become rare ones, symbols and invalid bytes,
// which cost two to three times as much. Costs are in eighths of a bit.
type model struct {
	enc  *Encoding
	lang *language

	build sync.Once
	bytes *[256]byteCost // of a single-byte encoding
}

const bit = 8

// Costs of what no list has.
const (
	asciiCost   = 9 * bit / 2
	invalidCost = 22 * bit // a byte
	privateCost = 22 * bit // unassigned, private use
	strangeCost = 13 * bit // a letter of another language, a symbol
	controlCost = 18 * bit
	foreignCost = 12 * bit // a text in neither Chinese nor Latin letters: a few bytes say nothing
)

// language is the characters that tell a language, the commonest first: of
// alphabets those beyond ASCII, in lower case.
type language struct {
	encodings string // those that it is written in, the likeliest first
	foreign   string // those that it may be in, if they are declared
	letters   string
	latin     bool // stands between letters of ASCII

	build sync.Once
	runes *[65536]uint8 // costs of the characters of double-byte encodings
}

// languages, those first that are told from others in the fewest bytes.
var languages = []*language{
	chinese, japanese, korean,
	{encodings: "windows-1252", letters: "’“”–‘—éáñ", latin: true},                                                    // English
	{encodings: "windows-1252", letters: "éèàêçù’ôîâûëïœ«»", latin: true},                                             // French
	{encodings: "windows-1252", letters: "üäöß–éà", latin: true},                                                      // German
	{encodings: "windows-1252", letters: "óíáéñúü¿¡ºª", latin: true},                                                  // Spanish
	{encodings: "windows-1252", letters: "ãçáéíóêúõâàôºª", latin: true},                                               // Portuguese
	{encodings: "windows-1252", letters: "àèùòéì’“”", latin: true},                                                    // Italian
	{encodings: "windows-1252", letters: "äöåé", latin: true},                                                         // Swedish, Finnish
	{encodings: "windows-1252", letters: "øåæé", latin: true},                                                         // Danish, Norwegian
	{encodings: "windows-1252", letters: "íáðéþóæöúý", latin: true},                                                   // Icelandic
	{encodings: "windows-1250 iso-8859-2", letters: "łąężśćóńź", latin: true},                                         // Polish
	{encodings: "windows-1250 iso-8859-2", letters: "íáéěřčžýšůúťóďňľôäĺŕ", latin: true},                              // Czech, Slovak
	{encodings: "windows-1250 iso-8859-2", letters: "áéőíöóüúű", latin: true},                                         // Hungarian
	{encodings: "windows-1250 iso-8859-2 iso-8859-16", letters: "ăîţşâșț", latin: true},                               // Romanian
	{encodings: "windows-1250 iso-8859-2", letters: "čšžćđ", latin: true},                                             // Croatian, Slovenian
	{encodings: "windows-1254", letters: "ıüşğçöİâî", latin: true},                                                    // Turkish
	{encodings: "windows-1257 iso-8859-13", letters: "ėšųžįąūčę", latin: true},                                        // Lithuanian
	{encodings: "windows-1257 iso-8859-13", letters: "āīšēņļūžģķč", latin: true},                                      // Latvian
	{encodings: "windows-1257 iso-8859-13", letters: "äõüöšž", latin: true},                                           // Estonian
	{encodings: "windows-1251 koi8-r iso-8859-5 ibm866 x-mac-cyrillic", letters: "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"}, // Russian
	{encodings: "windows-1251 koi8-u", letters: "оанитіверсклудмпязьбгйчхцжюшєїщфґ"},                                  // Ukrainian
	{encodings: "windows-1251", letters: "аоиетнрсвлкдпмзяъугбчцщжхйшюфь"},                                            // Bulgarian
	{encodings: "windows-1251", letters: "аоиенрстујвклмдпзбгчцшжћљњђхџф"},                                            // Serbian
	{encodings: "windows-1253 iso-8859-7", letters: "αοιετσνηυρπκμλςγδίάόωέήύθχφβξζώψϊϋΐΰ"},                           // Greek
	{encodings: "windows-1255", letters: "יוהלאתרמבשנדםחקעפכטסגזןצךףץ"},                                               // Hebrew
	{encodings: "windows-1256 iso-8859-6", letters: "اليمنورتبعدسفهكقةحجشصطخأىذضزثغءئإظؤآ،"},                          // Arabic
	{encodings: "windows-1256", letters: "اینرمدهوتبشسلخکزفگپجقعچحغطصضثذظژآ،"},                                        // Persian
	{encodings: "windows-874", letters: "านรอกเง่มยลวดท้สตะปบคหแจพชขใไำโผถซณศธษฐฉภญุูีิ็์ัืึ"},                        // Thai
	chinese, japanese, korean,
}

var (
	chinese = &language{
		encodings: "gb18030 big5",
		// The commonest characters of simplified text, then those that only
		// traditional text has.
		letters: "，的。、一人国和在会有是中你不了大以发我应个行新生为上第用要作当业年全这民定时工法可地条部理关政十出动建对方市家机能子到" +
			"设者主成开来们进本规合多员管务事他区同公或经实展等门加保好自日下化制体高）（重产学现被三小如通文天后提安表力得代过女平水" +
			"面二美分果其情共议；物强道网单最说更施将所于回场持长就月前性位入信并服资委与电点车内任联推正四次程明总么视相期海度运意报" +
			"近常系量处万品五间手向王息护交元外消及习里金活心组责社照级些它起都看利但记之特做想件央府目立也种东何使播书项然式标技没名" +
			"战路统改从调教张西数构计让比收男例很原两：由防划查治接放斯确导问给需军指无因基打费增各决感老科供已造色准取还告称案北示选" +
			"台育质领专备监结样布据党节去受营企办南职" +
			"\n" +
			"「」會為港時國個香們警對後員這來過發動學說訂於當戶長與而問》《現係眾開沒無關費議場至經記間？應支權聞周請報實內反她兩只今" +
			"認每選論林未機唔進話網並題將見威暴電區影解又處亦士鄭局知黨身求訊客非站點己運首否務界曾業體院資少望令此言鐵樣再調察司決聯" +
			"數嘅專博條組捕英從參書該真車傳集舉聲包律總別頭線先結址視即世口官訴隊直況稱麼爭讀那走團還評強師續變片則傷華講責商著容太席" +
			"約佢派校幾職覺種呢離早投引據失灣義才括護產讓難抗遊陳希留獨黃醫甚證哋導考萬",
	}
	japanese = &language{
		encodings: "shift_jis euc-jp", foreign: "gb18030 big5",
		letters: "のにはるをとたがしてでいなれさかっらも、。こりすくあまよきんえつおうちめせけどそみだわやろばねひべほげふゆごむ" +
			"「」・ーンスルトリアイラクシレジロタマテフドサグムコオニカデチバメキパッャュョ" +
			"\n" +
			"日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円" +
			"関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多" +
			"県続進正安設保改数記院女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海参売利組知案道信",
	}
	korean = &language{
		encodings: "euc-kr",
		letters: "이다는에의가을하고지를한은로도기서사어리자대정인시나해그일부라수들보전으주장스게국화만있상요제용아마원선여구성생관유세오소공조과트동문실업연무안" +
			"미진비경드위계내모우단발중것출영개교치식적점재금였습니결거야양러르호와방신했합년체면없때통당분명입회",
	}
)

// rankCost is the cost of the character of a rank in a list: of alphabets
// some 3 to 7 bits, of thousands of characters 5 to 11.
func (l *language) rankCost(rank int) uint8 {
	if len(l.letters) < 200 {
		return uint8((3.2 + .12*float64(rank)) * bit)
	}
	return uint8((4.8 + .8*math.Log2(1+float64(rank)/2)) * bit)
}

// costs returns what the characters of a language cost in a double-byte
// encoding.
func (l *language) costs() *[65536]uint8 {
	l.build.Do(func() {
		cost := new([65536]uint8)
		for r := range cost {
			switch c := rune(r); {
			case c >= 0xe000 && c <= 0xf8ff || c == 0xfffd:
				cost[r] = privateCost
			case c >= 0x3000 && c <= 0x303f:
				cost[r] = 9 * bit
			case c >= 0xff01 && c <= 0xff5e, c >= 0x2010 && c <= 0x2026:
				cost[r] = 10 * bit
			case c >= 0xff61 && c <= 0xff9f: // half width
				cost[r] = 10 * bit
			case unicode.Is(unicode.Han, c), unicode.Is(unicode.Hangul, c):
				cost[r] = 18 * bit
			default:
				cost[r] = 15 * bit
			}
		}
		// The first levels of the national standards: the characters that
		// their authors found in use.
		level := func(enc, first, last string, bits uint8) {
			t := encodings[enc].tableOf()
			for a := first[0]; a <= last[0]; a++ {
				for b := 0x40; b <= 0xfe; b++ {
					if r := t.pairs[a-0x80][b]; r != 0 && (b >= 0xa1 || enc == "big5") {
						cost[r] = min(cost[r], bits*bit)
					}
				}
			}
		}
		switch l {
		case chinese:
			level("gb18030", "\xb0", "\xd7", 13)
			level("big5", "\xa4", "\xc6", 13)
		case japanese:
			level("euc-jp", "\xa4", "\xa5", 9) // kana
			level("euc-jp", "\xb0", "\xcf", 12)
		case korean:
			level("euc-kr", "\xb0", "\xc8", 12)
		}
		for _, list := range strings.Split(l.letters, "\n") {
			for rank, r := range []rune(list) {
				cost[r] = min(cost[r], l.rankCost(rank))
			}
		}
		l.runes = cost
	})
	return l.runes
}

// byteCost is the cost of a byte of a single-byte encoding, and its class.
type byteCost struct {
	cost  uint8
	class class
}

type class uint8

// Classes of characters: which stand beside which tells much.
const (
	other      class = iota // space, digits, punctuation of ASCII
	asciiLower              // letters of ASCII
	asciiUpper
	lower
	upper
	symbol
	classes
)

// latinBeside and besideASCII are what it costs more if a character of the
// second class follows one of the first; the one is for letters that stand
// between those of ASCII, the other for those of other scripts.
var (
	latinBeside = [classes][classes]int{
		asciiLower: {upper: 7 * bit, symbol: 2 * bit},
		asciiUpper: {lower: bit},
		lower:      {lower: 3 * bit, upper: 8 * bit, symbol: 3 * bit, asciiUpper: 4 * bit},
		upper:      {lower: 3 * bit, upper: 4 * bit, symbol: 3 * bit},
		symbol:     {lower: 3 * bit, upper: 3 * bit, symbol: 2 * bit},
	}
	besideASCII = [classes][classes]int{
		asciiLower: {lower: 5 * bit, upper: 5 * bit, symbol: bit},
		asciiUpper: {lower: 5 * bit, upper: 5 * bit, symbol: bit},
		lower:      {asciiLower: 5 * bit, asciiUpper: 5 * bit, upper: 7 * bit, symbol: 2 * bit},
		upper:      {asciiLower: 5 * bit, asciiUpper: 5 * bit, symbol: 2 * bit},
		symbol:     {lower: 2 * bit, upper: 2 * bit, symbol: 2 * bit},
	}
)

// costs returns what the bytes of a single-byte encoding cost.
func (m *model) costs() *[256]byteCost {
	m.build.Do(func() {
		rank := make(map[rune]int)
		for i, r := range []rune(m.lang.letters) {
			rank[r] = i
		}
		t := m.enc.tableOf()
		cost := new([256]byteCost)
		for c := range cost {
			r := rune(c)
			if c >= 0x80 {
				r = t.single[c]
			}
			cost[c] = m.character(r, rank)
		}
		m.bytes = cost
	})
	return m.bytes
}

func (m *model) character(r rune, rank map[rune]int) byteCost {
	switch {
	case r >= 'a' && r <= 'z':
		return byteCost{asciiCost, asciiLower}
	case r >= 'A' && r <= 'Z':
		return byteCost{asciiCost, asciiUpper}
	case r < 0x80:
		return byteCost{asciiCost, other}
	case r == unicode.ReplacementChar:
		return byteCost{invalidCost, symbol}
	case r < 0xa0:
		return byteCost{controlCost, symbol}
	}
	if i, ok := rank[r]; ok {
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			return byteCost{m.lang.rankCost(i), lower}
		}
		return byteCost{m.lang.rankCost(i), other}
	}
	if i, ok := rank[unicode.ToLower(r)]; ok {
		return byteCost{m.lang.rankCost(i) + 4*bit, upper}
	}
	if strings.ContainsRune("\u00a0«»–—’‘“”„…·•©®°§№€£", r) {
		return byteCost{8 * bit, other}
	}
	switch {
	case m.lang.letters == "" && unicode.IsLower(r), m.lang.letters == "" && unicode.Is(unicode.Lo, r):
		return byteCost{6 * bit, lower}
	case m.lang.letters == "" && unicode.IsUpper(r):
		return byteCost{9 * bit, upper}
	case unicode.IsUpper(r):
		return byteCost{strangeCost + bit, upper}
	case unicode.IsLetter(r), unicode.IsMark(r):
		return byteCost{strangeCost, lower}
	}
	return byteCost{strangeCost, symbol}
}

package language

import (
	"math/bits"
	"strings"
	"sync"
)

// The scripts, in the order of scripts.
const (
	none  = iota // no letter
	other        // of a script that is not in the table
	latin
	cyrillic
	arabic
	devanagari
	han
	kana
	hangul
	firstOther // the scripts that need no name here
)

// scripts are the writing systems. Where one language is written in a script,
// or nearly all texts in it are of one, it decides. A letter of some says as
// much as several letters of an alphabet.
var scripts = [...]struct {
	code     string // ISO 15924
	language string
	weight   int32
	from, to rune // the letters; the ones of none to hangul are found by scriptOf
}{
	none:       {},
	other:      {weight: 1},
	latin:      {code: "Latn", weight: 1},
	cyrillic:   {code: "Cyrl", weight: 1},
	arabic:     {code: "Arab", weight: 1},
	devanagari: {code: "Deva", weight: 1},
	han:        {code: "Hani", language: "zh", weight: 3},
	kana:       {code: "Hrkt", language: "ja", weight: 2},
	hangul:     {code: "Hang", language: "ko", weight: 2},
	firstOther: {"Grek", "el", 1, 0x370, 0x3ff},
	{"Armn", "hy", 1, 0x530, 0x58f},
	{"Hebr", "he", 1, 0x590, 0x5ff},
	{"Beng", "bn", 1, 0x980, 0x9ff},
	{"Guru", "pa", 1, 0xa00, 0xa7f},
	{"Gujr", "gu", 1, 0xa80, 0xaff},
	{"Orya", "or", 1, 0xb00, 0xb7f},
	{"Taml", "ta", 1, 0xb80, 0xbff},
	{"Telu", "te", 1, 0xc00, 0xc7f},
	{"Knda", "kn", 1, 0xc80, 0xcff},
	{"Mlym", "ml", 1, 0xd00, 0xd7f},
	{"Sinh", "si", 1, 0xd80, 0xdff},
	{"Thai", "th", 1, 0xe00, 0xe7f},
	{"Laoo", "lo", 1, 0xe80, 0xeff},
	{"Tibt", "bo", 1, 0xf00, 0xfff},
	{"Mymr", "my", 1, 0x1000, 0x109f},
	{"Geor", "ka", 1, 0x10a0, 0x10ff},
	{"Ethi", "am", 1, 0x1200, 0x139f},
	{"Khmr", "km", 1, 0x1780, 0x17ff},
}

// scriptOf returns the script of a letter beyond ASCII; none for what is no
// letter.
func scriptOf(r rune) int {
	switch {
	case r < 0xaa || r == 0xd7 || r == 0xf7:
		return none
	case r < 0x2b0 || r >= 0x1e00 && r < 0x1f00:
		return latin
	case r >= 0x4e00 && r < 0xa000 || r >= 0x3400 && r < 0x4dc0 || r >= 0x20000 && r < 0x32000:
		return han
	case r >= 0x3041 && r < 0x3100:
		return kana
	case r >= 0xac00 && r < 0xd7a4 || r >= 0x1100 && r < 0x1200:
		return hangul
	case r >= 0x400 && r < 0x530:
		return cyrillic
	case r >= 0x620 && r < 0x660 || r >= 0x66e && r < 0x6f0 || r >= 0x750 && r < 0x780:
		return arabic
	case r >= 0x900 && r < 0x964 || r >= 0x970 && r < 0x980:
		return devanagari
	case r < 0x2000:
		for i := firstOther; i < len(scripts); i++ {
			if r <= scripts[i].to {
				if r >= scripts[i].from {
					return i
				}
				break
			}
		}
	}
	return none
}

// languages are those of the scripts that several languages share: by their
// commonest words, and by letters that few of their neighbours have.
var languages = [...]struct {
	code         string
	script       int
	words, marks string
}{
	{"en", latin, "the of and to in is that for it with as was be by this are from at or have not you which we on an has will its but they were their more he his been said would", ""},
	{"de", latin, "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass daß sie nach bei wird sind oder zum", "ß"},
	{"fr", latin, "de la le et les des en un du une est que pour qui dans a par plus pas au sur ne se ce il sont avec son aux l d qu cette ou", "œ"},
	{"es", latin, "de la que el en y a los del se las por un para con no una su al lo como más es o pero sus fue este entre", "ñ"},
	{"pt", latin, "de a o que e do da em um para com não uma os no se na por mais as dos como mas ao ele das à seu sua foi pelo pela são é", "ãõ"},
	{"it", latin, "di e che il la in un a per è una non sono con del da i le si dei come più al nel della alla ha lo gli dell delle", ""},
	{"nl", latin, "de van het een en in is dat op te zijn met voor niet aan er om ook als dan maar bij uit door naar wordt heeft worden", ""},
	{"sv", latin, "och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan när", "åäö"},
	{"da", latin, "og i at det er en til af for på med som den der de ikke har et var fra han vi eller hvor også blev efter ved", "æøå"},
	{"no", latin, "og i å det er en til av for på med som den har ikke de et om var fra han jeg vi eller hvor også ble etter ved seg ein ikkje eit frå vart", "æøå"},
	{"fi", latin, "ja on ei se että oli ovat joka mutta kun hän myös sen tai kuin niin mukaan sekä ole jos", "äö"},
	{"pl", latin, "i w na z do się nie że to jest o jak po za od ale przez dla są oraz który co tym tego być jego", "łżśźąęń"},
	{"cs", latin, "a v se na je že s z do to o i ve jako za pro by ale které který si po jsou od jeho ze nebo byl podle také", "ěřů"},
	{"sk", latin, "a v sa na je že s z do to o aj vo ako za pre by ale ktoré ktorý si po sú od jeho zo alebo bol podľa tiež", "ľĺŕ"},
	{"hu", latin, "a az és hogy nem is egy ez van volt meg csak de már mint el még ha ki kell azt vagy lehet", "őű"},
	{"ro", latin, "de și şi în a la cu să o pe că din nu care un este mai sunt lui pentru se ce au fost dar sau ale prin", "șțăţ"},
	{"hr", latin, "i je u na se da za od su s ne koji što bi kao ali o iz ili sve samo biti koja nije", "đ"},
	{"sl", latin, "in je na v se da za so ne pa z ki tudi po ob iz od pri ali kot do bi bo le ter", ""},
	{"tr", latin, "ve bir bu da de için ile olarak çok daha o olan gibi ne kadar en var sonra ise değil ancak", "ğış"},
	{"az", latin, "və bir bu ilə üçün də da olan ki o kimi olaraq çox daha edir isə", "əğış"},
	{"vi", latin, "và của là có các trong cho được một những với người không này đã khi để từ về đến như ở ra", "ơưạảấầậếềệộớờợứừự"},
	{"id", latin, "yang dan di itu dengan untuk dari ini pada tidak dalam adalah akan ke oleh juga atau sebagai telah bisa karena bahwa saat anda tak seperti secara", ""},
	{"ms", latin, "yang dan di itu dengan untuk dari ini pada tidak dalam adalah akan ke oleh juga atau sebagai telah ialah boleh daripada bagi kerana iaitu beliau bahawa serta kepada", ""},
	{"ca", latin, "de la i a que el en les els per un amb és una del no es al com més dels o va ser són seva l d aquest", "ŀ"},
	{"gl", latin, "de a que o e do da en un para con non unha os no se na por máis as dos como pero ao ser seu súa foi ou é", "ñ"},
	{"lv", latin, "un ir no ar par kas lai to tas arī vai bet tika kā uz var ka pēc līdz savu", "ņļķģāēī"},
	{"lt", latin, "ir kad į iš yra su buvo tai kaip bet dėl jo jau po per nuo apie ne ar jis tik savo", "ėųįū"},
	{"et", latin, "ja on ei et see oli kui ka ta mis aga või oma siis ning seda mida nii pole välja", "õäü"},
	{"sq", latin, "të e në i për me një dhe që nga se si më është ka do nuk por u kjo", "ë"},
	{"sw", latin, "ya na wa kwa ni katika za la kuwa hiyo huo ambayo yake cha hii pia au kama", ""},
	{"af", latin, "die van en in is het dat nie n vir met wat op te om as was ook sy aan by hulle ons kan word deur", ""},
	{"tl", latin, "ang ng sa na mga at ay ito si para may hindi niya kung ni isang nang", ""},
	{"eu", latin, "eta da ez bat dira ere egin zuen izan du den beste baina dute hau duen zen", ""},
	{"is", latin, "og í að á er sem það en um við af með ekki til var hann fyrir frá eru ég hefur", "ðþ"},
	{"ga", latin, "an na agus ar i le go a is bhí sé ag do bhfuil atá níl tá", ""},
	{"cy", latin, "y yn i a ar o yr mae wedi gan ei bod am fel hwn oedd ond eu", ""},
	{"eo", latin, "la kaj de en estas al ne por kun ke mi estis tiu ili aŭ sur", "ŭĝĉĵ"},
	{"la", latin, "et in est non ad ut cum quod qui ex sed de per quae esse si", ""},
	{"mi", latin, "te ngā nga o i ki he ka me kua mo no hoki tēnei a e", ""},
	{"so", latin, "ku oo ka ay in waa u ee la iyo si uu ayaa kale", ""},
	{"st", latin, "ho le ba ka e ha ya tsa la o ke hore sa mo a", ""},
	{"tn", latin, "go le ba ka e ga ya tsa la o ke gore mo fa a", ""},
	{"ts", latin, "ku na va hi ka ni wa leswaku swi ya loko ra xi ta", ""},
	{"ru", cyrillic, "и в не на что с по как это он она из за от для но мы так все его к о у а", "ыэё"},
	{"uk", cyrillic, "і в не на що з та як це він до від за про є у й але для його", "іїєґ"},
	{"be", cyrillic, "і у ў на не з што да як гэта для па яго але за быў ад", "іўыэ"},
	{"bg", cyrillic, "и на в да се от за не с че е по са като това си до към", "ъ"},
	{"sr", cyrillic, "и у је да се на за од са су не као који што о из", "ђјљњћџ"},
	{"mk", cyrillic, "и на во да се од за не со е што ќе ги како го кои", "ѓќѕјљњ"},
	{"kk", cyrillic, "және мен бұл үшін бір да де деп ол осы бар", "әғқңұһіы"},
	{"mn", cyrillic, "нь энэ юм ба гэж байна болон бол уг", "өүэ"},
	{"ar", arabic, "في من على أن إلى التي الذي عن مع هذا هذه ما لا كان و", "يكةأإى"},
	{"fa", arabic, "و در به از که این است را با برای آن می یک", "پچژگکی"},
	{"ur", arabic, "کے کی میں ہے اور سے کا کو پر نے ہیں یہ", "ٹڈڑںےہھکی"},
	{"hi", devanagari, "के में की है और से का को पर ने हैं यह भी एक नहीं", ""},
	{"mr", devanagari, "आहे व या आणि ही हा आहेत तर होते ते", "ळ"},
	{"ne", devanagari, "र छ को मा पनि भने गरेको लागि छन् यो", ""},
}

// A clue is a word or a letter with the languages that it speaks for, a bit
// each.
type clue struct{ word, languages uint64 }

// clues is a hash table of them, by word.
type clues [1 << 11]clue

var allClues = sync.OnceValue(func() *clues {
	t := new(clues)
	add := func(word uint64, language int) {
		at := slot(word)
		for t[at].word != 0 && t[at].word != word {
			at = (at + 1) % uint32(len(t))
		}
		t[at].word = word
		t[at].languages |= 1 << language
	}
	for i, l := range languages {
		for word := range strings.FieldsSeq(l.words) {
			add(pack(word), i)
		}
		for _, r := range l.marks {
			add(mark(r), i)
		}
	}
	return t
})

// find returns the languages that a word speaks for.
func (t *clues) find(word uint64) uint64 {
	at := slot(word)
	for t[at].word != word && t[at].word != 0 {
		at = (at + 1) % uint32(len(t))
	}
	return t[at].languages // 0 of an empty slot
}

func slot(word uint64) uint32 { return uint32(word * 0x9e3779b97f4a7c15 >> (64 - 11)) }

// next adds a byte to a word: one of up to eight bytes is its bytes.
func next(word uint64, b byte) uint64 { return bits.RotateLeft64(word, 8) ^ uint64(b) }

func pack(word string) (packed uint64) {
	for i := range len(word) {
		packed = next(packed, word[i])
	}
	return packed
}

// mark is the word that stands for a letter: no text has it.
func mark(r rune) uint64 { return 1<<63 | 1<<32 | uint64(r) }

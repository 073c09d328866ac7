package page

// A short line tells what stands around it by its words: "Posted by …", "Have
// your say", "More stories". Their kinds, as bits of a line's cues.
const (
	cueRelated = 1 << iota
	cueComment
	cueShare
	cueByline
	cueTags
)

// maxCueLine is the mass up to which a block is such a line.
const maxCueLine = 48

// cueTable has the words of each kind, in some languages.
var cueTable = newWordTable([]string{
	1: "related recommended recommends popular trending latest more also read other previous next similar headlines stories topics mehr lesen auch thema themen meistgelesen lire aussi articles lus leer relacionadas relacionados noticias interesar también leggi anche correlati читайте также похожие powiązane czytaj przeczytaj lees ook läs också artikel terkait devamı leia também mais baca juga xem thêm liên quan čtěte související olvassa kapcsolódó citește lue myös المزيد أيضا اقرأ المقالات ذات צפו עוד διαβάστε επίσης",
	2: "comment comments reply replies discussion responses trackback trackbacks pingback feedback say views opinions kommentar kommentare kommentieren commentaire commentaires réagir comentario comentarios comentar commenti commento комментарии комментарий yorum yorumlar reacties reageer komentarze komentar comentários bình luận diskuse diskusia hozzászólás hozzászólások comentarii kommentit kommentarer коментарі تعليق تعليقات التعليقات תגובות σχόλια",
	3: "share subscribe newsletter follow facebook twitter email print login register sign cookie cookies privacy copyright rights reserved terms teilen drucken abonnieren partager imprimer compartir imprimir condividi delicious digg reddit bookmark rss поделиться compartilhar compartilhe bagikan chia sẻ sdílet zdieľať megosztás distribuie jaa del delen deel dela paylaş udostępnij поділитися شارك مشاركة اشترك שתפו κοινοποίηση",
	4: "by posted written author published updated date reuters correspondent staff von par por autor auteur veröffentlicht aktualisiert publié publicado pubblicato опубликовано",
	5: "tags tagged filed categories category keywords labels permalink schlagwörter stichworte étiquettes etiquetas теги",
})

// cuePairs has the beginnings, of two characters, of such words in Chinese,
// Japanese and Korean.
var cuePairs = func() map[[6]byte]uint8 {
	m := map[[6]byte]uint8{}
	for cue, words := range map[uint8][]string{
		cueRelated: {"相关", "相關", "推荐", "推薦", "热门", "熱門", "热点", "排行", "猜你", "更多", "延伸", "精彩", "上一", "下一", "関連", "おす", "人気", "あわ", "관련", "추천", "인기", "많이"},
		cueComment: {"评论", "評論", "回复", "回覆", "留言", "网友", "跟帖", "コメ", "댓글", "의견"},
		cueShare:   {"分享", "订阅", "訂閱", "登录", "登入", "注册", "版权", "版權", "声明", "シェ", "登録", "공유", "구독", "로그", "저작"},
		cueByline:  {"来源", "來源", "作者", "编辑", "編輯", "责任", "责编", "記者", "记者", "发布", "更新", "配信", "기자", "입력"},
		cueTags:    {"标签", "標籤", "关键", "關鍵", "タグ", "태그"},
	} {
		for _, w := range words {
			m[[6]byte([]byte(w))] = cue
		}
	}
	return m
}()

// lineCues returns the cues of a short line.
func lineCues(text []byte) (cues uint8) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c >= 0xe3 && i+6 <= len(text): // characters of three bytes
			cues |= cuePairs[[6]byte(text[i:i+6])]
			i += 3
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0xc0 && c < 0xe3:
			from := i
			for i < len(text) && (text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] >= 0x80 && text[i] < 0xe3) {
				i++
			}
			if v := cueTable[nameKey(text[from:i])]; v != 0 {
				cues |= 1 << (v - 1)
			}
		default:
			i++
		}
	}
	return cues
}

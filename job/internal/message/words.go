package message

// words are the program's own words in Chinese, each with the word itself, as
// tables and settings have it.
var words = map[string]string{
	// Verdicts.
	"distance": "距离 (distance)", "sketches alike": "草图相似 (sketches alike)", "sketches near the limit": "草图接近界限 (sketches near the limit)",
	"signatures alike": "签名相似 (signatures alike)", "signatures unlike": "签名不相似 (signatures unlike)",
	"texts alike": "正文相似 (texts alike)", "texts alike but for slips": "正文相似，仅有零星差异 (texts alike but for slips)",
	"texts alike in order": "正文按次序相似 (texts alike in order)", "short, equal": "短文本，相同 (short, equal)", "short, few edits": "短文本，少量改动 (short, few edits)",
	"carries": "夹带 (carries)", "shared": "有长段相同 (shared)", "against": "参照 (against)",
	"contains": "包含 (contains)", "contained": "被包含 (contained)", "same id": "同一 id (same id)", "unchanged": "未变 (unchanged)",

	// Why a document is left out, or a record skipped.
	"copy": "副本 (copy)", "duplicate_id": "重复的 id (duplicate_id)", "deleted": "已要求删除 (deleted)",
	"malformed": "格式有误 (malformed)", "truncated": "不完整 (truncated)", "too_large": "过大 (too_large)", "no_text": "无正文 (no_text)",
	"undecodable": "无法解码 (undecodable)", "not_page": "不是网页 (not_page)", "http_status": "HTTP 状态 (http_status)",
	"unreadable": "无法读取 (unreadable)", "damaged": "损坏 (damaged)",

	"shell": "空壳页 (shell)", "error": "出错页 (error)", "login": "登录页 (login)",

	// Lengths.
	"normal": "正常长度 (normal)", "short": "短 (short)", "empty": "空 (empty)", "template": "全是共有内容 (template)",

	// Stages.
	"learn": "抽样 (learn)", "templates": "模板 (templates)", "fingerprint": "指纹 (fingerprint)", "exact": "完全相同 (exact)",
	"history": "历史库 (history)", "match": "匹配 (match)", "texts": "正文 (texts)", "verify": "核对 (verify)",
	"cluster": "聚簇 (cluster)", "ids": "编号 (ids)", "write": "写出 (write)", "publish": "入库 (publish)",

	// Verdicts of explain, and what a run is doing.
	"within the distance": "在距离之内 (within the distance)", "beyond the distance": "超出距离 (beyond the distance)", "too few features": "特征太少 (too few features)",
	"neither segment nor band in common, nor enough passages": "没有相同的分段、分带，相同的段落也不够 (neither segment nor band in common, nor enough passages)",
	"sketches unlike": "草图不相似 (sketches unlike)", "texts unlike": "正文不相似 (texts unlike)", "texts wanted": "须看正文 (texts wanted)",
	"short, too many edits": "短文本，改动太多 (short, too many edits)", "short, other numbers": "短文本，数字不同 (short, other numbers)",
	"short, another word": "短文本，有一词不同 (short, another word)", "short, another slot of one form": "短文本，同一格式而内容不同 (short, another slot of one form)",
	"nothing to compare": "没有可比较的内容 (nothing to compare)", "within the distance for their length": "在此长度的距离之内 (within the distance for their length)",
	"beyond the distance for their length": "超出此长度的距离 (beyond the distance for their length)",
	"running":                              "进行中 (running)", "finished": "已完成 (finished)", "left: the same command goes on with it": "已停下：再次运行同一命令即可继续 (left)",

	// Conditions and groups of the laboratory.
	"length": "长度 (length)", "language": "语言 (language)", "category": "类别 (category)", "edit": "改动方式 (edit)",
	"labelled": "有标注 (labelled)", "own text": "去掉共有行之后 (own text)", "different": "不同 (different)", "unknown": "未知 (unknown)",
}

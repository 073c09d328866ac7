package message

// Help is a text of the help in the language: the short description of a command, a
// paragraph of the long one, the usage of a flag or setting, the name of a group.
// The texts stand where the commands are; a test there sees to it that each has a
// Chinese form.
func (l Language) Help(text string) string {
	if l != Chinese {
		return text
	}
	for _, of := range []map[string]string{help, manual} {
		if form, ok := of[text]; ok {
			return form
		}
	}
	return text
}

// HelpTexts are those that have a Chinese form.
func HelpTexts() (texts []string) {
	for _, of := range []map[string]string{help, manual} {
		for text := range of {
			texts = append(texts, text)
		}
	}
	return texts
}

// help is the help in Chinese.
var help = map[string]string{
	// Commands.
	"Find the near-duplicate documents of a crawl dump":                "查找网页抓取数据中的近似重复文档",
	"Print the settings of a run, or what settings there are":          "打印一次运行的设置，或列出所有设置",
	"Measure how good methods are, on labelled or planted pairs":       "用已标注或人工植入的文档对衡量各方法",
	"Say why two documents do or do not match":                         "说明两篇文档为何匹配或不匹配",
	"Write a run's tables as CSV or Excel, for a spreadsheet":          "把运行的各表导出为 CSV 或 Excel，供电子表格使用",
	"Print what a run directory or a table of it holds":                "打印运行目录或其中一张表的内容",
	"Train the rarity of words and a stop list from a dump":            "由数据训练词的逆文档频率与停用词表",
	"Manage the library of earlier nights":                             "管理前几夜的历史库",
	"Erase what was deleted, and join small files":                     "清除已删除的内容，合并小文件",
	"Delete documents or nights":                                       "删除文档或某夜",
	"Forget old nights":                                                "清除旧的夜次",
	"Take back an older manifest, make damaged files again":            "恢复较早的清单，重建损坏的文件",
	"Say what a library holds":                                         "说明历史库的内容",
	"Read all of a library and say what is damaged":                    "读遍历史库，指出损坏之处",
	"Say whether a page is known, and where from":                      "查询某页是否已有，来自何处",
	"Match fingerprints that exist, without reading text again":        "匹配已有的指纹，不再读正文",
	"Estimate what a run would take and find, from a sample":           "由抽样估计一次运行的用时与结果",
	"Show a finished run on a page":                                    "把完成的运行做成一页报告",
	"Read pairs of a finished run, and learn how good it is":           "人工判读运行的文档对，得出其好坏",
	"Fingerprint a crawl dump, match its documents, write Parquet":     "为抓取数据生成指纹、匹配文档、写出 Parquet",
	"Say how far a run is, from anywhere that sees its directory":      "说明运行进度，凡能看到其目录处皆可",
	"Learn what the pages of each site share: menus, footers, notices": "学习各站点网页共有的内容：菜单、页脚、声明",
	"Compare a run, library or index with what was written":            "核对运行、历史库或索引是否与写入时一致",

	"Say what this program is, and the versions of what it makes": "说明本程序，以及它所写格式的版本",

	"print the version": "打印版本",

	// Groups of flags.
	"Flags": "选项", "Input": "输入", "Method": "方法", "Output": "输出", "Machine": "机器", "Cluster": "集群", "Settings": "设置", "Truth": "标准答案", "Measures": "衡量",
	"Look-up": "查询", "Texts": "正文", "Index": "索引", "Service": "服务", "Draw": "抽样", "Verdicts": "判定",

	// Flags.
	"language: en or zh": "语言：en 或 zh",
	"format: warc, wet, jsonl, csv, tsv, parquet or arrow":        "格式：warc、wet、jsonl、csv、tsv、parquet 或 arrow",
	"encoding of all text (default: detected)":                    "全部正文的编码（默认：自动检测）",
	"column of the id (default: id, doc_id, url …)":               "id 所在的列（默认：id、doc_id、url …）",
	"column of the text (default: text, content …)":               "正文所在的列（默认：text、content …）",
	"unusable records tolerated":                                  "容许的不可用记录",
	"method: classic, balanced, thorough or piecewise":            "方法：classic、balanced、thorough 或 piecewise",
	"largest Hamming distance of pairs":                           "文档对的最大汉明距离",
	"which of the copies stays: longest, earliest, rank or first": "副本中保留哪篇：longest、earliest、rank 或 first",
	"file of neardup templates (default: learned)":                "neardup templates 写出的文件（默认：自动学习）",
	"only look for texts of these files and folders":              "只查找这些文件与目录中的文本",
	"text column of a reference":                                  "参照文本所在的列",
	"folder of the library of earlier nights":                     "前几夜历史库的目录",
	"name of this night (default: the date in --out)":             "本夜的名称（默认：--out 中的日期）",
	"write figures to this file for Prometheus":                   "把指标写入此文件，供 Prometheus 使用",
	"shell command told of a failure (JSON on stdin)":             "失败时执行的命令（标准输入为 JSON）",
	"count copies of what stays: table or dump":                   "统计留下的文档的副本、站点、夜数：table 或 dump",
	"write every confirmed pair too":                              "同时写出全部已确认的文档对",
	"write the clean dump":                                        "写出去重后的数据",
	"cores to use; 0: all":                                        "使用的核数；0：全部",
	"cap, like 4GiB (default: half of the machine's)":             "内存上限，如 4GiB（默认：机器的一半）",
	"engine: local or gleam":                                      "引擎：local 或 gleam",
	"gleam master":                                                "gleam 主节点",
	"print every setting, one a line":                             "打印每项设置，每行一项",
	"YAML file of settings; flags win over it":                    "设置的 YAML 文件；选项优先于它",
	"any setting that neardup config --list names":                "neardup config --list 所列的任一设置",
	"file of pairs: JSONL, CSV or Parquet with a and b, or id and cluster; again for other readers": "标注文件：JSONL、CSV 或 Parquet，列为 a 与 b，或 id 与 cluster；多人可重复给出",
	"plant duplicates by these edits, like drop=0.2":                                                "按这些改动植入副本，如 drop=0.2",
	"duplicates to plant (default: 500, or one a document)":                                         "植入的副本数（默认：500，或每篇一个）",
	"seed of what is drawn":                                                                 "抽样的随机种子",
	"draw a test set and plant into it: paper":                                              "抽取测试集并植入：paper",
	"what makes a pair right, any of these":                                                 "文档对正确的依据，其一即可",
	"least similarity of near-duplicates":                                                   "近似重复的最低相似度",
	"methods to compare":                                                                    "要比较的方法",
	"measure every distance up to this one; 0: off":                                         "衡量至此为止的每个距离；0：不做",
	"count one half of the ids only: 0 or 1; -1: all":                                       "只计一半 id：0 或 1；-1：全部",
	"false pairs and misses to list":                                                        "列出的误判与漏判数",
	"show this many of each method side by side":                                            "每种方法并排显示的对数",
	"write it as a page to this file":                                                       "写成网页，存入此文件",
	"write its figures into this folder, measures.parquet":                                  "把指标写入此目录，measures.parquet",
	"print JSON, one object a line":                                                         "输出 JSON，每行一个对象",
	"run directory that A and B are ids of":                                                 "A 与 B 两个 id 所在的运行目录",
	"method that judges, as eval takes it (default: the run's)":                             "判定方法，写法同 eval（默认：该运行的方法）",
	"folder to write CSV files into":                                                        "写入 CSV 文件的目录",
	"Excel workbook to write":                                                               "要写的 Excel 工作簿",
	"tables to write (default: all)":                                                        "要写的表（默认：全部）",
	"rows to print of a table":                                                              "每张表打印的行数",
	"folder to write":                                                                       "要写的目录",
	"a stop word occurs in a larger share of the documents":                                 "停用词出现于超过此比例的文档",
	"least number of documents that a stop word occurs in":                                  "停用词至少出现的文档数",
	"least number of documents that a word with an idf occurs in":                           "有 idf 的词至少出现的文档数",
	"file of the ids to delete, one a line; - for standard input":                           "要删除的 id 的文件，每行一个；- 为标准输入",
	"delete this night; may be given again":                                                 "删除此夜；可重复给出",
	"let later nights bring the documents back":                                             "允许以后各夜再带来这些文档",
	"delete the documents whose id begins so; may be given again":                           "删除 id 以此开头的文档；可重复给出",
	"the first day whose night stays":                                                       "自此日起的夜次保留",
	"largest Hamming distance (default: the library's)":                                     "最大汉明距离（默认：历史库的设置）",
	"matches of a page, at most":                                                            "每页最多的匹配数",
	"folder of the nights' run directories: show titles and texts":                          "各夜运行目录所在的目录：显示标题与正文",
	"folder, redis:// or hbase:// URL of the index (default: in the library)":               "索引的目录，或 redis://、hbase:// 地址（默认：在历史库中）",
	"answer HTTP on this HOST:PORT until interrupted":                                       "在此 HOST:PORT 提供 HTTP 服务，直到中断",
	"listen on other than loopback: look-ups have no authentication":                        "监听回环之外的地址：查询没有身份验证",
	"Make nights of the pages that a service has added":                                     "把服务收到的网页并入历史库的夜次",
	"make nights of what can be read of a damaged log":                                      "日志损坏时，并入其中还能读出的网页",
	"the nearest documents, so many, whatever the distance; 0: the matches":                 "最近的若干篇文档，不论距离；0：只列匹配",
	"take pages and keep them: POST /documents":                                             "接收并保存网页：POST /documents",
	"file with the token that who adds pages has to send (default: NEARDUP_ADD_TOKEN)":      "添加网页者须发送的令牌所在的文件（默认：NEARDUP_ADD_TOKEN）",
	"tables of segments in the index: 4, 10 or 20 (default: those that it has, at first 4)": "索引中的分段表数：4、10 或 20（默认：已有的，起初为 4）",
	"log more": "输出更多日志",
	"column of the fingerprint (default: simhash, hash …)": "指纹所在的列（默认：simhash、hash …）",
	"fingerprints that are text are hexadecimal":           "文本形式的指纹为十六进制",
	"run directory to write or resume, or s3://…":          "要写或要继续的运行目录，或 s3://…",
	"upload the finished run to s3://BUCKET/PREFIX":        "完成后上传到 s3://BUCKET/PREFIX",
	"exit with 3 if bad records or ids were skipped":       "若跳过了坏记录或 id，以 3 退出",
	"documents of the sample":                              "抽样的文档数",
	"list all runs of a folder":                            "列出目录中的全部运行",
	"only what the run found: no wider search":             "只看运行所找到的：不做放宽检索",
	"pairs to draw": "抽取的文档对数",
	"file of the drawn pairs (default: in RUN/review)":                "所抽文档对的文件（默认：在 RUN/review 中）",
	"file of verdicts, CSV or JSONL; again for other readers":         "判定文件，CSV 或 JSONL；多人可重复给出",
	"read the pairs on this terminal":                                 "在本终端判读",
	"your name in the file of verdicts":                               "判定文件中你的名字",
	"write a settings file with the limits that the verdicts ask for": "按判定所要求的界限写出设置文件",
	"file to write": "要写的文件",
}

package message

// manual is the long help in Chinese, by its paragraphs, each in one line.
var manual = map[string]string{
	"neardup turns the documents of a crawl dump into SimHash fingerprints, finds each document's best match and the clusters of near-duplicates, and writes Parquet and a clean dump.": "neardup 为抓取数据中的文档生成 SimHash 指纹，找出每篇文档的最佳匹配和近似重复的簇，写出 Parquet 表和去重后的数据。",

	// config
	"Prints the settings that run has with this file and these flags, as a file that --config takes; of settings that are named, the values alone. With --list it prints one setting a line, as --set takes it, and what it is for.": "打印 run 在此文件和这些选项下的设置，格式就是 --config 所读的文件；若指明了设置，只打印其值。加 --list 时每行打印一项设置，写法同 --set，并说明用途。",

	// eval
	"Compares methods on the same documents: precision, recall, F1 and time, by each definition of truth; the clusters; by similarity, length, language, category and edit; over the threshold and over the distance; the worst false pairs and misses. The documents may have labelled pairs (--labels), or duplicates planted by edits (--edits).":                      "在同一批文档上比较各种方法：按每种标准答案给出精确率、召回率、F1 和用时；簇；按相似度、长度、语言、类别和改动方式分列；随阈值和距离的变化；最严重的误判和漏判。文档可以带人工标注的文档对（--labels），或用改动植入副本（--edits）。",
	"A file of labels has a and b, and may have a verdict: yes, no or unsure, as neardup review writes it. A pair that is labelled no is wrong, whatever its similarity; one that is unsure counts for nothing. Of several readers the majority counts. A column or an answer that is not understood is an error, and so is a file whose rows all have the same verdict.": "标注文件有 a 和 b 两列，还可以有 verdict 列：yes、no 或 unsure，即 neardup review 所写的格式。标为 no 的文档对一律算错，不论相似度多高；unsure 两边都不计。有多人判读时取多数。列名或答案无法理解即为错误；所有行判定都相同的文件也是错误。",
	"What makes a pair right says --truth, any of":                        "--truth 说明文档对凭什么算正确，满足其一即可：",
	"All other figures are by that, and one table by each of them alone.": "其余数字都以此为准；另有一张表按各标准分别计算。",
	"--protocol paper draws the test set of the method's sources: of five categories 2,000 documents each, 500 of them near-duplicates, planted by eleven edits unless --edits says which. A document's category is the INPUT it comes from, or of a single folder the folder or file within it.": "--protocol paper 按该方法出处的做法抽取测试集：五个类别各 2,000 篇文档，其中 500 篇是近似重复，用十一种改动植入，--edits 可另行指定。文档的类别是它所属的 INPUT；只给一个目录时，是其中的子目录或文件。",
	"Edits, each with the share of a document that it changes, or of its length that it adds, like drop=0.2 or page=2; 0.1 where none is given:":                                                                                                                                                  "改动方式，可各带一个比例：改动文档的多少，或增加其长度的多少，如 drop=0.2、page=2；不写即 0.1：",
	"Methods, each with the text that describes it:": "方法，括号内是其出处：",
	"And k=0 to k=15 for a distance alone. Behind one of ours stand settings that differ, as in balanced+k=6+limit=0.5: k=N, limit=J and limit-short=J, border=J, bands=off, short-texts=off, bits=N, weight=W, stop=none, top=N, tags=n/v, exclude=latin/digits, ngram=N, min-features=N, ignore-below=N, lexicon=FOLDER, title-weight=N, strip-boilerplate=off. levenshtein, cosine, euclid, common-substring compare all pairs of texts, of 5,000 documents at most.": "另有 k=0 至 k=15，只看距离。本程序的方法后面可以写不同的设置，如 balanced+k=6+limit=0.5：k=N、limit=J 与 limit-short=J、border=J、bands=off、short-texts=off、bits=N、weight=W、stop=none、top=N、tags=n/v、exclude=latin/digits、ngram=N、min-features=N、ignore-below=N、lexicon=FOLDER、title-weight=N、strip-boilerplate=off。levenshtein、cosine、euclid、common-substring 比较所有文本对，最多 5,000 篇文档。",

	// explain
	"Prints what two documents share and do not: features with their weights, distance, segment keys, estimated and exact similarity, the verdict with its rule, and the texts side by side. A and B are files of text or HTML, or ids of the run that --run names. You can also name a document of an earlier night whose run directory is beside RUN: by its id, or as NIGHT/ID if this run has the id too. --method chooses the method that judges. By default it is the run's own, or balanced for files.": "打印两篇文档的异同：特征及其权重、距离、分段的键、估计的和精确的相似度、判定及其规则，并把正文左右对照。A 和 B 是文本或 HTML 文件，或 --run 所指运行中的 id。也可以指明前几夜的文档，只要那一夜的运行目录在 RUN 旁边：写它的 id；若本次运行也有这个 id，写 NIGHT/ID。--method 选择判定方法，默认是该运行自己的方法；比较文件时是 balanced。",
	"Text that only A has is red, text that only B has is green. Without a terminal, or with NO_COLOR, brackets mark them: [- -] and {+ +}. What is not compared, which is boilerplate and the title and summary of short news, is grey or between [~ and ~].":                                                                                                                                                                                                                                                 "只在 A 中的文字是红色，只在 B 中的是绿色。不在终端上，或设了 NO_COLOR 时，改用括号：[- -] 和 {+ +}。不参与比较的是共有内容和短新闻的标题与摘要，显示为灰色，或置于 [~ 与 ~] 之间。",

	// export
	"Writes the tables of a finished run for a spreadsheet: with --csv one file for each table, in UTF-8 with a byte order mark; with --xlsx one Excel workbook with a sheet for each table. Nulls are empty cells and fingerprints are hexadecimal. The columns sketch and letters are left out.": "把完成的运行的各表写成电子表格：--csv 为每张表写一个文件，UTF-8 编码，带字节序标记；--xlsx 写一个 Excel 工作簿，每张表一个工作表。空值是空单元格，指纹用十六进制。sketch 和 letters 两列不写。",
	"Ids, titles and other text stay text, even if they look like a number or a formula; CSV marks a formula with a ' in front. Excel shows 1,048,576 rows of a sheet, so a larger table goes on in a second sheet. For large runs use SQL (job/docs/queries.sql).":                                "id、标题等文本始终是文本，即使看上去像数字或公式；在 CSV 中，公式前面加 '。Excel 一个工作表最多 1,048,576 行，更大的表接着写入第二个工作表。运行很大时请用 SQL（job/docs/queries.sql）。",
	"Tables: fingerprints, matches, pairs, clusters, removed, seen, against, drift, growth, as far as the run has them.":                                                                                                                                                                           "表：fingerprints、matches、pairs、clusters、removed、seen、against、drift、growth，以该运行所有的为限。",

	// inspect
	"Prints a run directory's settings, progress, tables and whole summary, or a table's metadata and first rows.": "打印运行目录的设置、进度、各表和完整的摘要，或一张表的元数据和前几行。",

	// lexicon
	"Counts in how many documents each word occurs, and writes a folder that run takes as features.lexicon: idf.utf8 with the inverse document frequency of the words, ln(N/n), and stop_words.utf8 with the words that occur in more than --share of the documents, the most frequent first, before those of the lexicon in use. The folder may have more of jieba's five files (jieba.dict.utf8, hmm_model.utf8, user.dict.utf8); with features.lexicon they are copied from there.": "统计每个词出现在多少篇文档中，写出一个目录，run 用 features.lexicon 读取：idf.utf8 是各词的逆文档频率 ln(N/n)；stop_words.utf8 是出现于超过 --share 的文档的词，最常见的在前，其后是现用词典的停用词。该目录还可以有 jieba 五个文件中的其他几个（jieba.dict.utf8、hmm_model.utf8、user.dict.utf8）；设了 features.lexicon 时从那里复制。",
	"Stop words are left out by default. The idf has a part in the weights tfidf and sqrt-tfidf, and in features.top.": "默认不计停用词。idf 用于权重 tfidf 和 sqrt-tfidf，以及 features.top。",

	// library
	"The library keeps the fingerprints of earlier nights; run --library matches a night against it and adds the night.":                                                                                                                           "历史库保存以往各夜的指纹；run --library 把一夜与它匹配，并把这一夜加进去。",
	"Rewrites the files that hold rows of deleted documents, so that their bytes are gone from the disk, and joins successive small files of a night. Needs room for the largest file that it makes. An interrupted compaction keeps what it did.": "重写含有已删除文档的文件，使其字节从磁盘上消失，并合并同一夜相邻的小文件。所需空间等于它写出的最大文件。中断时，已完成的部分保留。",
	"Deletes documents by id (--ids: a file of one id a line, or - for standard input) or by the beginning of their ids (--prefix), from every night; or whole nights (--night). What is deleted is in no later result. A document that is deleted stays out of the library when a later night brings it, unless --once is given. The files hold its bytes until \"library compact\". Ids that no night has are named: an id is the whole of its line, spaces and quotes too.": "从所有夜中删除文档：按 id（--ids：每行一个 id 的文件，- 为标准输入），或按 id 的开头（--prefix）；也可删除整夜（--night）。删除的内容不再出现于以后的任何结果。以后的夜再带来已删除的文档时，它仍不入库，除非给了 --once。在 library compact 之前，文件中仍有其字节。哪一夜都没有的 id 会列出来：一整行就是一个 id，空格和引号也算在内。",
	"Removes the nights dated before the day. When a document was first seen is carried by the nights that stay.":                                                                                                                                                "删除该日之前的夜。文档首次出现的日期由留下的夜保存。",
	"Turns the pages in the log of \"lookup --serve --add\" into nights of the library. The service does this itself, once a day and after every 200,000 pages; while it runs, use POST /nights. Use this command for the log of a service that no longer runs.": "把 lookup --serve --add 的日志中的网页并为历史库的夜。服务自己会做，每天一次，且每满 200,000 页一次；服务运行时请用 POST /nights。此命令用于已不再运行的服务留下的日志。",
	"Where library.json is older than the library, damaged or lost, takes back the newest manifest that changes/ has, with its nights and deletions.":                                                                                                            "library.json 比历史库旧、已损坏或丢失时，取回 changes/ 中最新的清单，连同其中的各夜和删除。",
	"Then makes each file that is missing or damaged again from the run directories of its nights, and puts it in its place if it has the bytes that the manifest says. Sound files are not touched, and nothing is removed. Samples of pages, which small sites' templates are learned from, are left out of the library if they are damaged. Takes some 100 bytes of memory for each document of the nights in a file.": "然后用各夜的运行目录重建每个缺失或损坏的文件，字节与清单所记相同才放回原处。完好的文件不动，也不删除任何文件。网页样本（小站点据此学习共有内容）若损坏，就不再留在历史库中。文件所含各夜的每篇文档约占 100 字节内存。",
	"Prints nights, documents and size, and the segments that most documents share.": "打印各夜、文档数、大小，以及最多文档共有的分段。",
	"Compares every file with the digest in the manifest, the rows with what the manifest says of them, the manifest with those before it, and the files of the look-ups' index with their checksums and names.": "核对每个文件与清单中的摘要值、各行与清单所记、清单与此前的清单，以及查询索引的文件与其校验和、文件名。",

	// lookup
	"Looks up pages (files, or - for standard input) in a library. For each page it prints the near-duplicates in earlier nights, by the library's own settings. HTML files are read like the pages of an archive, .json files as {\"title\": …, \"text\": …}, all other files as text. With --runs it also shows titles and texts, from the nights' run directories in that folder.":                                                                                                                                                                          "在历史库中查询网页（文件，或 - 为标准输入）。对每一页，按历史库自己的设置打印前几夜中的近似重复。HTML 文件按归档中的网页读取，.json 文件按 {\"title\": …, \"text\": …} 读取，其他文件一律当作文本。加 --runs 时还显示标题和正文，取自该目录中各夜的运行目录。",
	"The look-up keeps an index and updates it first. The index is in the library's folder. --index names another place: a folder, a Redis server (redis://HOST:PORT, password in NEARDUP_REDIS_PASSWORD), or a table of HBase through its REST gateway (hbase://HOST:PORT/TABLE).":                                                                                                                                                                                                                                                                            "查询使用索引，并先更新索引。索引在历史库的目录中。--index 可以另指一处：目录、Redis 服务器（redis://HOST:PORT，密码在 NEARDUP_REDIS_PASSWORD 中），或经 REST 网关访问的 HBase 表（hbase://HOST:PORT/TABLE）。",
	"With --serve it answers HTTP and follows the library: POST /lookup with text, text/html or JSON, GET /lookup?id=ID for a document of the library, GET /healthz, GET /metrics for Prometheus, and a page for people at /. With --add it also takes pages: POST /documents answers what each is near to and keeps it, first in a log, from time to time as a night of the library (POST /nights does it at once). To add pages a client sends the token of --token-file or NEARDUP_ADD_TOKEN. Without a token only programs on this machine can add pages.": "加 --serve 时提供 HTTP 服务，并随历史库更新：POST /lookup 接受 text、text/html 或 JSON；GET /lookup?id=ID 查询库中的文档；GET /healthz；GET /metrics 供 Prometheus 使用；/ 是供人使用的网页。加 --add 时还接收网页：POST /documents 回答每页与什么相近，并保存它，先写入日志，再不时并为历史库的一夜（POST /nights 立即并入）。添加网页的客户端须发送 --token-file 或 NEARDUP_ADD_TOKEN 中的令牌；没有令牌时，只有本机的程序可以添加。",

	// match
	"Reads fingerprints (a run directory, its fingerprints folder, or any Parquet or CSV file with an id and a fingerprint column) and writes matches and clusters, so that another distance does not cost another segmentation. What a run has fingerprinted is matched with the run's preset and settings, unless flags say otherwise, and gives what the run gave but for what texts or earlier nights decide; fingerprints from elsewhere with the preset classic.": "读取指纹（运行目录、其中的 fingerprints 目录，或任何带 id 列和指纹列的 Parquet、CSV 文件），写出匹配和簇；换一个距离不必重新分词。指纹来自某次运行时，默认用该运行的预设和设置匹配，结果与该运行相同，由正文或前几夜决定的除外；来自别处的指纹用预设 classic。",

	// plan
	"Reads a sample of the inputs, times it on this machine, plants edited copies into it and has every preset find them. Prints how many documents there are about, the time, memory and disk of each preset, its precision and recall on the planted sample, and which one to take. With --library it counts what the nights in the library take, and how much this one adds to it. With --against it says what it takes to look for a reference's texts instead, and how many documents of the sample have some. It writes nothing.": "读取输入的样本，在本机计时，植入改动过的副本，让每个预设去找。打印大约有多少篇文档、每个预设的用时、内存和磁盘、它在植入样本上的精确率和召回率，以及该用哪一个。加 --library 时，还计入历史库中各夜要用的时间，以及这一夜使它增大多少。加 --against 时，改为说明查找参照集的文本要用多少，以及样本中有多少篇文档命中。不写任何文件。",

	// report
	"Writes one page of HTML about a finished run and prints its path. It follows the order of a morning: what changed since last night, against the nights before; sources that lost much; growing and large clusters; pairs to read, near the limit on both sides; what the clean dump left out and for which document; then input, join, library and settings, with texts side by side. Of an earlier night's document it has the text while that night's run directory stands beside RUN. Of a run against a reference it shows what was found by set, the texts that most documents have, and hits to read.": "为完成的运行写一个 HTML 网页，并打印其路径。网页按早晨查看的顺序：与前一夜及此前各夜相比有何变化；失去很多文档的来源；增大的簇和最大的簇；界限两侧应读的文档对；去重后的数据去掉了什么、留下的是哪篇；然后是输入、连接、历史库和设置，并有正文左右对照。只要前几夜的运行目录在 RUN 旁边，那些夜的文档也有正文。对照参照集的运行则展示各集合命中多少、命中最多的文本，以及应读的命中。",
	"The page needs no network. It has a search, sorts its tables, and takes half a megabyte at most. It is report.html in RUN, or what --html names; - is standard output. With --index the argument is the folder of the runs, and the page lists them all: index.html there.":                                                                                                                                                                                                                                                                                                                                  "网页不需要网络，可以搜索，表可以排序，最大半兆字节。它是 RUN 中的 report.html，或 --html 所指的文件；- 为标准输出。加 --index 时，参数是各运行所在的目录，网页列出全部运行，写入该目录的 index.html。",

	// review
	"Draws pairs to read and writes them as a page that opens from a file: keys y, n and ? judge, u takes back, s saves your verdicts as a file of your own. With --terminal you read them here, and each verdict is appended to the file that --verdicts names.":                                                                                                                                   "抽取待读的文档对，写成可以直接从文件打开的网页：按 y、n、? 判定，u 撤销，s 把判定存为你自己的文件。加 --terminal 时就在终端上读，每个判定追加到 --verdicts 所指的文件。",
	"With --verdicts alone it says what the verdicts make of the run, of any number of readers: precision of what it takes for the same, by stratum, with 95 % intervals; recall, from pairs that a wider search finds and the run does not; where readers disagree. --suggest writes a settings file with the limits that the verdicts ask for. neardup eval --labels takes the same files.":       "只给 --verdicts 时，按一人或多人的判定给出这次运行的好坏：判为相同者的精确率，按层列出，带 95 % 区间；召回率，由放宽检索能找到而运行没有找到的文档对得出；读者的分歧。--suggest 按判定所要求的界限写出设置文件。neardup eval --labels 也读这些文件。",
	"The strata: pairs just within the limit and just beyond it, further beyond, short texts, contained documents, matches of earlier nights, what was left out by way of other documents, and the other pairs by the run's reason. The pairs come mixed, so that you judge without knowing. The page and the drawn pairs stand in RUN/review; a draw of the same --seed and --draw is used again.": "各层是：刚在界限之内、刚在界限之外、离界限更远的文档对，短文本，被包含的文档，与前几夜的匹配，经由其他文档被去掉的，以及按运行所给的理由分列的其他文档对。文档对打乱次序，判定时不知道程序的结论。网页和抽出的文档对在 RUN/review 中；--seed 和 --draw 相同时沿用已抽的。",

	// run
	"Reads the inputs (files, folders, globs, or - for standard input; WARC, WET, JSONL, CSV, TSV, Parquet or Arrow, plain, .gz or .zst), finds each document's best match and the clusters, and writes tables and the clean dump. The same command again resumes a run. With --against it looks for a reference's texts.": "读取输入（文件、目录、通配符，或 - 为标准输入；WARC、WET、JSONL、CSV、TSV、Parquet 或 Arrow，可以是 .gz 或 .zst），找出每篇文档的最佳匹配和簇，写出各表和去重后的数据。再次运行同一命令即可继续。加 --against 时查找参照集的文本。",

	// status
	"Prints whether a run is under way, finished or left, for each stage the tasks done, rows, bytes and rate, and how far the stage under way is and the time that is left of it; on a cluster also what the workers of the flow under way last told.": "打印运行是在进行、已完成还是停下了；每个阶段已完成的任务、行数、字节数和速度；正在进行的阶段到了哪里、还需多久。在集群上，还有各工作进程最近的报告。",

	// templates
	"A run learns from a sample what the pages of a site share. This command learns it from all of the input, for sites of few pages. It samples pages of every site (the host of an id that is a URL). Of each site with at least 20 pages it writes the blocks of text that half of its pages have, or 8 with the same digits. With --templates a run uses this file and learns nothing.": "run 由样本学习同一站点各页共有的内容。本命令从全部输入学习，适合网页很少的站点。它对每个站点（id 为 URL 时的主机名）抽取网页；站点至少有 20 页时，写出其中一半网页都有的文本块，或有 8 页连数字都相同的文本块。run 加 --templates 时使用此文件，不再学习。",

	// verify
	"Reads every file of a run directory, finished or not, of a library, or of the folder that look-ups keep their index in, and compares it with the size and the digest that were noted when it was written. It changes nothing.": "读取运行目录（不论是否完成）、历史库或查询索引目录中的每个文件，与写入时记下的大小和摘要值核对。不做任何改动。",

	// version
	"Says the program's version and build, and the versions of the lexicon, the normal form of texts, the extractor of pages, run directories and libraries. Where lexicon, text and extractor are the same, fingerprints can be compared.": "打印程序的版本和构建，以及词典、文本规范形式、网页正文提取、运行目录和历史库的版本。lexicon、text、extractor 三项相同时，指纹可以互相比较。",

	// Edits and methods of the laboratory.
	"labelled, or planted; a label of no outranks J, own text and C":    "人工标注，或植入；标为 no 时，优先于 J、own 和 C",
	"Jaccard similarity J of the texts' 5-grams of --alike or more":     "两篇正文五字片段的 Jaccard 相似度 J 不小于 --alike",
	"J or containment of the texts without lines that 60 of them have":  "去掉 60 篇以上都有的行之后，按 J 或包含度",
	"0.8 of the 5-grams of the text that has fewer are in the other":    "五字片段较少的一篇，其中 0.8 另一篇也有",
	"line breaks and spaces set anew":                                   "重排换行和空格",
	"sentences in the other script of Chinese: traditional, simplified": "把句子换成另一种汉字：繁体、简体",
	"sentences with HTML entities in the place of characters":           "句子中的字符换成 HTML 实体",
	"digits changed: counters, dates, prices":                           "改动数字：计数、日期、价格",
	"characters replaced, inserted and deleted: slips, OCR noise":       "替换、插入、删除字符：笔误、OCR 噪声",
	"sentences deleted":                                                    "删除句子",
	"sentences moved to the front":                                         "把句子移到开头",
	"sentences reworded: words exchanged, clauses turned round":            "改写句子：换词，调换分句",
	"the end cut off":                                                      "截去结尾",
	"the end replaced by another document's: at 0.5, half the page":        "结尾换成另一篇文档的：0.5 即半页",
	"a passage of another document inserted":                               "插入另一篇文档的一段",
	"English sentences mixed in":                                           "混入英文句子",
	"menus before and after, one of four sites'":                           "前后加上菜单，取自四个站点之一",
	"passages of other documents before and after: a longer page":          "前后加上其他文档的段落：网页变长",
	"SimHash of words within 3 of 64 bits":                                 "词的 SimHash，64 位中相差不超过 3 位",
	"classic's and MinHash bands' candidates, confirmed by sketches":       "classic 和 MinHash 分带的候选对，由草图核实",
	"a wider search, confirmed by the texts":                               "放宽检索，由正文核实",
	"the original SimHash: unit weights, no stop words":                    "最初的 SimHash：权重均为 1，不去停用词",
	"SimHash of the 20 words of the highest tf × idf":                      "tf × idf 最高的 20 个词的 SimHash",
	"classic with a limit by length: 3, up to 10 for short texts":          "classic，界限随长度而变：3，短文本最大 10",
	"half of all 5-grams in common":                                        "五字片段有一半相同",
	"MinHash of 256 values, at the limit that is best on these documents":  "256 个值的 MinHash，取在这些文档上最好的界限",
	"half of the hashes of the 10 words of the highest tf × idf are equal": "tf × idf 最高的 10 个词，散列值有一半相同",
	"half of the paragraphs are equal":                                     "段落有一半相同",
	"the 10 words of the highest tf × idf are the same: one MD5":           "tf × idf 最高的 10 个词完全相同：一个 MD5",
	"half of the two characters on either side of each punctuation mark":   "每个标点两侧各两个字符，有一半相同",
	"the 3 longest sentences are the same":                                 "最长的 3 句完全相同",
	"edit distance of at most 0.3 of the longer text":                      "编辑距离不超过较长正文的 0.3",
	"cosine of the word counts of 0.9 or more":                             "词频向量的余弦不小于 0.9",
	"Euclidean distance of the word counts: 0.25 of |a| + |b| at most":     "词频向量的欧氏距离：不超过 |a| + |b| 的 0.25",
	"0.6 of the words in common":                                           "词有 0.6 相同",
	"the longest common substring is 0.3 of the shorter text or more":      "最长公共子串不短于较短正文的 0.3",

	"mass text similarity with SimHash, 2013, and all others": "海量文本的 SimHash 相似度，2013，及其他各出处",
	"neardup": "本程序",
	"Charikar, 2002; text dedup on Spark, Sichuan University, 2019": "Charikar，2002；基于 Spark 的文本去重，四川大学，2019",
	"gosimhash, SimHash in Go, 2014":                                "gosimhash，Go 语言的 SimHash，2014",
	"a news product's dedup, 2018, and SimHash, 2013":               "某资讯产品的去重，2018；SimHash，2013",
	"Broder, 1997; text dedup on Spark, Sichuan University, 2019":   "Broder，1997；基于 Spark 的文本去重，四川大学，2019",
	"Broder, 1997":                           "Broder，1997",
	"a news product's dedup, 2018, scheme 1": "某资讯产品的去重，2018，方案一",
	"a news product's dedup, 2018, scheme 2": "某资讯产品的去重，2018，方案二",
	"a news product's dedup, 2018, scheme 3": "某资讯产品的去重，2018，方案三",
	"a news product's dedup, 2018, scheme 4": "某资讯产品的去重，2018，方案四",
	"gosimhash, 2014; news dedup, 2018":      "gosimhash，2014；资讯去重，2018",
	"SimHash, 2013; news dedup, 2018":        "SimHash，2013；资讯去重，2018",

	// Settings that are no flags.
	"column of the title (default: title, headline)":                                                  "标题所在的列（默认：title、headline）",
	"column of the language (default: language, lang …)":                                              "语言所在的列（默认：language、lang …）",
	"column of the date (default: date, timestamp …)":                                                 "日期所在的列（默认：date、timestamp …）",
	"column for --keep rank, the highest stays":                                                       "--keep rank 所看的列，最大者保留",
	"id of a WARC document: url or record":                                                            "WARC 文档的 id：url 或 record",
	"HTTP responses to read, ok is 2xx: ok or all":                                                    "读取哪些 HTTP 应答，ok 即 2xx：ok 或 all",
	"text to take from a page: main or visible":                                                       "从网页取哪些文本：main 或 visible",
	"CSV and TSV have no header row: columns are named 1, 2 and so on":                                "CSV 和 TSV 没有表头：各列名为 1、2 等",
	"skip records of more bytes":                                                                      "跳过大于此字节数的记录",
	"what to do with a repeated id: skip or fail":                                                     "遇到重复的 id 如何处理：skip 或 fail",
	"cut plain JSONL into splits of about this size":                                                  "把未压缩的 JSONL 切成约此大小的分片",
	"bits of a fingerprint: 32, 64 or 128":                                                            "指纹的位数：32、64 或 128",
	"what is counted: words or ngrams":                                                                "以什么为特征：words 或 ngrams",
	"characters of an n-gram, 1 to 16; English needs 3 or more":                                       "n-gram 的字符数，1 至 16；英文须为 3 以上",
	"find words beyond the dictionary":                                                                "识别词典之外的词",
	"count traditional characters as simplified ones, variants as usual ones":                         "繁体字按简体字计，异体字按通用字计",
	"weight of a feature: tf, tfidf, sqrt-tfidf, unit, levels or tf-position":                         "特征的权重：tf、tfidf、sqrt-tfidf、unit、levels 或 tf-position",
	"how many times a feature of the title counts, 0 to 100":                                          "标题中的特征计几次，0 至 100",
	"keep only this many features, by tf × idf; 0: all":                                               "只保留 tf × idf 最高的若干特征；0：全部",
	"keep only words of these parts of speech, like n,v":                                              "只保留这些词性的词，如 n,v",
	"characters that are no part of a word: latin, digits":                                            "不算作词的字符：latin、digits",
	"stop words to leave out: none or builtin":                                                        "去掉的停用词：none 或 builtin",
	"a document with fewer distinct features is short":                                                "不同特征少于此数的文档算短文本",
	"a document with fewer distinct features matches nothing; 0: off":                                 "不同特征少于此数的文档不参与匹配；0：不设",
	"segmenter of Chinese; both cut alike: builtin or gojieba":                                        "中文分词器，两者切分相同：builtin 或 gojieba",
	"files of extra words: word, frequency, tag":                                                      "补充词语的文件：词、词频、词性",
	"file of extra stop words, one a line":                                                            "补充停用词的文件，每行一个",
	"folder of jieba's own files, any of five, in place of the builtin ones":                          "jieba 自己的文件所在的目录，五个之中任意几个，代替内置的",
	"leave out of each text what the pages of its site share":                                         "去掉正文中同一站点各页共有的内容",
	"what confirms a candidate pair: none, length, sketch, signature or texts":                        "用什么核实候选对：none、length、sketch、signature 或 texts",
	"documents whose sketches share an LSH band are candidates":                                       "草图有一个 LSH 分带相同的文档成为候选",
	"compare texts of at most 160 letters by their edits":                                             "不超过 160 个字母的文本按编辑比较",
	"texts of this many characters count as long":                                                     "达到此字符数的文本算长文本",
	"least Jaccard similarity of long texts":                                                          "长文本的最低 Jaccard 相似度",
	"least Jaccard similarity of other texts":                                                         "其他文本的最低 Jaccard 相似度",
	"with verify=signature or texts, these decide this near the limit":                                "verify=signature 或 texts 时，离界限这么近的由它们决定",
	"find texts of which another one has this share; 0: off":                                          "查找被另一篇包含达此比例的文本；0：不做",
	"fail before writing more pairs":                                                                  "文档对超过此数时，不写出而失败",
	"tell of components that contain each other and no third: column versions_id":                     "标出彼此包含、又不含第三者的连通分量：versions_id 列",
	"what the clean dump does with a document that another contains, which stays: keep or drop":       "去重后的数据如何处理被另一篇留下的文档包含的文档：keep 或 drop",
	"what the clean dump does with a document that an earlier night of the library has: drop or keep": "去重后的数据如何处理历史库前几夜已有的文档：drop 或 keep",
	"column of the id of a reference (default: id, doc_id …)":                                         "参照集 id 所在的列（默认：id、doc_id …）",
	"what the clean dump does with a document that has a hit: drop, cut or keep":                      "去重后的数据如何处理有命中的文档：drop 去掉，cut 只删去命中的部分，keep 保留",
	"share of a reference's letters, or of a document's, that makes a hit":                            "达到参照文本或文档字母的此比例即为命中",
	"common letters in a row that make a hit, Chinese ones count 3; 0: none do":                       "连续相同的字母达此数即为命中，一个汉字计 3 个；0：不以此判断",
	"do not look for references of fewer letters, Chinese ones count 3":                               "不查找字母少于此数的参照文本，一个汉字计 3 个",
	"folder for what exceeds memory (default: --out)":                                                 "内存放不下的内容所在的目录（默认：--out）",
	"folder of what a run with --out s3://… has not uploaded yet":                                     "--out 为 s3://… 时，尚未上传的内容所在的目录",
	"keep what only a resume needs when the run has succeeded":                                        "成功后仍保留只有继续运行才需要的文件",
	"file for a CPU profile of the run":                                                               "运行的 CPU 剖析文件",
	"give up waiting for a library that others hold after this long; 0s: never":                       "历史库被占用时，等待超过此时长即放弃；0s：一直等",
	"attempts at each flow":                                                                           "每个流程最多尝试的次数",
	"give up an attempt after this long without progress":                                             "无进展超过此时长，放弃这次尝试",
	"give up an attempt that takes longer":                                                            "超过此时长，放弃这次尝试",
	"go on without agents that hang while this share of the slots is left":                            "代理无响应时，只要剩下此比例的槽位就继续",
	"address to POST the same JSON to":                                                                "把同样的 JSON 用 POST 发往此地址",
	"alarm when less than this share is new to the library":                                           "新增比例低于此值时告警",
	"alarm when more than this share is new to the library":                                           "新增比例高于此值时告警",
	"alarm when there are fewer documents":                                                            "文档少于此数时告警",
	"alarm when there are more documents; 0: never":                                                   "文档多于此数时告警；0：不设",
	"alarm when a site of 20 documents or more loses more than this share of them to others":          "有 20 篇以上文档的站点，因其他站点的文档而被去掉的超过此比例时告警",
	"alarm when a cluster has documents of more sites, of at least 10; 0: never":                      "簇中文档来自多于此数的站点时告警，最小 10；0：不设",
	"alarm when the run takes longer; 0s: never":                                                      "运行超过此时长时告警；0s：不设",
	"alarm when more flows are tried again; -1: never":                                                "重试的流程多于此数时告警；-1：不设",
}

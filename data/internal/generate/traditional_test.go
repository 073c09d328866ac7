package generate

import "strings"

// simplifiedPairs holds a simplified character and the traditional one that it
// usually is in this prose; traditionalPhrases go first.
const simplifiedPairs = "卖賣拦攔撑撐烛燭职職辞辭万萬与與专專业業丛叢东東杂雜丝絲丢丟两兩严嚴个個丰豐临臨为為举舉么麼义義乐樂习習乡鄉书書" +
	"乱亂争爭于於亏虧云雲产產亩畝亲親亿億仅僅从從仓倉仪儀们們价價众眾会會伞傘伟偉传傳伤傷伦倫体體余餘侦偵侧側债債" +
	"倾傾偿償储儲兑兌兰蘭关關兴興养養兽獸内內册冊写寫农農冯馮冲衝决決况況冻凍净淨准準凉涼减減凑湊凛凜几幾凤鳳凭憑" +
	"划劃则則刚剛别別刹剎剂劑剥剝剧劇劝勸办辦务務动動劲勁劳勞势勢匀勻区區医醫华華协協单單卫衛" +
	"厂廠厅廳历歷厉厲压壓厘釐厢廂厨廚县縣参參双雙发發变變叙敘叠疊叶葉号號叹嘆吓嚇吕呂吨噸听聽启啟吴吳呐吶员員" +
	"响響哑啞唢嗩喂餵喷噴嘘噓嘱囑团團园園围圍国國图圖圆圓场場坏壞块塊坚堅坛壇坝壩坞塢垄壟垒壘垫墊垭埡墙牆壮壯声聲" +
	"壳殼壶壺处處备備复復够夠头頭夹夾奖獎妆妝妇婦妈媽婴嬰孙孫学學宁寧宝寶实實宠寵审審宽寬对對寻尋导導寿壽将將" +
	"尘塵尴尷层層属屬岁歲岗崗岛島岭嶺币幣师師帐帳带帶帮幫干乾并並广廣庄莊庆慶库庫应應庞龐废廢开開张張弯彎弹彈" +
	"强強归歸当當录錄彻徹征徵径徑忆憶怀懷态態总總恒恆恶惡恼惱悬懸惊驚惫憊惯慣愿願懒懶戏戲战戰户戶扑撲执執扫掃扬揚" +
	"抚撫抛拋抢搶护護报報担擔拣揀拥擁拧擰拨撥挂掛挠撓挡擋挤擠挥揮捞撈损損换換据據摄攝摆擺摇搖摊攤攒攢敌敵数數斋齋" +
	"断斷无無旧舊时時旷曠显顯晒曬晓曉晕暈术術朴樸机機权權杆桿杠槓条條来來杨楊极極构構柜櫃标標栋棟栏欄" +
	"树樹样樣档檔桥橋桨槳桩樁检檢椁槨楼樓横橫檩檁欢歡残殘毁毀毕畢毡氈气氣汇匯汉漢汤湯沟溝没沒沥瀝泼潑洁潔洼窪" +
	"浆漿浇澆测測浓濃涂塗涌湧涛濤润潤涨漲涩澀渔漁温溫湾灣湿濕滚滾满滿滤濾滩灘潜潛灭滅灯燈灵靈灾災炉爐炖燉点點烂爛" +
	"烟煙烦煩烧燒烫燙热熱爱愛牵牽状狀犹猶独獨猎獵猫貓环環现現电電画畫畅暢皱皺盏盞盐鹽监監盖蓋盗盜盘盤码碼砖磚砚硯" +
	"砾礫础礎确確碱鹼礼禮离離种種积積称稱税稅稳穩窑窯窝窩窦竇笋筍笔筆笼籠筑築筝箏签簽简簡箩籮篓簍篮籃类類粝糲粮糧" +
	"紧緊红紅约約级級纪紀纬緯纳納纵縱纷紛纸紙纹紋线線练練组組细細织織终終绍紹经經绑綁结結绕繞绘繪给給绝絕统統续續" +
	"绳繩维維绷繃绿綠缆纜缓緩编編缘緣缝縫缩縮缴繳网網罗羅罢罷聋聾联聯聪聰肿腫胀脹胆膽胜勝胶膠脉脈脑腦脚腳脱脫脸臉" +
	"腊臘腻膩舱艙艺藝节節苍蒼苏蘇荚莢荞蕎药藥获獲营營萧蕭葱蔥蒋蔣蓝藍藓蘚虚虛虫蟲虽雖虾蝦蚀蝕蚁蟻蚝蠔蛎蠣" +
	"蛏蟶蜡蠟补補装裝裤褲见見观觀规規视視觉覺触觸计計订訂认認讨討让讓训訓议議记記讲講讶訝许許论論讼訟设設访訪证證" +
	"评評诉訴诊診词詞试試话話诞誕询詢误誤说說请請读讀课課谁誰调調谈談谢謝谨謹谱譜贝貝负負财財责責败敗账賬货貨质質" +
	"贩販购購贴貼贵貴贷貸费費贺賀资資赔賠赛賽赢贏赵趙赶趕踪蹤蹿躥车車轨軌转轉轮輪软軟轰轟轴軸轻輕载載较較辆輛辈輩" +
	"辐輻辑輯输輸辖轄边邊达達迁遷过過运運还還这這进進远遠违違连連迟遲迹跡适適选選递遞遗遺遥遙邬鄔邹鄒邻鄰郁鬱郑鄭" +
	"酱醬酿釀采採里裡鉴鑑针針钉釘钓釣钞鈔钟鐘钢鋼钩鉤钱錢钴鈷钵缽钻鑽铁鐵铃鈴铅鉛铛鐺铜銅铲鏟银銀铺鋪链鏈锁鎖锅鍋" +
	"锈鏽锋鋒错錯锚錨锤錘锥錐锭錠键鍵锯鋸锹鍬镇鎮镐鎬镜鏡长長门門闩閂闭閉问問闲閒间間闷悶闸閘闹鬧闻聞阅閱队隊阳陽" +
	"阴陰阵陣阶階陈陳陨隕险險随隨隐隱隶隸难難雾霧静靜韦韋韩韓韵韻页頁顶頂项項顺順须須顽頑顾顧顿頓预預领領频頻颗顆" +
	"题題颜顏额額颠顛风風飘飄飞飛饭飯饮飲饰飾饱飽饵餌饼餅馆館馒饅马馬驱驅驳駁驶駛驾駕骂罵骄驕验驗骑騎骗騙鱼魚鲁魯" +
	"鲍鮑鲜鮮鳔鰾鳞鱗鸡雞鸣鳴鸭鴨鹤鶴麦麥黄黃齐齊齿齒龄齡龙龍"

// traditionalPhrases are the words in which a character is another one than
// usual, or stays as it is.
var traditionalPhrases = words("头发 頭髮 发丝 髮絲 台风 颱風 周末 週末 周刊 週刊 周期 週期 复诊 複診 干部 幹部 干起 幹起 干不了 幹不了 " +
	"日志 日誌 斗茶 鬥茶 松软 鬆軟 松动 鬆動 放松 放鬆 松了 鬆了 松紧 鬆緊 松脱 鬆脫 太松 太鬆 老板 老闆 附注 附註 " +
	"面条 麵條 面馆 麵館 面团 麵團 和面 和麵 擀面 擀麵 吃面 吃麵 面点 麵點 面光 麵光 舍不得 捨不得 示范 示範 谷雨 穀雨 谷穗 穀穗 " +
	"码表 碼錶 公里 公里 海里 海里 里程 里程 制茶 製茶 制琴 製琴 配制 配製 调制 調製 录制 錄製 制片 製片 一只 一隻 只准 只准 才准 才准 百只 百隻 几只 幾隻")

var traditionalReplacer = func() *strings.Replacer {
	pairs := append([]string(nil), traditionalPhrases...)
	return strings.NewReplacer(append(pairs, letters(simplifiedPairs)...)...)
}()

var simplifiedReplacer = func() *strings.Replacer {
	var pairs []string
	from, to := letters(strings.Join(odd(traditionalPhrases, 1), "")), letters(strings.Join(odd(traditionalPhrases, 0), ""))
	for i := range from {
		pairs = append(pairs, from[i], to[i])
	}
	usual := letters(simplifiedPairs)
	for i := 0; i < len(usual); i += 2 {
		pairs = append(pairs, usual[i+1], usual[i])
	}
	return strings.NewReplacer(pairs...)
}()

// odd returns every second string, from the one at start.
func odd(all []string, start int) []string {
	var out []string
	for i := start; i < len(all); i += 2 {
		out = append(out, all[i])
	}
	return out
}

package page

// mark is what the words of an element's class and id say that it is.
type mark uint8

// The marks; a set of them is a uint32 with bit 1<<mark.
const (
	markNone mark = iota
	markNav
	markCrumb
	markFooter
	markHeader
	markSide
	markShare
	markRelated
	markComment
	markAd
	markConsent
	markByline
	markTags
	markLogin
	markContent
	markTitle
	markProduct
	markPrice
	markReview
	markList
	markMessage
	markHidden
	markCode
	markFilter
	markMedia
	markAction
	markWidget
	markText
	markCount
)

// markWords lists the words of each mark.
var markWords = newWordTable([]string{
	markNav:     "nav navbar navi navigation menu menus menuitem topbar toolbar submenu dropdown megamenu mainnav subnav sitenav hamburger offcanvas drawer sitemap daohang topnav navmenu globalnav",
	markCrumb:   "breadcrumb breadcrumbs crumb crumbs pagination pager paging paginate pages next prev previous pagenav pagelist jump",
	markFooter:  "footer foot bottom copyright legal colophon beian footnav foots icp",
	markHeader:  "header head top banner hero masthead sitehead pagehead logo branding",
	markSide:    "sidebar side aside rail sidebars right left secondary complementary sider sidenav rightbar leftbar rcol lcol",
	markShare:   "share sharing social follow facebook twitter weibo weixin wechat addthis sns like likes bdshare qrcode whatsapp linkedin pinterest fenxiang sharebar shares vote votes",
	markRelated: "related recommend recommended recommendation recommendations recommends more popular trending hot latest recent suggestions suggested similar also upsell crosssell carousel slider swiper slick hots rank ranking tuijian xiangguan outbrain taboola teaser teasers readmore readnext promos spotlight featured relevant relates toplist hotlist hotnews marquee ticker",
	markComment: "comment comments reply replies discussion disqus respond pinglun discuss commentlist",
	markAd:      "ad ads advert advertisement advertising adsense sponsor sponsored promo promotion promoted dfp guanggao adv adbox banners gpt affiliate",
	markConsent: "cookie cookies consent gdpr privacy onetrust modal popup overlay dialog lightbox tooltip toast notice alert notification notifications disclaimer popover tips",
	markByline:  "meta byline author authors date time timestamp published info infos source posted dateline avatar user username profile bio views count stats editor laiyuan updated writer contributor credit credits",
	markTags:    "tag tags category categories label labels keywords keyword topics taxonomy badge badges",
	markLogin:   "login signin signup register subscribe subscription newsletter account email form search cart wishlist checkout basket join donate optin membership paywall signout password feedback contact minicart",
	markContent: "content article post entry body story main maintext richtext rte prose markdown articlebody neirong wenzhang zhengwen cnt con wysiwyg blog news contents articles posts single bodytext artibody",
	markText:    "text paragraph txt copy description desc detail details rich",
	markTitle:   "title headline heading subtitle subheading lead intro summary excerpt abstract deck standfirst dek subhead titles biaoti",
	markProduct: "product products sku shop variant spec specs specification specifications features feature attributes attribute collection store catalog inventory brand",
	markPrice:   "price prices pricing buy stock shipping delivery quantity qty sale discount compare amount currency offer installments payment",
	markReview:  "review reviews rating ratings stars star testimonial testimonials yotpo",
	markList:    "list grid card cards row rows tile tiles feed results result listing gallery archive loop item items listitem columns column ul li",
	markMessage: "message messages msg thread threads topic forum bbs quote signature sig question answer answers faq questions discussions",
	markHidden:  "hidden hide sr only invisible offscreen screenreader visuallyhidden noprint print skip collapsed closed accessibility assistive offset none",
	markCode:    "code highlight example docs doc documentation api syntax toc reference snippet changelog",
	markFilter:  "filter filters facet facets sort refine options tab tabs accordion toggle sorting select selector picker swatch swatches",
	markMedia:   "image img photo video player media thumb thumbnail icon icons figure caption picture audio",
	markAction:  "btn button buttons cta link links action actions control controls click download",
	markWidget:  "widget widgets module gadget plugin region zone footerwidget portlet",
})

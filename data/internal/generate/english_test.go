package generate

import "strings"

// The English prose; see chinese.go for the form. The slots:
//
//	main, thing  nouns that take "the"   person a trade, with article   place with article
//	act a verb phrase   idea a noun without article   quality an adjective
//	name, friend, town, time, manner, mood, number, year

var englishSubjects = []subject{
	{
		name:      "garden",
		things:    "compost|seedling|greenhouse|trowel|rhubarb bed|pear tree|watering can|mulch|trellis|bean row|cold frame|hedge|slug trap|potting bench",
		people:    "the gardener|an old neighbour|the seed merchant|a botanist|the allotment warden",
		places:    "the allotment|the potting shed|the walled garden|the nursery|the orchard",
		acts:      "prune the pear trees|turn the compost|sow broad beans in drills|divide the rhubarb|label every pot|net the currants",
		ideas:     "patience|drainage|soil warmth|pollination|rotation",
		qualities: "frost-bitten|fragrant|leggy|hardy|overgrown|ripe",
		sentences: `Frost settled in the hollow overnight and blackened the dahlias down to their stakes.
Slugs came out after rain, and {name} went round with a torch and a bucket of salt water.
Clay holds water like a grudge, so {person} dug in grit, leaf mould and two winters of ash.
The {main} leaned so far to the south that {friend} tied it to an iron post.
A packet of seed from {year} still sprouted, nine plants out of forty, each one {quality}.
Bees found the thyme first, then the borage, and only in August the {thing}.`,
	},
	{
		name:      "sailing",
		things:    "mainsail|anchor|tiller|bilge pump|halyard|compass|dinghy|keel|logbook|lifeboat|spinnaker|mooring line|barometer|chart table",
		people:    "the skipper|a deckhand|the harbour master|the navigator|a sailmaker",
		places:    "the estuary|the marina|the foredeck|the lee shore|the boatyard",
		acts:      "reef the mainsail|sound the depth with a lead line|splice a broken halyard|plot a course by the stars|scrape barnacles off the hull|row ashore for water",
		ideas:     "leeway|tide|seamanship|visibility|ballast",
		qualities: "choppy|becalmed|salt-stained|seaworthy|rotten|steady",
		sentences: `The wind backed to the north-east at dusk and the swell began to heap against the ebb.
Nobody spoke while the bow swung through the eye of the wind and the canvas cracked full again.
Fog erased the headland, then the buoy, then the {thing} at the end of the deck.
Green water came over the rail twice before {name} could ease the sheet.
Below, the kettle swung in its gimbals and {person} wrote the position in pencil.
They raised the light at four in the morning, two short flashes and a long darkness.`,
	},
	{
		name:      "software",
		things:    "compiler|cache|unit test|message queue|log file|release branch|load balancer|pull request|container image|stack trace|feature flag|scheduler|parser|dashboard",
		people:    "the maintainer|an on-call engineer|a junior developer|the release manager|a security reviewer",
		places:    "the staging cluster|the data centre|the issue tracker|the repository|the war room",
		acts:      "bisect the regression|roll back the deployment|rewrite the parser by hand|profile the hot loop|rotate the signing keys|delete dead code",
		ideas:     "latency|backpressure|idempotence|memory safety|technical debt",
		qualities: "flaky|deterministic|deprecated|verbose|stateless|undocumented",
		sentences: `A retry without jitter turned one slow disk into a stampede of nine thousand clients.
The bug only appeared on leap days, in one time zone, with the locale set to Turkish.
Garbage collection pauses hid behind the average; the ninety-ninth percentile told the truth.
Somebody had caught every exception and thrown the {thing} away.
The function was eleven hundred lines long, and {name} was afraid of line six hundred.
Benchmarks improved by forty percent after the {main} stopped copying its own buffers.`,
	},
	{
		name:      "baking",
		things:    "sourdough|oven|rye flour|butter|pastry|proofing basket|rolling pin|croissant|caramel|loaf tin|yeast|almond tart|whisk|crumb",
		people:    "the baker|an apprentice|the miller|a pastry chef|the morning crowd",
		places:    "the bakery|the cellar|the market stall|the test kitchen|the mill",
		acts:      "fold the dough every half hour|laminate butter into pastry|score the loaves with a razor|feed the starter|weigh salt to the gram|toast the almonds",
		ideas:     "hydration|crust|fermentation|sweetness|oven spring",
		qualities: "flaky|burnt|tangy|golden|stale|airy",
		sentences: `At three in the morning the street was dark except for one window and the smell of crust.
The starter had lived in the same crock for sixty years and answered to the name of Agnes.
Too much steam and the cuts close up; too little and the loaf tears along its side.
Sugar went from amber to bitter in the time it took {name} to look for a spoon.
Flour from the stone mill drinks more water, so the {main} needs another hour.
Children pressed coins on the counter and asked for the broken {thing}.`,
	},
	{
		name:      "railways",
		things:    "locomotive|signal box|timetable|viaduct|sleeper car|platform|ticket punch|boiler|branch line|level crossing|freight wagon|turntable|dining car|junction",
		people:    "the station master|a stoker|the conductor|a track inspector|the commuters",
		places:    "the terminus|the engine shed|the cutting|the marshalling yard|the waiting room",
		acts:      "throw the points before the express|rake out the firebox|inspect the sleepers on foot|couple the last wagon|whistle twice at the bend|stamp the tickets",
		ideas:     "punctuality|gradient|adhesion|steam pressure|nationalisation",
		qualities: "narrow-gauge|disused|overcrowded|soot-covered|electric|winding",
		sentences: `Eleven bells from the signal box meant the mail was running late through the hills.
The viaduct stands on twenty-four arches, and sheep shelter under all but one of them.
When the line closed, the village lost its newspaper, its fish, and most of its young people.
Brake dust lay on the ballast like rust-coloured snow.
A guard with a lantern walked back along the {main} to protect the train.
Passengers changed trains at midnight, carrying a {quality} parcel and the smell of coal.`,
	},
	{
		name:      "birds",
		things:    "warbler|nest box|migration map|marsh harrier|binoculars|ringing station|swift|curlew|reed bed|egg shell|field notebook|owl pellet|hide|barnacle goose",
		people:    "an ornithologist|the warden|a volunteer ringer|the farmer|a twitcher",
		places:    "the wetland|the sea cliff|the reed bed|the observatory|the mudflat",
		acts:      "count waders at high tide|ring fledglings before dawn|listen for the bittern|repair the nest boxes|weigh a warbler in a film canister|dissect owl pellets",
		ideas:     "plumage|moult|breeding success|dusk chorus|flyway",
		qualities: "migratory|shy|nocturnal|moulting|vagrant|speckled",
		sentences: `A bird that weighs less than a letter crosses the Sahara twice a year.
The curlew's call rises, trembles and breaks, and then the moor is larger than before.
Ten thousand starlings turned at once, and the sky over the pier folded like cloth.
Nobody had seen the {main} there since {year}, and the photograph was poor.
Swifts sleep on the wing; {person} pointed at the radar to prove it.
Cats, glass and early mowing: {friend} kept three columns in the ledger of losses.`,
	},
	{
		name:      "medicine",
		things:    "vaccine|stethoscope|clinical trial|bandage|inhaler|ward round|x-ray|placebo|blood sample|prescription|scalpel|consent form|waiting list|ventilator",
		people:    "the surgeon|a night nurse|the pharmacist|an epidemiologist|the patient",
		places:    "the ward|the operating theatre|the village clinic|the laboratory|the emergency room",
		acts:      "take a careful history|stitch the wound under local anaesthetic|randomise the volunteers|trace every contact|calibrate the pump|wash hands for two full minutes",
		ideas:     "dosage|immunity|triage|recovery|informed consent",
		qualities: "feverish|chronic|sterile|contagious|benign|swollen",
		sentences: `The fever broke on the ninth day, and the child asked for plums.
A checklist on the wall halved the infections; pride had been the harder thing to cure.
The {main} arrived in a cold box on the back of a motorcycle, still below eight degrees.
Half the volunteers got sugar, and a third of those felt better anyway.
She listened to the left lung, moved an inch, and listened again.
Antibiotics do nothing against a virus, {name} explained for the fourth time that morning.`,
	},
	{
		name:      "geology",
		things:    "basalt column|fault scarp|fossil|core sample|seismograph|glacier|rock hammer|limestone cave|ash layer|meander|geode|magma chamber|moraine|trilobite",
		people:    "the geologist|a quarryman|the survey team|a vulcanologist|the museum curator",
		places:    "the quarry|the crater rim|the canyon floor|the drill site|the glacier snout",
		acts:      "split shale along its bedding|log every metre of core|map the contact between two lavas|date a crystal of zircon|sample gas at the vent|measure the dip with a compass",
		ideas:     "erosion|deep time|uplift|stratigraphy|isostasy",
		qualities: "volcanic|folded|weathered|molten|porous|ancient",
		sentences: `Half a mile of ice once lay here, and the valley still has the shape of its shoulder.
A grey band no thicker than a thumb marks the winter that killed half the species alive.
The creek had cut through the {main} and left its ribs in the open.
Each tremor drew a feather on the drum, and {person} read them like handwriting.
Lime drips, a century passes, and the column is one finger longer.
They drilled for water and found salt, forty metres of it, {quality} and pink.`,
	},
	{
		name:      "theatre",
		things:    "script|spotlight|costume trunk|prompt book|trapdoor|overture|understudy|curtain|stage door|prop sword|dress rehearsal|footlights|wig|balcony seat",
		people:    "the director|a stagehand|the leading lady|the critic|the wardrobe mistress",
		places:    "the rehearsal room|the wings|the orchestra pit|the foyer|the dressing room",
		acts:      "run the second act without scripts|hang the lamps from the grid|sew sequins until midnight|cut the longest speech|cue the thunder|repaint the backdrop",
		ideas:     "timing|silence|stage fright|blocking|applause",
		qualities: "sold-out|melodramatic|whispered|threadbare|comic|unrehearsed",
		sentences: `The ghost missed his entrance, and the prince spoke four lines to an empty battlement.
Superstition forbids whistling in the wings, because sailors once worked the ropes.
On the last night the cast swapped hats, and only the prompter noticed.
Rain on the tin roof drowned the soliloquy, so {name} waited, and the house waited too.
Reviews were thin, but the {main} ran for eleven months on word of mouth.
Somebody in the gallery laughed at the funeral, and the play became a comedy.`,
	},
	{
		name:      "finance",
		things:    "bond market|balance sheet|mortgage|dividend|invoice|hedge fund|pension scheme|ledger|exchange rate|tax return|overdraft|audit trail|prospectus|interest payment",
		people:    "the auditor|a bond trader|the treasurer|a small shopkeeper|the central banker",
		places:    "the trading floor|the branch office|the ministry|the clearing house|the boardroom",
		acts:      "reconcile the accounts by hand|issue ten-year paper|write down the inventory|hedge the currency risk|postpone the dividend|read the footnotes first",
		ideas:     "liquidity|inflation|credit risk|confidence|yield",
		qualities: "illiquid|overvalued|solvent|volatile|unsecured|prudent",
		sentences: `Yields rose nine basis points before lunch, and nobody on the desk could say why.
The company reported a loss of {number} million, its third since {year}, and the shares went up.
Cash is a fact, profit is an opinion, and goodwill is a prayer.
Depositors queued round the block because they had seen a queue.
Buried in note seventeen was a loan from the {main} to the chairman's brother.
Shipping costs tripled, margins vanished, and {person} rewrote the forecast in red.`,
	},
}

const englishSentences = `When {name} first came to {town}, nobody there had ever bothered to {act}.
"It is all a question of {idea}," said {person}, closing the door of {place}.
The {main} looked {quality} from a distance and worse at close range.
{time}, {friend} would walk to {place} just to look at the {thing}.
It took {number} days to {act}, and one careless hour to undo the work.
Few people in {town} can still {act}; {name} learned it from an aunt.
Without {idea} the {thing} is only an ornament.
They argued about the {thing} until {person} walked out, {mood}.
Records from {year} mention the {main} once, in the margin, in another hand.
What puzzled {friend} was not the {thing} but the lack of {idea} around it.
{name} {manner} tried to {act}, failed, and tried again with a borrowed {thing}.
In {place} there hung a notice: do not touch the {thing} before noon.
The {quality} ones were sold cheaply, and the rest went by cart to {town}.
"You can teach anyone to {act}," {friend} said, "but not when to stop."
By the end of the season the {main} had paid for itself {number} times over.
Old photographs show {place} full of people and a single {quality} {thing}.
{person} kept two notebooks, one for {idea} and one for complaints.
Then the weather changed, and the plan to {act} was {manner} dropped.
Visitors ask about the {main}; they should ask about {idea}.
{time}, the road to {town} is closed and the {thing} has to wait.
No two accounts of the {main} agree, except that it was {quality}.
{name} was {mood} when the letter came, and read it twice in {place}.
The cost of the {thing} doubled, so {person} learned to do without.
There is a {quality} kind of {idea} that only shows after {number} years.
Once a week {friend} would {act}, whether it was needed or not.
A stranger from {town} offered to buy the {main} and was refused.
Every {thing} in {place} has a number, a story and a crack.
To {act} is dull work, but {person} would not trust it to a machine.
It was {name} who noticed that the {thing} had been put in backwards.
The committee met {number} times and agreed on nothing except {idea}.
In the end they kept the {main}, sold the {thing}, and shook hands.
{manner}, and against all advice, {friend} set out to {act}.
The apprentices feared the {quality} {thing} more than the master.
Ask in {town} for the best {main} and you will be sent three ways.
{person} shrugged: {idea} comes late or not at all.
Much of what is written about the {thing} was copied from one bad source.
Snow lay on the roof of {place} when {name} opened the first crate.
Children followed the {thing} down the hill, shouting.
Nothing in the manual covers a {quality} {thing}.
{friend} had promised to {act} before the guests arrived, and forgot.
An inspector came from {town}, measured everything, and left no report.
Half of {idea} is knowing which corner to leave alone.
Somewhere under {place} runs a pipe that no plan shows.
The new {thing} hums; the old one used to sing.
"Never lend the {main}," {person} told me, "not even to your brother."
{number} letters of complaint reached the council that spring.
{name} sold a bicycle to pay for the {thing}.
We drank tea out of jars and listened to {person} talk about {idea}.
Dust, string, two coins and a {quality} {thing} fell out of the drawer.
{manner}, {friend} took the {thing} apart on the kitchen table.
Rain stopped play, but not the attempt to {act}.
Money ran short in {year}, and so did tempers.
A map of {town} printed that summer leaves {place} blank.
{person} measures {idea} in thumbs, never in inches.
Lightning struck {place} twice, which settled the insurance question.
One mistake with the {main} can be heard three streets away.
Local schoolbooks still carry a drawing of the {quality} {main}.
{time} the bus brings volunteers who would rather {act} than sleep.
If {idea} fails, begin again from the left.
{name} keeps the broken {thing} on a shelf as a warning.
The auction lasted nine minutes; the {thing} went to a bidder by telephone.
My grandmother called it luck, {person} calls it {idea}.
Spare parts arrive from {town} wrapped in newspaper.
Twice that week the alarm rang for no reason at all.
{friend} laughed: only a fool would {act} in such light.
Paint hides rot, and politeness hides a lack of {idea}.
Behind {place} grows a fig that nobody planted.
Apprentices sleep badly the night before they first {act}.
A {quality} {main} needs company, or so the saying goes.
Telegrams from {town} grew shorter as the work went on.
{name} refused the medal but kept the ribbon.
Over {number} winters the wood had turned the colour of honey.
Strictly speaking, the law forbids anyone to {act} on a Sunday.
What survives of the first {thing} fits inside a matchbox.
{person} whistled, which meant that {idea} was holding.
Neither the mayor nor {friend} remembers who ordered the {main}.
Under the lamp every {thing} looks {quality}.
A rumour about {idea} crossed {town} faster than the postman.
Lunch was bread, onions, and an argument over how to {act}.
The insurance paid for the roof but not for the {thing}.
{year} was a bad year for {idea} and a good one for gossip.
You hear the {main} long before you reach {place}.
Copper nails, {number} of them, hold the whole affair together.
{name} wrote to {friend} every month and enclosed a sketch.
Ten minutes of {idea} save a day of sweeping up.
Visiting engineers found the {quality} arrangement hard to believe.
The key to {place} hangs where burglars never look.
Winter visitors from {town} bring their own {thing}.
It smelled of varnish, wet dog and {idea}.
Later the same crew would {act} blindfolded for a bet.
Thieves took the silver and left the {main}.
{person} died in {year}; the chair in {place} has stayed empty.`

var (
	englishTimes = strings.Split("Before sunrise|On wet afternoons|Every other Thursday|In late October|After the holidays|During the strike|Towards evening|In the first warm week|Between two storms|At low season", "|")
	// Each page has its own few where a pattern says "the": else that word
	// alone would make all pages look alike.
	englishDeterminers = words("the his her our their its my your this that")

	englishManners = strings.Split("quietly|stubbornly|with great care|without asking|in some haste|patiently|half in jest|reluctantly", "|")
	englishMoods   = strings.Split("delighted|ashamed|relieved|furious|amused|uneasy|speechless|homesick", "|")
	englishFirst   = words("Marta Edwin Priya Tobias Ingrid Caleb Noor Felix Hanna Silas Odile Ruben Agatha Kwame Lena Dmitri Joan Ivo Selma Barnaby Greta Anselm Mirela Otis")
	englishLast    = words("Hallow Brandt Okafor Pell Lindqvist Marsh Quill Varga Thorne Abara Penrose Kessler Winslow Dray Moreno Catt Falk Redfern Osei Tull")
	englishTownA   = words("Black Stone Ash Marl Thorn Fen Wind East Long Har Kings Otter Salt Elm Crow Mill")
	englishTownB   = words("ford bridge wick mere haven combe holt stead minster by gate well")
	englishTitles  = strings.Split("The {main} of {town}|Notes on {idea}|How to {act}|{name} and the {thing}|A visit to {place}|Why {idea} still matters|What {person} taught me about the {thing}|{year}: the year of the {main}|Against the {quality} {thing}", "|")
)

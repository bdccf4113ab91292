"""The words that tell chrome from content: elements and roles, what authors call things, what short texts are made of.

Tables alone; how they are read is told in `measures` and `native`. The content model was trained on these groups and
flags in this order.
"""

# Elements and roles that say what they are. Bits 0..
ELEMENT_GROUPS = (
    "nav menu navigation menubar",
    "header banner",
    "footer contentinfo",
    "aside complementary",
    "form search dialog alertdialog",
    "main",
    "article",
    "section",
    "table grid",
    "ul ol list",
    "li listitem",
    "dl dd dt",
    "figure figcaption caption",
    "noscript",
    "blockquote",
    "details summary",
    "button tab option tablist legend",
    "p",
    "td th",
    "address",
)
# What authors call things: words of `class` and `id`.
WORD_GROUPS = (
    "nav navbar navigation menu submenu megamenu dropdown topbar topnav subnav sitenav mainmenu "
    "breadcrumb breadcrumbs crumb "
    "pagination pager skip toolbar",
    "footer foot colophon copyright bottom legal",
    "header masthead head banner top logo branding brand",
    "sidebar aside rail secondary widget sidenav left right side toc sticky",
    "comment disqus respond commentlist discussion",
    "share sharing social sharethis addthis facebook twitter linkedin whatsapp follow sharedaddy",
    "related recommend recommended recommendation recommendations similar suggested upsell crosssell "
    "trending popular latest "
    "recent also next prev previous recirc readmore",
    "ad advert advertisement sponsor sponsored promo promotion promoted outbrain taboola adsense",
    "cookie consent gdpr modal popup overlay dialog notice alert toast banner privacy",
    "newsletter subscribe signup subscription optin email form mailchimp login signin register account user",
    "meta byline author date time published postmeta timestamp info details tag category categories taxonomy label",
    "content article post entry body main text story prose richtext rte wysiwyg copy articlebody "
    "maincontent wrapper markdown "
    "longform",
    "title heading headline subtitle lead intro summary excerpt abstract hero teaser",
    "product price cart sku buy shop wishlist stock checkout variant quantity basket shipping delivery",
    "review rating star testimonial feedback quote",
    "description desc specification spec feature detail attribute about overview",
    "message reply thread topic forum postbody answer question bbcode cooked comment post",
    "hidden hide invisible sr only screen visually offscreen visuallyhidden noprint print",
    "list grid card item tile collection listing result gallery carousel slider slide swiper",
    "faq accordion tab panel toggle collapse expand collapsible",
    "search filter sort facet refine",
    "cta btn button action link",
    "caption image img media figure photo video",
    "code highlight pre syntax example snippet docs documentation doc reference api",
    "bio profile avatar contributor",
    "table row cell",
    "step process benefit service team client partner faq contact location hours",
)
HIDDEN_BIT = len(ELEMENT_GROUPS) + len(WORD_GROUPS)
BITS = HIDDEN_BIT + 1


def _bits(groups: tuple[str, ...], offset: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, group in enumerate(groups):
        for word in group.split():
            found[word] = found.get(word, 0) | 1 << (offset + number)
    return found


ELEMENT_BITS = _bits(ELEMENT_GROUPS, 0)
WORD_BITS = _bits(WORD_GROUPS, len(ELEMENT_GROUPS))
WORD_BITS |= {word + "s": bits for word, bits in WORD_BITS.items() if not word.endswith("s")}

# What short texts of chrome, of bylines and of controls are made of.
_CHROME_WORDS = (
    "cookie cookies subscribe sign login newsletter privacy terms copyright © rights reserved share tweet follow "
    "related recommended advertisement sponsored policy facebook twitter instagram linkedin youtube pinterest "
    "whatsapp email account register unsubscribe"
)
CHROME_WORDS = frozenset(_CHROME_WORDS.split())
_BYLINE_WORDS = (
    "by posted published updated ago min mins minutes comments comment reply replies views likes votes points "
    "joined posts edited author written tags category categories last modified reviewed jan feb mar apr may jun "
    "jul aug sep oct nov dec january february march april june july august september october november december"
)
BYLINE_WORDS = frozenset(_BYLINE_WORDS.split())
_CONTROL_WORDS = (
    "read more see view all show less load next previous prev back skip home menu search loading click learn shop "
    "now contact us get started add to cart buy wishlist sort filter close open toggle expand download print "
    "report edit select choose here quick"
)
CONTROL_WORDS = frozenset(_CONTROL_WORDS.split())

TERMS = {"chrome": CHROME_WORDS, "byline": BYLINE_WORDS, "control": CONTROL_WORDS}
"""What a short text is told by, by the name of its flag."""

FLAGS = {
    "heading": 1 << 0,
    "h1": 1 << 1,
    "li": 1 << 2,
    "sentence": 1 << 3,
    "image": 1 << 4,
    "repeated": 1 << 5,
    "upper": 1 << 6,
    "colon": 1 << 7,
    "marked": 1 << 8,
    "chrome": 1 << 9,
    "byline": 1 << 10,
    "control": 1 << 11,
    "digit": 1 << 12,
    "money": 1 << 13,
    "title": 1 << 14,
    "bar": 1 << 15,
}
"""What a text is like, as bits: columns of the model's input."""

"""Quirks of Wikipedia, in the Vector skins and on its mobile site.

The class names are from MediaWiki's core and from templates of all editions. Each edition has its own headings of
dropped sections: "literatura" lists books in one edition and is a chapter about a country in another.
"""

from dataclasses import replace
from itertools import permutations

from streams.pages.quirks import Quirk

_APPARATUS = (
    "notes", "footnotes", "endnotes", "citations", "references", "sources", "bibliography", "further reading",
    "external links", "see also", "works cited",
)  # fmt: skip
"""English headings of sections below an article. They also occur in pairs."""
_ENGLISH_SECTIONS = (
    *_APPARATUS,
    *(f"{one} and {other}" for one, other in permutations(_APPARATUS, 2)),
    "explanatory notes", "explanatory footnotes", "explanatory notes and citations", "informational notes",
    "inline citations", "general references", "general and cited references", "general sources",
    "general and cited sources", "general bibliography", "cited sources", "cited works", "cited references",
    "references cited", "literature cited", "additional reading", "external link", "notes, references, and sources",
    "related pages", "other websites", "more reading",  # in simple English
)  # fmt: skip
_SECTIONS = {
    "de": (
        "siehe auch", "literatur", "weblinks", "weblink", "einzelnachweise", "einzelnachweis", "anmerkungen",
        "anmerkungen und einzelnachweise", "einzelnachweise und anmerkungen", "quellen", "fußnoten", "belege",
        "nachweise", "literatur und quellen", "quellen und literatur", "weiterführende literatur",
        "weblinks und literatur", "literatur und weblinks", "quellen und einzelnachweise",
    ),
    "fr": (
        "voir aussi", "articles connexes", "article connexe", "liens externes", "lien externe", "liens internes",
        "notes et références", "références", "notes", "bibliographie", "annexes", "pour approfondir",
        "sources et bibliographie", "bibliographie et sources", "références et notes", "sources",
    ),
    "es": (
        "véase también", "referencias", "notas", "notas y referencias", "referencias y notas", "bibliografía",
        "enlaces externos", "fuentes", "lecturas adicionales", "lectura adicional", "otras lecturas",
        "lecturas recomendadas", "bibliografía adicional", "notas al pie",
    ),
    "it": (
        "note", "bibliografia", "voci correlate", "altri progetti", "collegamenti esterni", "fonti", "riferimenti",
        "annotazioni", "note esplicative", "note bibliografiche",
    ),
    "pt": (
        "ver também", "veja também", "referências", "notas", "notas e referências", "referências e notas",
        "bibliografia", "ligações externas", "links externos", "fontes", "leitura adicional", "leituras adicionais",
        "leitura complementar", "referências bibliográficas", "notas de rodapé",
    ),
    "nl": (
        "zie ook", "externe links", "externe link", "externe koppelingen", "bronnen", "bron", "bronvermelding",
        "bronnen en referenties", "bronnen, noten en/of referenties", "bronnen, noten en referenties", "referenties",
        "noten", "voetnoten", "literatuur", "verder lezen",
    ),
    "ja": (
        "関連項目", "外部リンク", "脚注", "注釈", "出典", "参考文献", "注釈・出典", "脚注・出典", "出典・脚注",
        "関連文献", "参考資料", "関連書籍", "関連図書",
    ),
    "zh": (
        "参见", "參見", "参看", "參看", "参阅", "參閱", "参考文献", "參考文獻", "参考资料", "參考資料", "参考来源",
        "參考來源", "外部链接", "外部連結", "外部鏈接", "注释", "註釋", "注解", "註解", "脚注", "腳註", "来源", "來源",
        "延伸阅读", "延伸閱讀", "扩展阅读", "擴展閱讀", "相关条目", "相關條目", "注释与参考文献", "註釋與參考文獻",
    ),
    "ru": (
        "см. также", "примечания", "литература", "ссылки", "источники", "комментарии", "сноски", "библиография",
        "примечания и источники", "источники и литература", "литература и источники", "использованная литература",
    ),
    "pl": (
        "zobacz też", "zobacz także", "przypisy", "uwagi", "bibliografia", "linki zewnętrzne", "źródła", "literatura",
        "literatura uzupełniająca", "uwagi i przypisy", "przypisy i uwagi",
    ),
}  # fmt: skip

_ENGLISH = Quirk(
    hosts=("en.wikipedia.org", "simple.wikipedia.org", "*.wikipedia.org", "*.m.wikipedia.org"),
    content="main#content, #content",
    drop=(
        # Around the article: subtitle, notices, jump links, languages, tools, contents, categories, print footer.
        "#siteSub, #contentSub, #contentSub2, #jump-to-nav, .mw-jump-link, #siteNotice, .mw-indicators, "
        ".vector-page-toolbar",
        "#p-lang-btn, .vector-page-titlebar-toc, .vector-toc, #toc, .toc, .catlinks, .printfooter, "
        ".mw-footer, #mw-navigation, .page-actions-menu, .minerva__tab-container, .tagline",
        ".vector-body-before-content, .mw-authority-control, .authority-control, .shortdescription, "
        ".mw-hidden-catlinks",
        # Hatnotes, maintenance boxes, sister projects, portals, navigation.
        ".hatnote, .dablink, .rellink, .ambox, .ombox, .tmbox, .metadata, .noprint, .navbox, .navbox-styles, "
        ".vertical-navbox",
        ".sidebar, .sistersitebox, .side-box, .portalbox, .portal-bar, .succession-box, .stub, .asbox, .nomobile",
        # References and their marks, edit links, coordinates.
        "sup.reference, sup.noprint, .mw-cite-backlink, .reflist, .references, .refbegin, "
        ".mw-references-wrap, .mw-editsection",
        ".vector-column-end, .vector-pinnable-element, .vector-dropdown, #vector-appearance",
        # Elements with a role or class of navigation, in all editions, and the portals of the French edition.
        ".mw-parser-output [role=navigation], .mw-parser-output [role=note], .navigation-not-searchable, "
        ".navbox-container, .bandeau-portail",
        "#coordinates, .geo-nondefault, .Inline-Template, .mw-empty-elt",
        # Pictures beside the text, and pictures of formulas that have their source beside them.
        '.thumb, figure[typeof~="mw:File/Thumb"], figure[typeof~="mw:File/Frame"], .gallery',
        ".mwe-math-fallback-image-inline, .mwe-math-fallback-image-display, .mw-kartographer-container, .locmap",
    ),
    drop_sections=_ENGLISH_SECTIONS,
    title_endings=(
        " - Simple English Wikipedia, the free encyclopedia",
        " - Wikipedia, la enciclopedia libre",
        " – Wikipédia, a enciclopédia livre",
        " – Wikipedia, wolna encyklopedia",
        " - 维基百科，自由的百科全书",
        " - 維基百科，自由的百科全書",
        " — Википедия",
        " - Wikipedia",
        " — Wikipédia",
        " – Wikipedia",
    ),
)
QUIRKS = (
    _ENGLISH,
    *(
        replace(_ENGLISH, hosts=(f"{edition}.wikipedia.org", f"{edition}.m.wikipedia.org"), drop_sections=headings)
        for edition, headings in _SECTIONS.items()
    ),
)

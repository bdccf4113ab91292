"""Wikipedia, in the Vector skins. Class names are those of MediaWiki's core and of templates that all editions
share."""

from streams.pages.quirks.form import Quirk

QUIRK = Quirk(
    hosts=("en.wikipedia.org", "simple.wikipedia.org", "*.wikipedia.org", "*.m.wikipedia.org"),
    content="main#content, #content",
    drop=(
        # Around the article: subtitle, notices, jump links, languages, tools, contents, categories, print footer.
        "#siteSub, #contentSub, #contentSub2, #jump-to-nav, .mw-jump-link, #siteNotice, .mw-indicators, "
        ".vector-page-toolbar",
        "#p-lang-btn, .vector-page-titlebar-toc, .vector-toc, #toc, .toc, .catlinks, .printfooter, "
        ".mw-footer, #mw-navigation",
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
        "#coordinates, .geo-nondefault, .Inline-Template, .mw-empty-elt",
        # Pictures beside the text, and pictures of formulas, whose source stands beside them.
        '.thumb, figure[typeof~="mw:File/Thumb"], figure[typeof~="mw:File/Frame"], .gallery',
        ".mwe-math-fallback-image-inline, .mwe-math-fallback-image-display, .mw-kartographer-container, .locmap",
    ),
    drop_sections=(
        "see also",
        "references",
        "notes",
        "footnotes",
        "citations",
        "notes and references",
        "references and notes",
        "bibliography",
        "sources",
        "works cited",
        "further reading",
        "external links",
    ),
    title_endings=(
        " - Wikipedia",
        " - Simple English Wikipedia, the free encyclopedia",
        " — Wikipédia",
        " – Wikipedia",
    ),
)

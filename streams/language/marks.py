"""Marks around sentences in all scripts: what ends one, and what may stand behind its end or before its beginning.

The constants are the insides of character classes of regular expressions. Their members are from Unicode: the property
Sentence_Terminal (PropList.txt), and the categories of punctuation Ps, Pe, Pi and Pf.
"""

import re

SPACED_MARKS = (
    r"!.?…჻։\u061d-\u061f۔\u0700-\u0702߹\u0837\u0839\u083d\u083e।॥၊။።፧፨᙮᜵᜶។៕᠃᠉᥄᥅\u1aa8-\u1aab\u1b4e\u1b4f\u1b5a\u1b5b\u1b5e\u1b5f"
    r"\u1b7d-\u1b7f᰻᰼᱾᱿\u2024‼‽⁇-⁉\u2cf9-\u2cfb⸮⸼⹓⹔\u2e60\u2e61꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧈꧉꩝-꩟꫰꫱꯫﹒﹖﹗．"
)
"""Marks that end a sentence, with white space before the next one. The ellipsis and the mark of Georgian paragraphs are
no members of the property. Marks above U+FFFF (of Brahmi, Chakma, ...) are left out: with them, each search in a text
takes three times as long."""
WIDE_MARKS = "。！？｡︒︕︖"
"""Marks that end a sentence without white space behind them: of Chinese and Japanese."""
MARKS = SPACED_MARKS + WIDE_MARKS
CLOSERS = (
    r"\"')\]}༻༽᚜⁆⁾₎⌉⌋\u232a❩❫❭❯❱❳❵⟆⟧⟩⟫⟭⟯⦄⦆⦈⦊⦌⦎⦐⦒⦔⦖⦘⧙⧛⧽⸣⸥⸧⸩⹖⹘⹚⹜〉》」』】〕〗〙〛〞〟﴾︘︶︸︺︼︾﹀﹂﹄﹈﹚﹜﹞）］｝｠｣"
    r"»’”›⸃⸅⸊⸍⸝⸡"
)
"""Closing brackets (Pe) and quotation marks (Pf), and the straight quotation marks."""
OPENERS = (
    r"\"'(\[{༺༼᚛‚„⁅⁽₍⌈⌊\u2329❨❪❬❮❰❲❴⟅⟦⟨⟪⟬⟮⦃⦅⦇⦉⦋⦍⦏⦑⦓⦕⦗⧘⧚⧼⸢⸤⸦⸨⹂⹕⹗⹙⹛〈《「『【〔〖〘〚〝﴿︗︵︷︹︻︽︿﹁﹃﹇﹙﹛﹝（［｛｟｢"
    r"«‘‛“‟‹⸂⸄⸉⸌⸜⸠¿¡"
)
"""Opening brackets (Ps) and quotation marks (Pi), the straight quotation marks, and the marks of Spanish sentences."""
CLOSING = rf"(?:[{CLOSERS}]|[“‘«‹](?!\w)|[ \xa0\u202f][»›](?!\w))"
"""A closing mark. German closes with `“` and `«`, with which English and French open; French has a space before `»`."""
QUESTION_MARKS = ("?", "？", "؟", "‽", "⁇", "⁈", "⁉", "፧", "⸮", "꘏", "꛷", "︖", "﹖")
EXCLAMATION_MARKS = ("!", "！", "︕", "﹗", "‼")
WIDE_COLONS = "：︓﹕"
"""Colons without white space behind them: of Chinese and Japanese."""
CLAUSE_MARKS, WIDE_CLAUSE_MARKS = ",;:?!،؛؟", "，；：、？！"
"""Marks between the clauses of a question, with white space behind them and without."""
TRAINED_ENDS = (".", "!", "?", "。", "！", "？", '."', ".”", "…")
"""The ends of sentences that the content model was trained with. With all marks it misses more of the made spam."""

_MAX_END_CHARS = 8
"""Maximum length of an end mark with the closing marks behind it (characters)."""
_END = re.compile(rf"[{MARKS}]{CLOSING}{{0,3}}\Z")
_CLOSED = re.compile(rf"[{MARKS}:{WIDE_COLONS}]{CLOSING}{{0,3}}\Z")


def ends_sentence(text: str) -> bool:
    """Return whether a text ends with the mark of a sentence's end. Quotation marks and brackets may close it."""
    return _END.search(text.rstrip()[-_MAX_END_CHARS:]) is not None


def is_closed(text: str) -> bool:
    """Return whether a text ends with the mark of a sentence's end, or with a colon as lead-ins do."""
    return _CLOSED.search(text.rstrip()[-_MAX_END_CHARS:]) is not None


def asks(text: str) -> bool:
    """Return whether a text ends with a question mark."""
    return text.rstrip().endswith(QUESTION_MARKS)

"""Words by language that bind a clause to the one beside it: without the clause with such a word, the other one would
say something else.

    negations      "It is not so: ..."
    conditions     "..., unless it rains", "if it rains, ...", "only", "until"
    contrasts      "..., but not in summer"
    frames         "..., he said", "according to Bob, ...": who says or supposes it, and that it is false

In a language without a table, every clause binds.
"""

import re
from itertools import pairwise

_TEXTS = {
    "en": "not no never none nobody nothing nor neither without cannot hardly if unless except until only whether "
    "provided otherwise but however though although while whereas instead rather said says say claimed claims "
    "claim believed believes denied denies wrote argued according alleged allegedly reportedly supposedly "
    "rumoured rumored false untrue myth hoax wrong lie fake joke satire hypothetical suppose imagine",
    "de": "nicht kein keine keinen keinem keiner keines nie niemals niemand nichts weder noch ohne kaum wenn falls "
    "sofern außer bis nur ob sonst aber jedoch doch sondern obwohl während hingegen stattdessen sagte sagt "
    "sagen behauptet behauptete glaubt glaubte leugnet schrieb schreibt laut zufolge angeblich vermeintlich "
    "mutmaßlich falsch unwahr gerücht lüge scherz satire gefälscht angenommen",
    "fr": "ne n pas jamais aucun aucune personne rien ni sans non si sauf excepté hormis jusqu seulement que sinon "
    "mais cependant toutefois pourtant bien tandis alors dit disait affirme affirmé prétend croit nie nié "
    "écrit selon supposé prétendu prétendument faux fausse mythe canular mensonge blague satire",
    "es": "no nunca jamás ningún ninguna ninguno nadie nada ni sin apenas si salvo excepto menos hasta solo sólo "
    "únicamente pero sino aunque mientras embargo dijo dice afirma afirmó cree niega negó escribió según "
    "supuesto supuestamente presunto falso falsa mito bulo mentira broma sátira",
    "pt": "não nunca jamais nenhum nenhuma ninguém nada nem sem mal se salvo exceto até só somente apenas mas porém "
    "contudo embora enquanto todavia disse diz afirma afirmou acredita nega negou escreveu segundo suposto "
    "supostamente falso falsa mito boato mentira piada sátira",
    "it": "non mai nessun nessuna nessuno niente nulla né senza appena se salvo tranne eccetto fino finché solo "
    "soltanto ma però tuttavia sebbene mentre invece disse dice afferma sostiene crede nega scrisse secondo "
    "presunto presumibilmente falso falsa mito bufala bugia scherzo satira",
    "nl": "niet geen nooit niemand niets noch zonder nauwelijks als indien mits tenzij behalve tot alleen slechts "
    "of maar echter hoewel terwijl daarentegen zei zegt beweert beweerde gelooft ontkent schreef volgens "
    "vermeend zogenaamd vermoedelijk onwaar vals mythe hoax leugen grap satire",
    "pl": "nie nigdy żaden żadna żadne nikt nic ani bez ledwo jeśli jeżeli gdyby chyba oprócz dopóki aż tylko czy "
    "ale jednak lecz choć chociaż natomiast powiedział powiedziała mówi twierdzi twierdził wierzy zaprzecza "
    "napisał według podobno rzekomo rzekomy fałszywy fałsz nieprawda mit kłamstwo żart satyra",
    "ru": "не нет ни никогда никто ничто ничего без вряд едва если кроме пока только лишь ли иначе но однако хотя "
    "зато сказал сказала говорит утверждает утверждал считает отрицает писал пишет согласно якобы "
    "предположительно ложь ложный неверно миф слух шутка сатира",
    "zh": "不 没 沒 未 无 無 非 别 別 勿 莫 否 如果 若 假如 要是 除 只 仅 僅 才 直到 但 "
    "却 卻 然而 虽 雖 尽管 儘管 说 說 称 稱 认为 認為 据 據 声称 聲稱 谣 謠 假 错 錯 "
    "谎 謊 玩笑 讽刺",
    "ja": "ない なかっ なけれ ません ぬ ず 無 不 非 未 もし なら れば たら 場合 限り 除 だけ "
    "のみ しか まで ただし 但し しかし だが けれど が、 ものの と言 と述べ と主張 という "
    "によると によれば とされ 否定 嘘 偽 誤 冗談 風刺",
}
_UNSPACED = frozenset({"zh", "ja"})
"""Languages whose words stand without spaces between them: a word binds wherever its letters are."""
_WORDS = {label: frozenset(text.split()) for label, text in _TEXTS.items()}
_WORD = re.compile(r"[^\W\d_]+")


def binds(part: str, language: str) -> bool:
    """Return whether a part of a statement changes what the rest of it says. `language`: an ISO 639 code, or empty."""
    words = _WORDS.get(language.partition("-")[0])
    if words is None:
        return True
    folded = part.casefold()
    if language in _UNSPACED:
        return any(word in folded for word in words)
    found = _WORD.findall(folded)
    return not words.isdisjoint(found) or (language == "en" and _has_contraction(found))


def _has_contraction(words: list[str]) -> bool:
    """Return whether an English text has `isn't` or `won't`, whose letters behind the apostrophe are a word here."""
    return any(after == "t" and before.endswith("n") for before, after in pairwise(words))

"""Letters and function words that distinguish languages of the same script, for texts too short for statistics.

A Latin alphabet is given by its letters beyond a-z, any other alphabet completely: CLDR's main and usual auxiliary
exemplar characters. The words are frequent function words that closely related languages don't have. For a language
that isn't listed, only the model decides.
"""

from streams.language.questions import QUESTION_WORDS

_RUSSIAN = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"
_PERSIAN = "ءآأؤئابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهی"

ALPHABETS: dict[str, frozenset[str]] = {
    label: frozenset(letters)
    for label, letters in {
        "af": "áäéèêëíîïóôöúûü", "az": "çəğıöşü", "bs": "čćđšž", "ca": "àçèéíïòóúüŀ", "cs": "áčďéěíňóřšťúůýž",
        "cy": "àáâäéèêëìíîïòóôöùúûüŵẁẃẅŷỳýÿ", "da": "æøåé", "de": "äöüß", "dsb": "čćěłńóŕšśžź", "en": "éïèêôö",
        "eo": "ĉĝĥĵŝŭ", "es": "áéíñóúü", "et": "äõöüšž", "eu": "çñü", "fi": "äöåšž", "fr": "àâæçéèêëîïôœùûüÿ",
        "ga": "áéíóú", "gd": "àèìòù", "gl": "áéíïñóúü", "hr": "čćđšž", "hsb": "čćěłńóřšžź", "ht": "àèò",
        "hu": "áéíóöőúüű", "id": "é", "is": "áæéíðóöúýþ", "it": "àèéìíîòóùú", "ku": "çêîşû", "la": "æœ",
        "lb": "äéëöü", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž", "ms": "é", "mt": "ċġħżàèìòù", "nl": "áéèëêïíóöúü",
        "nn": "æøåéòó", "no": "æøåéòó", "oc": "àáçèéíïòóúü", "pl": "ąćęłńóśźż", "pt": "ãáàâçéêíóôõúü",
        "ro": "ăâîșțşţ", "sh": "čćđšž", "sk": "áäčďéíĺľňóôŕšťúýž", "sl": "čšž", "sq": "çë", "sv": "åäöé", "sw": "",
        "tl": "ñ", "tr": "çğıöşüâîû", "vi": "àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
        "yo": "àáèéẹìíòóọṣùúńǹ", "ru": _RUSSIAN, "uk": "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",
        "be": "абвгдеёжзійклмнопрстуўфхцчшыьэюя", "bg": "абвгдежзийклмнопрстуфхцчшщъьюя",
        "sr": "абвгдђежзијклљмнњопрстћуфхцчџшčćđšž", "mk": "абвгдѓежзѕијклљмнњопрстќуфхцчџшѐѝ",
        "kk": _RUSSIAN + "әғқңөұүһі", "ky": _RUSSIAN + "ңөү", "mn": _RUSSIAN + "өү",
        "tg": "абвгғдежзийкқлмнопрстуфхҳчҷшъэюяёӣӯ", "tt": _RUSSIAN + "әҗңөүһ", "ba": _RUSSIAN + "әғҙҡңөүһҫ",
        "cv": _RUSSIAN + "ӑӗҫӳ", "ar": "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهويى", "fa": _PERSIAN,
        "ur": _PERSIAN + "ٹڈڑںھہۂۓے", "ps": _PERSIAN + "ټډړږښګڼېۍيك", "ckb": "ئابپتجچحخدرڕزژسشعغفڤقکگلڵمنهوۆەیێ",
        "ug": "ئابپتجچخدرزژسشغفقكگڭلمنھەوۇۆۈۋېىي",
    }.items()
}  # fmt: skip

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    label: frozenset(text.split())
    for label, text in {
        "af": "'n nie wat vir hulle 'n", "bg": "на от се са е във със", "bs": "je sam koji koje i iz sa",
        "cs": "je jsou že který která které nebo při ze ve jako", "da": "af nogle hvad ikke til efter",
        "de": "der die das und ist ein eine von im", "en": "the of and is was that with",
        "es": "el los las una y del es con en", "et": "ja on ei see mis", "eu": "da eta bat dago du",
        "fr": "le les des une est du dans et", "ga": "agus an na ar tá sa",
        "gl": "unha do da dos das na no é e nas nos coa polo", "hi": "है हैं का की के में और से था थी",
        "hr": "je koji koja koje i iz s kao što", "id": "adalah bahwa karena bisa dari di yang",
        "it": "il gli una della del è di che nel", "mr": "आहे आहेत आणि होते मध्ये एक",
        "ms": "ialah kerana boleh iaitu daripada di yang", "mt": "il ta' li u fil tal hija huwa",
        "ne": "हो छ छन् र को मा थियो थिए भएको एक", "nl": "de het een van en is in op",
        "nn": "ikkje eit ein frå eg kva dei av og er", "no": "ikke et en fra av og er til",
        "pt": "o os uma do da dos das na no é e não um em", "ro": "și şi din este o în de la cu", "sa": "अस्ति च एव सः",
        "sk": "je sú že ktorý ktorá ktoré alebo pri zo vo ako sa", "sl": "je in ki na v so kot se iz",
        "sq": "është në dhe i e një për me", "sr": "је у и на се који која je koji i iz",
        "sv": "och är av ett en som det", "tr": "bir ve bu için",
    }.items()
}  # fmt: skip

_MORE_ENGLISH = """
    this are from by it have you your will can their not has they these our more about been would there into also
"""
PLAIN_WORDS = {**FUNCTION_WORDS, "en": FUNCTION_WORDS["en"] | QUESTION_WORDS.union(_MORE_ENGLISH.split())}
"""Function words by language, with more words for English. A text with several of them needs no model."""

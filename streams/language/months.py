"""Names of months and days, and dates in English words.

The table is no copy of CLDR's: people write `jänner`, `setiembre` and `sept`, and CLDR has one form of each.
"""

import re
import unicodedata
from functools import lru_cache

MONTH_NAMES = {
    "en": "jan|january feb|february mar|march apr|april may jun|june jul|july aug|august sep|sept|september "
    "oct|october nov|november dec|december",
    "de": "januar|jänner|jän februar|feber märz|maerz|mrz april mai juni juli august september oktober|okt november "
    "dezember|dez",
    "fr": "janvier|janv février|févr|fév mars avril|avr mai juin juillet|juil août septembre octobre novembre "
    "décembre|déc",
    "es": "enero|ene febrero marzo abril|abr mayo junio julio agosto|ago septiembre|setiembre octubre noviembre "
    "diciembre|dic",
    "it": "gennaio|gen febbraio marzo aprile maggio|mag giugno|giu luglio|lug agosto settembre|set ottobre|ott "
    "novembre dicembre",
    "pt": "janeiro fevereiro|fev março abril maio junho julho agosto setembro outubro|out novembro dezembro",
    "nl": "januari februari maart|mrt april mei juni juli augustus september oktober november december",
    "da nb sv": "januar|januari februar|februari marts|mars april maj|mai juni juli august|augusti september oktober "
    "november december|desember|des",
    "fi": "tammikuu|tammikuuta helmikuu|helmikuuta maaliskuu|maaliskuuta huhtikuu|huhtikuuta toukokuu|toukokuuta "
    "kesäkuu|kesäkuuta heinäkuu|heinäkuuta elokuu|elokuuta syyskuu|syyskuuta lokakuu|lokakuuta marraskuu|marraskuuta "
    "joulukuu|joulukuuta",
    "pl": "stycznia|styczeń|sty lutego|luty|lut marca|marzec kwietnia|kwiecień|kwi maja|maj czerwca|czerwiec|cze "
    "lipca|lipiec|lip sierpnia|sierpień|sie września|wrzesień|wrz października|październik|paź listopada|listopad|lis "
    "grudnia|grudzień|gru",
    "cs": "ledna|leden února|únor března|březen dubna|duben května|květen června|červen července|červenec "
    "srpna|srpen září října|říjen listopadu|listopad prosince|prosinec",
    "hu": "január február|febr március|márc április|ápr május|máj június|jún július|júl augusztus szeptember|szept "
    "október november december",
    "ro": "ianuarie|ian februarie martie aprilie mai iunie|iun iulie|iul august septembrie octombrie noiembrie|noi "
    "decembrie",
    "tr": "ocak|oca şubat|şub mart nisan|nis mayıs haziran|haz temmuz|tem ağustos|ağu eylül|eyl ekim|eki kasım|kas "
    "aralık|ara",
    "id": "januari februari|pebruari maret april mei juni juli agustus|agu|agt september oktober november|nopember "
    "desember",
    "el": "ιανουαρίου|ιανουάριος|ιαν φεβρουαρίου|φεβρουάριος|φεβ μαρτίου|μάρτιος|μαρ απριλίου|απρίλιος|απρ "
    "μαΐου|μάιος|μάι ιουνίου|ιούνιος|ιουν ιουλίου|ιούλιος|ιουλ αυγούστου|αύγουστος|αυγ "
    "σεπτεμβρίου|σεπτέμβριος|σεπ|σεπτ οκτωβρίου|οκτώβριος|οκτ νοεμβρίου|νοέμβριος|νοε δεκεμβρίου|δεκέμβριος|δεκ",
    "ru": "января|январь|янв февраля|февраль|фев|февр марта|март|мар апреля|апрель|апр мая|май июня|июнь|июн "
    "июля|июль|июл августа|август|авг сентября|сентябрь|сен|сент октября|октябрь|окт ноября|ноябрь|ноя|нояб "
    "декабря|декабрь|дек",
    "uk": "січня|січень|січ лютого|лютий|лют березня|березень|бер квітня|квітень|квіт травня|травень|трав "
    "червня|червень|черв липня|липень|лип серпня|серпень|серп вересня|вересень|вер жовтня|жовтень|жовт "
    "листопада|листопад|лист грудня|грудень|груд",
    "ar": "يناير|جانفي فبراير|فيفري|شباط مارس|آذار أبريل|أفريل|نيسان مايو|ماي|أيار يونيو|يونيه|جوان|حزيران "
    "يوليو|يوليوز|جويلية|تموز أغسطس|غشت|أوت|آب سبتمبر|شتنبر|أيلول أكتوبر نوفمبر|نونبر ديسمبر|دجنبر",
    "he": "ינואר|בינואר פברואר|בפברואר מרץ|במרץ|מרס|במרס אפריל|באפריל מאי|במאי יוני|ביוני יולי|ביולי אוגוסט|באוגוסט "
    "ספטמבר|בספטמבר אוקטובר|באוקטובר נובמבר|בנובמבר דצמבר|בדצמבר",
    "hi": "जनवरी फरवरी|फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर|सितम्बर अक्टूबर|अक्तूबर नवंबर|नवम्बर दिसंबर|दिसम्बर",
    "th": "มกราคม|มค กุมภาพันธ์|กพ มีนาคม|มีค เมษายน|เมย พฤษภาคม|พค มิถุนายน|มิย กรกฎาคม|กค สิงหาคม|สค กันยายน|กย "
    "ตุลาคม|ตค พฤศจิกายน|พย ธันวาคม|ธค",
}
"""Names of the months by language, from January to December. Abbreviations have no dots."""
_MARKS = re.compile("[\u0300-\u036f\u0653-\u0655.\u0131]")


def fold_name(name: str) -> str:
    """Remove capitals, accents and dots, since people leave them out. Marks that are letters (Thai) stay."""
    folded = unicodedata.normalize("NFKD", name.casefold())
    return _MARKS.sub(lambda mark: "i" if mark[0] == "\u0131" else "", folded)


def _numbers_of(names: str) -> dict[str, int]:
    """Return the number of each name of a month, folded."""
    return {fold_name(name): number for number, same in enumerate(names.split(), start=1) for name in same.split("|")}


MONTHS = {name: number for names in MONTH_NAMES.values() for name, number in _numbers_of(names).items()}
"""The number of each month by its folded names in all languages."""
ENGLISH_MONTHS = _numbers_of(MONTH_NAMES["en"])
"""The number of each month by its English names, and the short forms of these."""
MONTHS_IN_ENGLISH = tuple(same.split("|")[-1].capitalize() for same in MONTH_NAMES["en"].split())
_DAYS = "mon|monday tue|tuesday wed|wednesday thu|thursday fri|friday sat|saturday sun|sunday"
SHORT_MONTHS, SHORT_DAYS = (tuple(same.split("|")[0] for same in names.split()) for names in (MONTH_NAMES["en"], _DAYS))
"""The short forms of English names, with which the long forms begin."""
CALENDAR_WORDS = frozenset(ENGLISH_MONTHS) | frozenset(re.split(r"[| ]", _DAYS))
"""The English names of months and days, and their short forms."""


def date_words(year: int, month: int = 0, day: int = 0) -> str:
    """Return `2 January 1990`, `January 1990` or `1990`: a part that is 0 is not known."""
    known = (str(day) if day else "", MONTHS_IN_ENGLISH[month - 1] if month else "", str(year))
    return " ".join(filter(None, known))


@lru_cache(maxsize=256)
def is_day_first(language: str) -> bool:
    """Return whether a date in numbers has the day before the month, by the short date of a language (BCP 47) in CLDR.

    `05/04/2024` is in April for `en-GB` and `fr`, and in May for `en` and languages that are not known.
    """
    from babel import Locale, UnknownLocaleError

    for tag in (language, language.partition("-")[0]):
        try:
            pattern = Locale.parse(tag, sep="-").date_formats["short"].pattern
        except (UnknownLocaleError, ValueError, TypeError):
            continue
        return bool(pattern.find("d") < pattern.find("M"))
    return False

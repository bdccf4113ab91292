"""Abbreviations with a full stop that stand before another word of their sentence, by language.

The full stop behind another word ends a sentence. In a language without a table only longer words are sure, and the
abbreviations of all tables are none of them.
"""

from streams.language.months import SHORT_DAYS, SHORT_MONTHS

_TEXTS = {
    "en": "mr mrs ms dr prof st vs etc no vol pp fig figs eq eqs sec ch cf al ca approx inc ltd co corp jr sr rev gen "
    "col lt sgt capt gov sen rep hon dept univ est ed eds trans repr min max resp incl excl ext tel ave blvd rd e.g "
    "i.e a.m p.m u.s u.k d.c ph.d",
    "de": "abb abs abt allg anm art aufl bd bde bes bsp bspw bzgl bzw ca chr co dr ebd ed engl etc evtl exkl fig frz "
    "geb gem gest ggf hg hl hr hrsg ing inkl insb int jh jr kap lat lt max min mio mrd nr od op orig prof rd resp sog "
    "st std str tel tsd usw verl vgl vol zzgl",
    "fr": "al apr art av bd bibl boul cf chap dr éd env etc ex fig hab inc inv jr max min mlle mm mme mr no op p.ex "
    "pl pp prof resp sr st ste suiv tél vol vs",
    "es": "admón aprox apt art av avda cap cía dcho dir dña dpto dr dra ed ej etc fdo fig gob izq lic máx mín núm pág "
    "págs pp prof pról rev sr sra sres srta sta sto tel ud uds vol",
    "pt": "apto art av cap cia dr dra ed end esq etc ex exmo fig gen jr ltda máx mín nº núm pág págs pp prof profa "
    "séc sr sra srta sto tel trad tv vol",
    "it": "all art avv cap cfr co dott dr ecc ed es fig gen geom ing max min mons nr on op pag pagg pp prof prov rag "
    "seg segg sig sigg sr ss st tab tel trad vol",
    "nl": "afb afd art blz bv ca dhr dr drs ed enz evt fig geb gem hfst incl ing ir jl jr max mevr min mr nl nr ong "
    "pag prof resp sr st str tel vgl vnl vol zgn",
    "pl": "al art bp cd doc dr dyr gen godz hab im in inż itd itp kpt ks lek lic min mjr mgr nn np nr os par pkt pl "
    "płk por poz prof prok prz pw red rozdz ryc rys sp śp św tab tel tj tys tzn tzw ub ul vol wg woj woł wyd zob zw",
    "ru": "акад ал англ бул вв вып гг гл гос гр губ доц др ед им ин инж ит кв коп корп лат лит мин млн млрд нем обл "
    "оз ок пл пер пос пр проф р-н рис руб сб св см соч ср ст стр т.е табл тел тыс ул фр экз",
    "uk": "акад англ бул вид вул гл гр гр-н див доц др ім ін інж кв коп лат мин млн млрд напр нар наук обл оз пл пор "
    "пос пров проф рис рр св см ст стор с.-г т.зв табл тел тис тов укр ул",
    "cs": "akad apod arch atd atp cca čes čj čís čl doc dr fr hl ing kap kpt lat max mgr min mil mld např nám něm odd "
    "odst os pí pol popř pozn př příp prof red resp roč sb sl soud st str sv tab tel tj tzn tzv ul vyd zák zn",
    "sv": "art avd bl ca dr dvs el enl etc ev exkl f.d fig fl forts inkl jfr jr kap kl kr m.fl max min mm nr obs osv "
    "pga prof red resp sid sk st str tel tfn tr ung vol",
    "tr": "alm apt av bkz bul bşk cad cd çev der doç dr ed fr gen haz hz ing ist kat mah md mim no nu öğr ord ör örn "
    "prof sk sn sok st şti tel yay yy yzb",
}
ABBREVIATIONS = {label: frozenset(text.split()) for label, text in _TEXTS.items()}
ABBREVIATIONS["en"] = (ABBREVIATIONS["en"] | {*SHORT_MONTHS, *SHORT_DAYS, "sept"}) - {"may"}
ALL_ABBREVIATIONS = frozenset().union(*ABBREVIATIONS.values())
"""The abbreviations of all languages, for a text whose language has no table."""

"""Function words by language: articles, pronouns, prepositions, conjunctions, auxiliary verbs and question words.

They are in nearly every statement, so a query is searched without them. A language without a table keeps all its words:
the index knows by itself how rare each one is. Words are written as the index folds them.
"""

import re
from collections import Counter
from collections.abc import Sequence

from streams.language.questions import QUESTION_WORDS

_TEXTS = {
    "en": "a about again all also am an and any are as at be because been being both but by can could did do does "
    "each for from had has have he her here his i if in into is it its just me more most my no nor not now of on once "
    "only or other our own same she should so some such than that the their them then there these they this those to "
    "too until very was we were while will with would you your",
    "de": "aber alle als also am an auch auf aus bei bin bis da damit dann das dass dem den denn der des die dies "
    "diese dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas für gibt hat hatte hatten "
    "ich ihr ihre im in ist ja kann kein keine können man mein mich mir mit muss müssen nach nicht noch nur ob oder "
    "ohne sein seine sich sie sind so soll über um und uns unter vom von vor wann war waren warum was welche welchem "
    "welchen welcher welches wem wen wenn wer werden wessen wie wieso wird wo wodurch woher wohin womit wurde wurden "
    "zu zum zur",
    "fr": "a au aux avec c ce ces cet cette ceux comme comment combien d dans de des du elle elles en entre est et "
    "était étaient être eu fait il ils j je l la le les leur leurs lors lorsque lui m ma mais mes mon même n ne nos "
    "notre nous on ont ou où par pas peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa "
    "sans se ses si son sont sous sur t ta te tes ton tu un une vos votre vous y à été",
    "es": "a al algo ante cada como con cómo cuando cuál cuáles cuándo cuánta cuántas cuánto cuántos de del desde "
    "donde dónde e el ella ellos en entre era eran es esa ese eso esta estaba este esto están está fue fueron ha "
    "haber había hay han hasta la las le les lo los me mi muy más ni no nos o para pero por porque puede que quien "
    "quién quiénes qué se ser si sido sin sobre son su sus sí también te tiene tu u un una unas uno unos y ya yo",
    "pt": "a ao aos aquela aquele as até com como da das de dela dele do dos e ela elas ele eles em entre era eram "
    "essa esse esta estas este estes está estão eu foi foram há isso isto já lhe mais mas me mesmo muito na nas nem "
    "no nos não nós o onde os ou para pela pelas pelo pelos pode por porque quais qual quando quanto quantos que quem "
    "se sem ser seu seus sido sob sobre sua suas são só também te tem têm um uma umas uns à às é",
    "it": "a ad agli ai al alla alle allo anche c che chi ci come con cosa cui d da dagli dai dal dalla dalle dei del "
    "dell della delle dello di dove e ed era erano essere fu furono gli ha hanno i il in io l la le lei lo loro lui "
    "ma mi nei nel nell nella nelle nello noi non o ogni per perché più può qual quale quali quando quanti quanto "
    "quella quello questa questo se si sia sono stata stato su sua sue sugli sui sul sulla sulle suo suoi te ti tra "
    "tu un una uno vi è",
    "nl": "aan al als bij dan dat de deze die dit door een en er had heb heeft het hij hoe hoeveel hun ik in is ja je "
    "kan kunnen maar me met mij mijn moet na naar niet nog nu of om ook op over te ten ter toen tot uit van veel voor "
    "waar waarom wanneer waren was wat we welk welke werd werden wie wiens wij worden wordt ze zich zij zijn zo zou",
    "pl": "a aby ale ani bez by być był była było były bo ci co czego czy czym czyj dla do dlaczego gdy gdzie go i "
    "ich ile im ja jak jaka jaki jakie jakim jako je jego jej jest jeśli już kiedy kim kogo kto która które którego "
    "której którą których który którym lub ma mi mnie może na nad nie nim o od on ona one oni oraz po pod przed przez "
    "przy są się ta tak także tam te tego tej ten to tu tych tylko tym u w we z za ze że",
    "ru": "а без бы был была были было быть в вам вас во вот все всё вы где да для до его ее если есть еще же за и из "
    "или им их к как какая какие каким какой какого когда которая которое которые который кого ком кому кто куда ли "
    "меня мне может мы на над не него нее нет ни них но о об он она они оно от откуда по под почему при с сколько со "
    "так также там то того тоже только том у уже чего чем что чтобы эта эти это этого этот я",
    "uk": "а або але без би був була були було бути в вас ви від він вона вони воно все де для до ж же з за зі и й "
    "його із їх її і кого ким коли котрий кому куди ли ми на над навіщо не неї них ні ну о об однак по під при про "
    "скільки та так також там те ти тільки то того тому у хто це цей ця ці через чи чим чого чому що щоб як яка яке "
    "який якого яким які якщо я є",
    "cs": "a aby ale ani bez byl byla byli bylo být by co či čeho čím do i in jak jaká jaké jaký jako je jeho její "
    "jejich jen ji jsem jsou k kam kde kdo kdy kolik komu která které kterého který ke má mezi mi mu můj na nad ne "
    "nebo není než o od ona oni ono pak po pod podle pokud pro proč proto před přes při s se si sám ta tak také tam "
    "ten tento to tom tuto ty u už v ve však z za ze že",
    "sv": "alla att av blev bli blir de dem den denna deras det detta dig din du då efter eller en er ett från för ha "
    "hade han hans har hon hur hurdan i icke inte jag kan kunde man med men mig min mot mycket när någon något några "
    "nu och om oss på sig sin ska skulle som så till under upp ut vad var varför varifrån vart varje vem vems vi vid "
    "vilka vilken vilket än är över",
    "tr": "acaba ama ancak bana bazı ben bir biz bu bunu da daha de değil diye en gibi hangi hangisi hem her için ile "
    "ise kaç kadar ki kim kime kimi kimin mi mı mu mü nasıl ne neden nedir nerede nereden nereye niçin niye o olan "
    "olarak oldu onlar onu sen siz şey şu var ve veya ya yani",
    "ar": "ا الى التي الذي الذين ان انه او اي اين ب بعد بين تم ثم حتى حيث خلال ذلك عن عند على غير ف في قبل قد ك كان "
    "كانت كل كم كما كيف ل لا لقد لم لماذا لن ليس ما ماذا متى مع من منذ هذا هذه هل هم هو هي و وفي وقد ومن يكون",
    "he": "אבל או אולי אותה אותו אותם אחרי איזה אילו איך איפה אל אם אני אנחנו את אתה בין גם היא הוא היה היו הייתה הם "
    "הן זאת זה זו יש כאשר כדי כי כל כמה כמו לא לאן למה לפי מאיפה מדוע מה מי מן מתי על עד עם של שלה שלהם שלו",
    "hi": "अपना अपनी अपने और आप इन इस इसका इसके उन उनके उस उसके एक एवं ऐसे कब कर करता करते करना करने कहाँ कहां का कि "
    "किस किसने किसी की कितना कितनी कितने के कैसे को कोई कौन क्या क्यों गई गए गया जब जहाँ जा जाता जो तक तब तो था थी थे "
    "द्वारा ने नहीं पर भी मैं में यदि यह ये या रहा रहे लिए वह वाले वे सकता सकते साथ से हम ही हुआ हुई हुए है हैं हो "
    "होता होती होते",
    "el": "ή ήταν αλλά αν από αυτά αυτέσ αυτή αυτό αυτόσ για δεν είναι είχε είχαν εκεί επίσησ έχει έχουν η θα και "
    "κάθε κατά μασ με μετά μέσα μη μπορεί μπορούν να ο οι όπου όπωσ όταν ότι που πού πόσα πόσεσ πόση πόσο "
    "πόσοι πόσουσ ποια ποιά ποιασ ποιεσ ποιο ποιό ποιοι ποιον ποιοσ ποιόσ ποιουσ ποτέ πότε πριν προσ πώσ πωσ "
    "σασ σε σην στα στη στην στισ στο στον στουσ σύμφωνα τα τησ τη την τι τισ το τον του τουσ των τότε "
    "υπάρχει ωσ ένα έναν ένασ ενόσ ενώ μια μία μιασ γιατί",
    "ro": "a acea aceasta această aceea acel acela acele acest acesta aceste acestea acestei acestui ai al ale am "
    "ar are au avea avut ca că care cărei căror cărui câte câtă cât câţi ce cea cei cel cele când cine cu cui "
    "cum da dacă de decât deci din după dintre e ea ei el ele era erau este eu fi fie fost iar în între "
    "îşi îi îl la le li lor lui mai nici nu o ori pe pentru până prin s sa să sale sau se şi sub sunt sînt ta "
    "te tot toate toţi un una unde unei unor unui vor va fără despre lângă",
    "vi": "à ai bao bằng bị bởi các cái có cùng của cũng cho chưa chỉ đã đang đâu đây để đến đó được gì hay hoặc "
    "hơn khi không là lại lên mà mấy mỗi một này nào nên nếu ngay nhiêu như nhưng những ở phải qua ra rằng "
    "rất sao sẽ sự tại thì theo thế từ trên trong trước và vào vẫn về vì với đều",
    "zh": "但是 因为 所以 如果 这个 那个 这些 那些 我们 你们 他们 什么 哪个 哪些 哪里 多少 怎么 怎样 如何 为什 可以",
    "ja": "の は が を に へ と で も や か から まで より ね よ な など この その あの どの これ それ あれ どれ ここ "
    "そこ どこ だれ 誰 何 なに いつ なぜ どう する し て た い ある あり いる です ます でし まし ない だ だっ れ "
    "られ こと もの ため という として について による において",
    "th": "ที่ และ ของ ใน เป็น การ ความ ได้ ให้ มี จะ ไม่ กับ จาก โดย ว่า นี้ นั้น ก็ แต่ หรือ ถ้า เพื่อ ซึ่ง อยู่ "
    "แล้ว คือ ต้อง ถูก ไป มา ทำ เมื่อ แห่ง ต่อ ด้วย ยัง อะไร ใคร ไหน เท่าไร เมื่อไร ทำไม อย่างไร กี่ ไหม ที่ไหน "
    "หรือไม่",
}
CONJUNCTIONS = frozenset({"and", "or", "und", "oder", "et", "ou", "y", "o", "e"})
"""Words that join items of a list, and clauses."""
FUNCTION_WORDS = {label: frozenset(text.split()) for label, text in _TEXTS.items()}
FUNCTION_WORDS["en"] |= QUESTION_WORDS
MIN_SHOWN = 2
"""Minimum function words that show a query's language. Words that English and the other language share don't count."""
_LAST_LATIN = "\u024f"
_MAX_CHARS = 1_000
"""Maximum length of a text whose function words are counted (characters)."""
_WORD = re.compile(r"\w{2,}+")
"""A word of a text, but no single letter: `U.S.` is no French."""
_OTHERS = {
    word: tuple(language for language, own in FUNCTION_WORDS.items() if word in own)
    for word in frozenset().union(*FUNCTION_WORDS.values()) - FUNCTION_WORDS["en"]
}
"""The languages of each function word that English does not have."""


def is_function_word(word: str, language: str) -> bool:
    """Return whether a folded word is a function word of a language (its code without a region)."""
    return word in FUNCTION_WORDS.get(language, frozenset())


def typical_words(words: Sequence[str], language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the function words that a query has of this language and not of English, and the other way round."""
    known, english = FUNCTION_WORDS.get(language, frozenset()), FUNCTION_WORDS["en"]
    return known.intersection(words) - english, english.intersection(words) - known


def count_function_words(text: str) -> tuple[int, int]:
    """Return how many function words a text has of English, and of the other language that it has most of.

    Each word counts once, and one that English has counts for no other language. Only the first characters of a long
    text are read.
    """
    found = frozenset(_WORD.findall(text[:_MAX_CHARS].casefold()))
    others = Counter(language for word in found for language in _OTHERS.get(word, ()))
    return len(found & FUNCTION_WORDS["en"]), max(others.values(), default=0)


def shown_language(words: Sequence[str], identified: str) -> str:
    """Return the language whose function words a query is searched without; empty if none has shown itself.

    Short queries are taken for other languages: `cold war` and `mit license` for German. Each would lose the word that
    it is about. One function word in another script than Latin is enough.
    """
    own, foreign = typical_words(words, identified)
    if len(own) >= max(MIN_SHOWN, len(foreign)) or any(word[0] > _LAST_LATIN for word in own):
        return identified
    return "en" if identified in {"", "en"} or len(foreign) >= MIN_SHOWN else ""


def without_function_words(words: Sequence[str], language: str) -> list[str]:
    """Return the words of a query without the function words of its language; all words if there are no others."""
    return [word for word in words if not is_function_word(word, language.partition("-")[0])] or list(words)

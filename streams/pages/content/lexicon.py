"""The words that distinguish boilerplate from content: elements and roles, class names, words of short texts.

Tables only; `segment_stats` reads them. The content model was trained on these groups and flags in this order.
"""

import re

from streams.language.months import ENGLISH_MONTHS, MONTH_NAMES

# Element names and roles, by group. Bits 0..
ELEMENT_GROUPS = (
    "nav menu navigation menubar", "header banner", "footer contentinfo", "aside complementary",
    "form search dialog alertdialog", "main", "article", "section", "table grid", "ul ol list", "li listitem",
    "dl dd dt", "figure figcaption caption", "noscript", "blockquote", "details summary",
    "button tab option tablist legend", "p", "td th", "address",
)  # fmt: skip
# Words of `class` and `id`, by group.
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

# Words of short texts: of boilerplate, bylines and controls.
_BOILERPLATE_WORDS = (
    "cookie cookies subscribe sign login newsletter privacy terms copyright © rights reserved share tweet follow "
    "related recommended advertisement sponsored policy facebook twitter instagram linkedin youtube pinterest "
    "whatsapp email account register unsubscribe"
)
BOILERPLATE_WORDS = frozenset(_BOILERPLATE_WORDS.split())
_BYLINE_WORDS = (
    "by posted published updated ago min mins minutes comments comment reply replies views likes votes points "
    "joined posts edited author written tags category categories last modified reviewed"
)
BYLINE_WORDS = frozenset(_BYLINE_WORDS.split()) | ENGLISH_MONTHS.keys()
_CONTROL_WORDS = (
    "read more see view all show less load next previous prev back skip home menu search loading click learn shop "
    "now contact us get started add to cart buy wishlist sort filter close open toggle expand download print "
    "report edit select choose here quick"
)
CONTROL_WORDS = frozenset(_CONTROL_WORDS.split())

# The same in other languages, without words with another meaning in English. Whole labels in scripts without spaces.
_BOILERPLATE_ELSEWHERE = """
teilen anmelden abonnieren datenschutz datenschutzerklärung impressum agb werbung anzeige ähnliche verwandte
empfohlen
konto registrieren einloggen
partager connexion inscription abonnez-vous s'abonner confidentialité légales publicité sponsorisé recommandés
similaires réservés suivez-nous
compartir sesión suscríbete suscribirse suscripción privacidad términos publicidad patrocinado relacionados
relacionadas
relacionado recomendados cuenta registrarse regístrate derechos reservados síguenos
condividi accedi iscriviti abbonati termini pubblicità sponsorizzato correlati correlate consigliati
registrati riservati
seguici
compartilhar partilhar assine assinar privacidade termos publicidade patrocinado recomendados conta
cadastre-se direitos
siga-nos
delen inloggen aanmelden abonneren voorwaarden advertentie gesponsord gerelateerd gerelateerde aanbevolen
registreren
udostępnij zaloguj prywatności regulamin reklama powiązane podobne polecane zarejestruj
logga prenumerera integritet annons relaterade rekommenderas abonner annonce relaterede
paylaş abone gizlilik reklam ilgili önerilen hesap
поделиться войти вход подписаться подписка конфиденциальности реклама похожие рекомендуем аккаунт регистрация
مشاركة تسجيل الدخول اشترك الخصوصية إعلان
分享 分享到 登录 登陆 登入 注册 註冊 订阅 訂閱 隐私 隐私政策 版权 版权所有 版權所有 广告 廣告 相关 相关新闻
相关文章 相关阅读 推荐
推荐阅读 关注 微信 微博 扫一扫 热门 最热新闻 头条新闻 排行榜 热点 专题
シェア ログイン 会員登録 購読 プライバシーポリシー 利用規約 広告 関連 関連記事 関連キーワード 関連ニュース
おすすめ
おすすめ記事 あわせて読みたい フォロー ツイート 人気 ランキング アクセスランキング [pr]
공유 공유하기 로그인 회원가입 구독 개인정보처리방침 광고 관련 관련기사 추천 추천기사 팔로우 인기 인기기사
"""
_BYLINE_ELSEWHERE = """
von veröffentlicht aktualisiert autor autorin kommentare uhr
publié publiée auteur commentaires
publicado actualizado comentarios
pubblicato aggiornato autore commenti
atualizado comentários
gepubliceerd bijgewerkt auteur reacties
автор опубликовано обновлено комментарии
来源 来源： 作者 作者： 编辑 责任编辑 发布 更新 评论 阅读 更新日 投稿 公開 著者 記者 コメント 기자 입력 수정
댓글
"""
_MONTHS_ELSEWHERE = {
    name
    for language in ("de", "fr", "es", "it", "pt", "nl", "ru")
    for name in re.split(r"[| ]", MONTH_NAMES[language])
    if len(name) >= 4 and name != "mars"
}
_CONTROL_ELSEWHERE = """
mehr weiterlesen weiter zurück startseite menü suche suchen anzeigen schließen drucken herunterladen kaufen
warenkorb
lire suivant précédent accueil rechercher recherche fermer imprimer télécharger ajouter panier acheter
leer más siguiente anterior inicio menú buscar cerrar imprimir descargar añadir carrito comprar
leggi avanti indietro cerca chiudi stampa scarica aggiungi carrello acquista
leia mais próximo início pesquisar fechar baixar adicionar carrinho
lees meer bekijk volgende vorige zoeken sluiten downloaden toevoegen winkelwagen kopen
czytaj więcej dalej wstecz szukaj zamknij drukuj pobierz koszyk
читать далее ещё следующая предыдущая главная меню поиск закрыть печать скачать купить корзина
更多 返回 首页 首頁 上一页 下一页 搜索 关闭 打印 下载 查看 全部 导航
もっと見る 一覧 一覧へ 一覧へ> トップ ホーム 検索 閉じる 印刷 次へ 前へ 戻る 続きを読む メニュー 記事一覧
더보기 목록 검색 닫기 인쇄 다음 이전 메뉴
"""

_TEASER_WORDS = """
related recommended recommendations more latest popular trending recent stories headlines news top also like next
read similar most articles posts suggested further discover explore keep reading you may might featured editor's
picks
neueste beliebt beliebte meistgelesen meistgelesene aktuelle lesen auch weitere ähnliche mehr
aussi plus lire autres articles más también leer noticias relacionadas últimas
altri leggi anche notizie ultime mais leia também notícias
相关 推荐 関連 おすすめ ランキング 관련 추천 похожие читайте также новости
"""

TEASER_WORDS = frozenset(_TEASER_WORDS.split())
"""Words of headings above links to other pages."""

TERMS = {
    "boilerplate": BOILERPLATE_WORDS.union(_BOILERPLATE_ELSEWHERE.split()),
    "byline": BYLINE_WORDS.union(_BYLINE_ELSEWHERE.split(), _MONTHS_ELSEWHERE),
    "control": CONTROL_WORDS.union(_CONTROL_ELSEWHERE.split()),
}
"""Words of short texts, by the name of their flag."""

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
    "boilerplate": 1 << 9,
    "byline": 1 << 10,
    "control": 1 << 11,
    "digit": 1 << 12,
    "money": 1 << 13,
    "title": 1 << 14,
    "bar": 1 << 15,
}
"""Properties of a text, as bits: columns of the model's input."""

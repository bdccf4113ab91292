"""Words of counters by language: what a page counts of itself, and the words beside it."""

COUNTED = {
    "en": "views view viewed visits visit visited visitors visitor hits hit comments comment replies reply "
    "likes like shares share downloads online updated modified accessed retrieved generated rendered loaded "
    "executed queries query posted published ago today now current clock load loading render reloaded watching "
    "viewing took uptime",
    "zh": "次浏览 浏览量 浏览 阅读量 阅读 访问量 访问 评论 回复 点赞 分享 下载 在线 现在 今天 刚刚 更新 修改 "
    "发布 发表 前",
    "hi": "बार देखा गया दृश्य व्यूज टिप्पणियाँ टिप्पणियां टिप्पणी पसंद शेयर ऑनलाइन अपडेट अपडेटेड प्रकाशित पहले आज अभी",
    "es": "visitas visita vistas vista visto lecturas comentarios comentario respuestas respuesta descargas "
    "compartido línea actualizado actualizada modificado modificada generada generado cargada consultas "
    "consulta publicado publicada gusta hoy ahora visitante visitantes",
    "ar": "مشاهدة مشاهدات زيارة زيارات زائر زوار تعليق تعليقات رد ردود إعجاب إعجابات مشاركة مشاركات تحميل متصل "
    "تحديث تعديل نشر نشرت منذ قبل اليوم الآن",
    "fr": "vues vue vu visites visite visiteurs visiteur lectures commentaires commentaire réponses réponse "
    "partages téléchargements ligne jour modifiée modifié générée généré chargée requêtes requête publié "
    "publiée aime aujourd'hui maintenant chargement",
    "bn": "বার দেখা হয়েছে ভিউ মন্তব্য উত্তর লাইক শেয়ার অনলাইন আপডেট হালনাগাদ প্রকাশিত আগে আজ এখন",
    "pt": "visualizações visualização visitas visita visitantes visto leituras comentários comentário respostas "
    "resposta curtidas downloads linha atualizado atualizada modificado modificada gerada gerado carregada "
    "consultas consulta publicado publicada atrás hoje agora visitante",
    "ru": "просмотров просмотра просмотр просмотры посещений посетителей посетителя посетитель комментариев "
    "комментария комментарий комментарии ответов ответа ответ лайков лайка лайк скачиваний онлайн обновлено "
    "обновление обновлён изменено изменён сгенерирована сгенерировано загружена запросов запроса опубликовано "
    "назад сегодня сейчас",
    "ur": "مرتبہ دیکھا گیا مناظر تبصرے تبصرہ جوابات پسند شیئر آن لائن تازہ کاری اپڈیٹ شائع پہلے آج ابھی",
    "id": "dilihat kali dibaca pengunjung kunjungan komentar balasan suka dibagikan unduhan online daring "
    "diperbarui diubah dibuat dimuat kueri diterbitkan diposting lalu sekarang",
    "de": "aufrufe aufruf abrufe zugriffe zugriff besuche besuch besucher gelesen angesehen kommentare "
    "kommentar antworten antwort downloads geteilt online aktualisiert geändert bearbeitet generiert erzeugt "
    "geladen abfragen abfrage veröffentlicht vor heute jetzt gerade ladezeit serverzeit",
    "ja": "回視聴 回閲覧 閲覧数 閲覧 アクセス数 アクセス 訪問者 コメント 返信 いいね シェア ダウンロード "
    "オンライン 更新 変更 投稿 公開 前 現在 今日",
    "it": "visualizzazioni visualizzazione visite visita visitatori letture commenti commento risposte risposta "
    "condivisioni linea aggiornato aggiornata modificato modificata generata generato caricata query pubblicato "
    "fa oggi adesso",
    "ko": "조회수 조회 방문자 방문 댓글 답글 좋아요 공유 다운로드 온라인 업데이트 수정 게시 전 지금 오늘 현재",
    "tr": "görüntüleme görüntülenme okunma ziyaret ziyaretçi yorum yanıt beğeni paylaşım indirme çevrimiçi "
    "güncellendi güncelleme değiştirildi oluşturuldu yüklendi sorgu yayınlandı önce bugün şimdi",
    "nl": "weergaven weergave bezoeken bezoek bezoekers gelezen reacties reactie antwoorden downloads online "
    "bijgewerkt gewijzigd gegenereerd geladen queries geplaatst gepubliceerd geleden vandaag nu",
    "pl": "wyświetleń wyświetlenia wyświetlenie odsłon wizyt odwiedzin gości komentarzy komentarze komentarz "
    "odpowiedzi polubień pobrań online zaktualizowano zmodyfikowano wygenerowano załadowano zapytań "
    "opublikowano temu dziś teraz",
    "vi": "lượt xem truy cập khách bình luận trả lời thích chia sẻ tải trực tuyến cập nhật sửa đăng trước",
    "fa": "بازدید بازدیدکننده دیدگاه نظر پاسخ پسند اشتراک دانلود آنلاین به‌روزرسانی ویرایش منتشر پیش",
}
"""Words of which a counter has at least one."""
BESIDE = {
    "en": "a about am an and are at being by counter date day days gmt guest guests hour hours in it just last "
    "less more number people than server this using you member members memory minute minutes month months mb kb "
    "now number of on page pages pm post posts peak second seconds since so far the there are is this time "
    "times today total usage used user users utc was week weeks were with year years yesterday",
    "zh": "共 总 本页 页面 最后 最近 于 时间 人 次 数 用户 今天 昨天 刚刚 秒 分钟 小时 天 年 月 日 的 个",
    "hi": "कुल अंतिम बार पृष्ठ आज कल अभी में को से और समय उपयोगकर्ता सदस्य",
    "es": "a al de del el en es esta este fue fecha hora hoy la las los me página por ahora ayer total última "
    "último vez veces usuario usuarios y segundos tiempo con",
    "ar": "آخر في من إلى على هذه الصفحة تم اليوم أمس الآن عدد المشاهدات الزوار التعليقات مستخدم مستخدمين عضو أعضاء و",
    "fr": "a à au ce nous sommes vous êtes le numéro cet cette date de dernière dernier du d en est et fois "
    "heure hier il j j'aime la le les maintenant mise mis page par pour secondes temps total utilisateur "
    "utilisateurs l",
    "bn": "মোট শেষ পৃষ্ঠা আজ গতকাল এখন জন সদস্য সময় এবং",
    "pt": "a à às ao agora da de do data em e esta este foi hoje hora na no ontem o os página pela por segundos "
    "tempo total última último usuário usuários utilizadores vez vezes há com",
    "ru": "в во и на по за страница страницы последнее последний раз раза время дата сегодня вчера сейчас "
    "только что всего секунд секунды пользователей пользователь пользователя гостей гость участников эта была",
    "ur": "کل آخری صفحہ آج ابھی میں کو سے اور وقت صارف صارفین بار",
    "id": "di ini halaman hari jam kemarin kini orang pada pengguna sekarang tanggal terakhir total waktu dan "
    "detik yang telah dalam tamu anggota",
    "de": "am an aktuell es sie sind nr nummer auf bisher das dem der die diese dieser datum gerade gesamt "
    "gestern gäste gast heute im in insgesamt ist jetzt letzte letzter mal mit mitglieder nutzer seite sekunden "
    "stand uhr um und von wurde zeit zuletzt benutzer änderung aktualisierung",
    "ja": "合計 最終 最新 ページ 今日 昨日 たった今 現在 人 回 数 日時 時刻 時間 秒 分 年 月 日 の が は に",
    "it": "a adesso al alle data del della di e è il in ieri la le l ora oggi ore pagina per questa secondi "
    "stata tempo totale ultima ultimo utente utenti volta volte",
    "ko": "총 최근 마지막 페이지 오늘 어제 지금 방금 명 회 수 시간 초 분 년 월 일 개 이 가 은 는",
    "tr": "bu bugün dün en kez kişi kullanıcı misafir saat saniye saniyede sayfa sayısı son şimdi tarih tarihi "
    "tarihinde toplam üye ve yeni zaman",
    "nl": "bezoek de deze dit door en gasten gisteren het in is keer laatst laatste leden nu om op pagina "
    "seconden sinds tijd totaal van vandaag voor was werd gebruikers aantal",
    "pl": "data dnia dziś i liczba na o osób ostatnia ostatnio przez razy sekund sekundy strona strony teraz ta "
    "użytkowników w wczoraj z została godz godzina",
    "vi": "bây giờ cuối cùng hôm nay hôm qua lần lúc lượt ngày người dùng tổng trang này vào và giây phút thành viên",
    "fa": "آخرین امروز این بار تعداد دیروز در روز ساعت صفحه کاربر کاربران کل و شد تاریخ",
}
"""Other words that a counter may have."""

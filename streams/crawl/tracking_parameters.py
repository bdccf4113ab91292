"""Names of query parameters that follow people and change nothing on the page. Pure.

Each name is from the documentation of the service that sets it, or from the list of parameters that Firefox removes in
strict mode (Mozilla, remote settings, collection `query-stripping`). A name that may select content on some site
(`ref`, `source`, `campaign`) is not here: such names are learned per host, from duplicates (`url_rules`).
"""

_BY_SERVICE = {
    # Advertisements: identifiers of a click.
    "Google Ads": "gclid gclsrc dclid gbraid wbraid",
    "Google Merchant Center": "srsltid",
    "Meta": "fbclid igshid igsh",
    "Microsoft Advertising": "msclkid",
    "X": "twclid",
    "TikTok": "ttclid",
    "Yandex": "yclid ysclid _openstat",
    "LinkedIn": "li_fat_id",
    "Reddit": "rdt_cid",
    "Pinterest": "epik",
    "Snapchat": "sccid",
    "Yahoo": "vmcid",
    "Branch": "_branch_match_id _branch_referrer",
    # Letters by e-mail: identifiers of a reader.
    "Mailchimp": "mc_cid mc_eid",
    "HubSpot": "_hsenc _hsmi __hssc __hstc __hsfp hsctatracking",
    "Marketo": "mkt_tok",
    "Omeda": "oly_anon_id oly_enc_id",
    "MailerLite": "ml_subscriber ml_subscriber_hash",
    "Klaviyo": "_kx",
    "Drip": "__s",
    "Vero": "vero_id vero_conv",
    "Omnisend": "oft_id oft_ids oft_c oft_ck oft_d oft_k oft_lk oft_sk",
    # Measuring visits.
    "Google Analytics": "_ga _gl",
    "Adobe Analytics": "s_cid",
    "Wicked Reports": "wickedid",
    "Rakuten": "rb_clickid",
    # Sessions of application servers.
    "PHP, Java, ASP": "phpsessid jsessionid aspsessionid",
}
NAMES = frozenset(name for names in _BY_SERVICE.values() for name in names.split())
"""Names in lower case."""
PREFIXES = ("utm_", "pk_", "mtm_", "hsa_")
"""Beginnings of names: Google Analytics (`utm_`), Matomo (`pk_`, `mtm_`), HubSpot Ads (`hsa_`)."""

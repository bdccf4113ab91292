/* Forms of links: those that can be made absolute without a look at the URL Standard. The law is links.form_of. */
#include "page.h"

enum { OTHER, ROOTED, ABSOLUTE, MAX_HREF_CHARS = 4096 };

/* Of a path that stays as it is written. */
static int is_path_sign(byte sign) {
    if ((sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '-' && sign <= ';')) return 1; /* -./0-9:; */
    return sign == '_' || sign == '=' || sign == '&' || sign == '?' || sign == '%' || sign == '+' || sign == ',' || sign == '~' ||
           sign == '!' || sign == '$' || sign == '(' || sign == ')' || sign == '*' || sign == '@';
}

static int is_host_sign(byte sign) { return (sign >= 'a' && sign <= 'z') || (sign >= '0' && sign <= '9') || sign == '.' || sign == '-'; }

/* A path without a segment that starts with a dot. */
static int is_plain_path(const byte *at, const byte *end) {
    for (; at < end; at++)
        if (!is_path_sign(*at) || (*at == '/' && at + 1 < end && at[1] == '.')) return 0;
    return 1;
}

int32_t form_of(Value href) {
    const byte *at = href.at, *end = at ? at + href.size : at;
    if (!href.size || (href.size > MAX_HREF_CHARS && chars_in(at, href.size) > MAX_HREF_CHARS)) return OTHER;
    const byte *mark = memchr(at, '#', href.size);
    if (mark) end = mark;
    if (at == end) return OTHER;
    if (*at == '/') return (at + 1 == end || at[1] != '/') && is_plain_path(at, end) ? ROOTED : OTHER;
    size_t size = (size_t)(end - at);
    size_t scheme = size > 7 && !memcmp(at, "http://", 7) ? 7 : size > 8 && !memcmp(at, "https://", 8) ? 8 : 0;
    const byte *host = at + scheme, *path = host;
    while (path < end && is_host_sign(*path)) path++;
    if (!scheme || path == host || *host == '.') return OTHER;
    return path == end || (*path == '/' && is_plain_path(path, end)) ? ABSOLUTE : OTHER;
}

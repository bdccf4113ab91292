/* How deep a page's tags nest, counted before anything parses it. The law is parsing.deepest. */
#include "base.h"

/* Elements that are never open, or that closing is left out of; in lower case. */
static const char *const unclosed[] = {"area",  "base",  "br",  "circle", "col",   "dd",     "dt",   "ellipse", "embed", "hr",
                                       "image", "img",   "input", "li",   "line",  "link",   "meta", "option",  "p",     "param",
                                       "path",  "polygon", "polyline", "rect", "source", "stop", "tbody", "td", "th",    "thead",
                                       "tr",    "track", "use", "wbr"};

static int is_letter(byte letter) { return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'); }

static int stays_open(const byte *name, size_t size) {
    byte low[12];
    if (size > sizeof low) return 1;
    for (size_t index = 0; index < size; index++) low[index] = lower(name[index]);
    for (size_t index = 0; index < sizeof unclosed / sizeof *unclosed; index++)
        if (*unclosed[index] == (char)low[0] && strlen(unclosed[index]) == size && !memcmp(unclosed[index], low, size)) return 0;
    return 1;
}

/* Elements that hold text alone, whatever it looks like, up to their end tag. */
static int holds_text(const byte *name, size_t size) {
    static const char *const raw[] = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"};
    for (size_t index = 0; index < sizeof raw / sizeof *raw; index++) {
        size_t at = 0;
        if (strlen(raw[index]) != size) continue;
        while (at < size && lower(name[at]) == (byte)raw[index][at]) at++;
        if (at == size) return 1;
    }
    return 0;
}

/* The end of a comment (HTML Standard, 13.2.5.43 to 52: what is behind its mark may be it), or of the page. */
static const byte *after_comment(const byte *at, const byte *end) {
    if (at < end && *at == '>') return at;
    if (end - at >= 2 && *at == '-' && at[1] == '>') return at;
    while (at < end && (at = memchr(at, '-', (size_t)(end - at)))) {
        if (end - at >= 3 && at[1] == '-' && at[2] == '>') return at;
        if (end - at >= 4 && at[1] == '-' && at[2] == '!' && at[3] == '>') return at;
        at++;
    }
    return end;
}

/* Whether what is behind it is not read as HTML: there, elements that hold text hold elements. */
static int is_foreign(const byte *name, size_t size) {
    return (size == 3 && lower(name[0]) == 's' && lower(name[1]) == 'v' && lower(name[2]) == 'g') ||
           (size == 4 && lower(name[0]) == 'm' && lower(name[1]) == 'a' && lower(name[2]) == 't' && lower(name[3]) == 'h');
}

/* Behind the name in the end tag of such an element, or where it has begun, if it has none. */
static const byte *after_text(const byte *at, const byte *end, const byte *name, size_t size) {
    const byte *begin = at;
    while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        const byte *own = ++at;
        if ((size_t)(end - at) < size + 1 || *own++ != '/') continue;
        size_t same = 0;
        while (same < size && lower(own[same]) == lower(name[same])) same++;
        if (same == size && (own + size == end || !is_letter(own[size]))) return own + size;
    }
    return begin;
}

/* How many bytes are a `<`. */
static int64_t count_signs(const byte *html, size_t size) {
    int64_t count = 0;
    while (size) { /* in stretches whose counts fit a byte: the compiler then compares 16 at once */
        size_t stretch = size < 240 ? size : 240;
        uint8_t found = 0;
        for (size_t index = 0; index < stretch; index++) found = (uint8_t)(found + (html[index] == '<'));
        count += found;
        html += stretch;
        size -= stretch;
    }
    return count;
}

/* The most elements that are open at once, or limit + 1 as soon as there are more than `limit`; 0 where there are not
 * more tags than `safe`, which are not looked at. */
EXPORT int64_t riffle_deepest(const byte *html, size_t size, int64_t limit, int64_t safe) {
    if (count_signs(html, size) <= safe) return 0;
    const byte *at = html, *end = html + size;
    int64_t depth = 0, deepest = 0;
    int foreign = 0;
    while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        at++;
        if (end - at >= 3 && !memcmp(at, "!--", 3)) {
            at = after_comment(at + 3, end);
            continue;
        }
        int closing = at < end && *at == '/';
        at += closing;
        const byte *name = at;
        while (at < end && is_letter(*at)) at++;
        if (at == name) continue;
        foreign |= is_foreign(name, (size_t)(at - name));
        if (closing) {
            depth -= depth > 0;
        } else if (!foreign && holds_text(name, (size_t)(at - name))) {
            at = after_text(at, end, name, (size_t)(at - name));
        } else if (stays_open(name, (size_t)(at - name))) {
            if (++depth > deepest) deepest = depth;
            if (depth > limit) return deepest;
        }
    }
    return deepest;
}

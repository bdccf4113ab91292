/* Tags as the parser writes them, and how to get past what is not walked. */
#include "page.h"

static const char *const ATTRIBUTES[A_COUNT] = {"class", "id", "role", "lang", "colspan", "style", "hidden",
                                                "aria-hidden", "href", "rel", "src", "alt", "alttext"};

/* The tag at `at`, which points behind "<". */
Tag read_tag(const byte *at, const byte *end) {
    Tag tag;
    memset(tag.values, 0, sizeof tag.values);
    tag.name = at;
    while (at < end && *at != ' ' && *at != '>') at++;
    tag.name_size = (size_t)(at - tag.name);
    while (at < end && *at == ' ') {
        const byte *name = ++at;
        while (at < end && *at != '=' && *at != '>' && *at != ' ') at++;
        size_t size = (size_t)(at - name);
        Value value = {at, 0, 1};
        if (at + 1 < end && *at == '=' && at[1] == '"') {
            at += 2;
            const byte *quote = memchr(at, '"', (size_t)(end - at));
            if (!quote) quote = end;
            value.at = at;
            value.size = (uint32_t)(quote - at);
            at = quote < end ? quote + 1 : end;
        }
        for (int known = 0; known < A_COUNT; known++)
            if (ATTRIBUTES[known][0] == (char)*name && strlen(ATTRIBUTES[known]) == size &&
                !memcmp(ATTRIBUTES[known], name, size)) {
                if (!tag.values[known].present) tag.values[known] = value;
                break;
            }
    }
    const byte *close = at < end ? memchr(at, '>', (size_t)(end - at)) : NULL;
    tag.end = close ? close + 1 : end;
    return tag;
}

static int is_named(const byte *at, const byte *end, const char *name) {
    size_t size = strlen(name);
    return (size_t)(end - at) > size && !memcmp(at, name, size) && (at[size] == '>' || at[size] == ' ');
}

/* Elements whose text is written out as it is. */
const char *raw_text(const byte *name, size_t size) {
    static const char *const names[] = {"script", "style", "iframe", "noframes", "noembed", "xmp", "plaintext"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (strlen(names[index]) == size && !memcmp(names[index], name, size)) return names[index];
    return NULL;
}

int is_void(const byte *name, size_t size) {
    static const char *const names[] = {"area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr",
                                        "img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (strlen(names[index]) == size && !memcmp(names[index], name, size)) return 1;
    return 0;
}

const byte *after_comment(const byte *at, const byte *end) { /* at: behind "<!" or "<?" */
    if (end - at >= 2 && at[0] == '-' && at[1] == '-') {
        for (at += 2; at < end && (at = memchr(at, '>', (size_t)(end - at))); at++)
            if (at[-1] == '-' && at[-2] == '-') return at + 1;
        return end;
    }
    at = memchr(at, '>', (size_t)(end - at));
    return at ? at + 1 : end;
}

/* Behind the end tag that fits `name`, whose start tag ends at `at`. `into`: where the text between goes, if anywhere,
 * no more than `most` bytes of it. */
const byte *after_element(Walk *walk, const byte *name, size_t size, const byte *at, const byte *end, Text *into,
                                 size_t most) {
    int depth = 1;
    while (at < end) {
        const byte *mark = memchr(at, '<', (size_t)(end - at));
        if (!mark) mark = end;
        if (into && into->size < most) unescaped(walk, into, at, mark);
        if (mark == end) return end;
        at = mark + 1;
        if (at == end) return end;
        if (*at == '!' || *at == '?') {
            at = after_comment(at + 1, end);
            continue;
        }
        int closing = *at == '/';
        at += closing;
        Tag tag = read_tag(at, end);
        at = tag.end;
        if (tag.name_size == size && !memcmp(tag.name, name, size)) {
            depth += closing ? -1 : 1;
            if (!depth) return at;
        } else if (!closing) {
            const char *raw = raw_text(tag.name, tag.name_size);
            if (raw) {
                while ((mark = at < end ? memchr(at, '<', (size_t)(end - at)) : NULL)) {
                    at = mark + 1;
                    if (end - at > 1 && *at == '/' && is_named(at + 1, end, raw)) break;
                }
                if (!mark) return end;
                mark = memchr(at, '>', (size_t)(end - at));
                at = mark ? mark + 1 : end;
            }
        }
    }
    return end;
}

const byte *after_raw(const byte *name, size_t size, const byte *at, const byte *end) {
    while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        at++;
        if ((size_t)(end - at) > size + 1 && *at == '/' && !memcmp(at + 1, name, size) && at[size + 1] == '>') return at + size + 2;
    }
    return end;
}

int is_permalink(Walk *walk, const Tag *tag, const byte *end) {
    static const char *const marks[] = {"\u00b6", "#", "\u00a7", "\U0001F517", "\u2693"};
    Text *text = &walk->scratch;
    text->size = 0;
    text->chars = 0;
    after_element(walk, tag->name, tag->name_size, tag->end, end, text, 64);
    const byte *first = text->at, *last = text->at + text->size, *stop = text->at;
    if (walk->failed || !text->size || text->size > 256) return 0;
    size_t space;
    while (first < last && (space = space_at(first, last))) first += space;
    for (const byte *next = first; next < last;) {
        space = space_at(next, last);
        next += space ? space : width_of(*next);
        if (!space) stop = next;
    }
    if (first >= stop) return 0;
    for (size_t index = 0; index < sizeof marks / sizeof *marks; index++)
        if (strlen(marks[index]) == (size_t)(stop - first) && !memcmp(marks[index], first, (size_t)(stop - first))) return 1;
    return 0;
}

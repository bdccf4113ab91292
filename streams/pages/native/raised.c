/* Superscripts and subscripts as characters. The law is streams/pages/parse/superscripts.py. */
#include "page.h"

enum { MAX_CHARS = 12, LONGEST = 3 /* bytes of a sign */ };

static const struct { const char *plain, *above, *below; } signs[] = {
    {"0", "\u2070", "\u2080"}, {"1", "\u00b9", "\u2081"}, {"2", "\u00b2", "\u2082"}, {"3", "\u00b3", "\u2083"},
    {"4", "\u2074", "\u2084"}, {"5", "\u2075", "\u2085"}, {"6", "\u2076", "\u2086"}, {"7", "\u2077", "\u2087"},
    {"8", "\u2078", "\u2088"}, {"9", "\u2079", "\u2089"}, {"+", "\u207a", "\u208a"}, {"-", "\u207b", "\u208b"},
    {"(", "\u207d", "\u208d"}, {")", "\u207e", "\u208e"}, {"=", "\u207c", "\u208c"}, {"n", "\u207f", "\u2099"},
    {"i", "\u2071", "\u1d62"}, {"\u2212", "\u207b", "\u208b"}, {"\u2010", "\u207b", "\u208b"},
    {"\u2011", "\u207b", "\u208b"}, {"\u2013", "\u207b", "\u208b"},
};

static const char *sign_of(const byte *at, size_t size, int32_t kind) {
    for (size_t index = 0; index < sizeof signs / sizeof *signs; index++)
        if (same(at, size, signs[index].plain)) return kind == RAISED ? signs[index].above : signs[index].below;
    return NULL;
}

/* Whether text stands right behind an element. */
static int is_joined(Walk *walk, Node *node) {
    Node *behind = next_sibling(node);
    size_t size = 0;
    byte *text = behind && is_text(behind) ? text_of(walk, behind, &size) : NULL;
    if (!text) return 0;
    int joined = size && !space_at(text, text + size);
    release_text(walk, text);
    return joined;
}

/* What a superscript or subscript holds, as such characters: put into the run, if all of it can be. */
int add_raised(Walk *walk, Node *node, int32_t kind) {
    byte made[MAX_CHARS * LONGEST + 1];
    size_t filled = 0;
    int32_t chars = 0;
    int spaced = 0, fits = 1;
    for (Node *inner = first_child(node); inner && fits; inner = next_below(inner, node)) {
        if (is_element(inner)) {
            int inside = kind_of(inner);
            fits = inside == INLINE || inside == SPAN || inside == COMMENT;
            continue;
        }
        size_t size = 0;
        byte *text = is_text(inner) ? text_of(walk, inner, &size) : NULL;
        if (!text) continue;
        for (const byte *at = text, *end = text + size; at < end && fits;) {
            size_t space = space_at(at, end), width = space ? space : width_of(*at);
            if (width > (size_t)(end - at)) width = (size_t)(end - at);
            spaced = space > 0;
            const char *sign = space ? "" : sign_of(at, width, kind);
            fits = sign && (space || ++chars <= MAX_CHARS);
            for (; fits && *sign; sign++) made[filled++] = (byte)*sign;
            at += width;
        }
        release_text(walk, text);
    }
    int stands = walk->in_link ? walk->link_length > 0 : reached(walk) > 0;
    if (walk->failed || !fits || !chars || !(stands || is_joined(walk, node))) return 0;
    if (spaced) made[filled++] = ' ';
    add_text(walk, made, filled);
    return 1;
}

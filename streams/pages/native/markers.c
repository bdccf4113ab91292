/* What stands anywhere in a page and says something of it: the rules of streams/pages/parse/head_elements.py, over the parser's own
 * tree. Results are given back as those of a walk are: rows in `elements`, what they refer to in `text`. */
#include "page.h"

enum { M_TITLE, M_BASE, M_META, M_LINK, M_SCRIPT, M_TIME, M_COUNT };
enum { N_NAME, N_PROPERTY, N_ITEMPROP, N_CONTENT, N_EQUIV, N_REL, N_HREF, N_TYPE, N_DATETIME, N_TYPEOF, N_CLASS, N_COUNT };
/* As native/markers.py reads them, but the last, which is the pass's own. */
enum { HAS_MICRODATA = 1, HAS_RDFA = 2, HAS_DRAWN_MATH = 4, HAS_TITLE = 8 };
enum { DATED, NAMED };

static const char *const TAGS[M_COUNT] = {"title", "base", "meta", "link", "script", "time"};
static const char *const NAMES[N_COUNT] = {"name", "property", "itemprop", "content",  "http-equiv", "rel",
                                           "href", "type",     "datetime", "typeof", "class"};
static const char *const DATES[] = {"date", "published", "timestamp", "posted", "meta", NULL};
static const char *const AUTHORS[] = {"author", "byline", "username", NULL};

/* Whether this stands anywhere, in these very letters. */
static int holds(Value value, const char *part) {
    size_t size = strlen(part);
    for (size_t at = 0; at + size <= value.size; at++)
        if (value.at[at] == (byte)*part && !memcmp(value.at + at, part, size)) return 1;
    return 0;
}

static int holds_any(Value value, const char *const *parts) {
    for (; *parts; parts++)
        if (holds(value, *parts)) return 1;
    return 0;
}

/* Whether one of the names in the value, with white space between them, is this one. */
static int lists(Value value, const char *name) {
    const byte *at = value.at, *end = at + value.size;
    while (at < end) {
        while (at < end && (*at == ' ' || (*at >= 9 && *at <= 13 && *at != 11))) at++;
        const byte *start = at;
        while (at < end && !(*at == ' ' || (*at >= 9 && *at <= 13 && *at != 11))) at++;
        if (at > start && same(start, (size_t)(at - start), name)) return 1;
    }
    return 0;
}

static int32_t *marked(Walk *walk, int tag) {
    int32_t *made = row(walk, &walk->elements, MARKER_COLUMNS);
    memset(made, 0, MARKER_COLUMNS * sizeof *made);
    *made = tag;
    return made;
}

/* The tables may move while text is kept: so the places are found first. */
static void mark(Walk *walk, int tag, Value one, Value two, Value three) {
    int32_t places[6];
    keep(walk, one, places, places + 1);
    keep(walk, two, places + 2, places + 3);
    keep(walk, three, places + 4, places + 5);
    memcpy(marked(walk, tag) + 1, places, sizeof places);
}

static void mark_text(Walk *walk, int tag, Value one, Node *node) {
    int32_t places[6] = {0};
    keep(walk, one, places, places + 1);
    places[2] = walk->text.chars;
    put_text_below(walk, node, &walk->text);
    places[3] = walk->text.chars;
    memcpy(marked(walk, tag) + 1, places, sizeof places);
}

static int is_blank(const byte *at, const byte *end) {
    size_t space;
    while (at < end && (space = space_at(at, end))) at += space;
    return at == end;
}

/* The first that holds more than spaces: titles of drawings may stand in each other, each with the text of all below. */
static void mark_title(Walk *walk, Node *node) {
    static const Value none = {0};
    Text *text = &walk->text;
    size_t size = text->size, rows = walk->elements.count;
    int32_t chars = text->chars;
    mark_text(walk, M_TITLE, none, node);
    if (!is_blank(text->at + size, text->at + text->size)) {
        walk->found |= HAS_TITLE;
        return;
    }
    text->size = size;
    text->chars = chars;
    walk->elements.count = rows;
}

static Value first_of(Value one, Value two, Value three) { return one.size ? one : two.size ? two : three; }

static void look(Walk *walk, Node *node) {
    static const Value none = {0};
    Value values[N_COUNT];
    size_t size = 0;
    const byte *name = local_name(node, &size);
    read_attributes(node, NAMES, N_COUNT, values);
    int tag = 0;
    while (tag < M_COUNT && !same(name, size, TAGS[tag])) tag++;
    if (values[N_ITEMPROP].present) walk->found |= HAS_MICRODATA;
    if (values[N_TYPEOF].present) walk->found |= HAS_RDFA;
    if (same(name, size, "mjx-container") || lists(values[N_CLASS], "katex-html") ||
        lists(values[N_CLASS], "MathJax_Preview"))
        walk->found |= HAS_DRAWN_MATH;
    switch (tag) {
    case M_TITLE: {
        size_t above_size = 0;
        Node *above = parent_of(node);
        const byte *above_name = above && is_element(above) ? local_name(above, &above_size) : NULL;
        if (!(walk->found & HAS_TITLE) && !same(above_name, above_size, "svg")) mark_title(walk, node);
        break;
    }
    case M_BASE: mark(walk, tag, values[N_HREF], none, none); break;
    case M_META:
        mark(walk, tag, first_of(values[N_NAME], values[N_PROPERTY], values[N_ITEMPROP]), values[N_CONTENT], values[N_EQUIV]);
        break;
    case M_LINK: mark(walk, tag, values[N_REL], values[N_HREF], values[N_TYPE]); break;
    case M_SCRIPT:
        if (has_at(values[N_TYPE], 0, "math/tex")) walk->found |= HAS_DRAWN_MATH;
        if (has(values[N_TYPE], "json")) mark_text(walk, tag, values[N_TYPE], node);
        break;
    case M_TIME:
        if (values[N_DATETIME].present) mark(walk, tag, values[N_DATETIME], none, none);
        break;
    }
}

/* The text below an element, with a space behind each text node, all spaces collapsed; cut off beyond `most` characters,
 * as nobody wants it then. */
static void mark_line(Walk *walk, Node *top, int32_t most) {
    static const byte space = ' ';
    int32_t start = walk->text.chars, length = 0;
    int pending = 0;
    for (Node *node = first_child(top); node && !walk->failed && length <= most; node = next_below(node, top)) {
        size_t size = 0;
        byte *text = is_text(node) ? text_of(walk, node, &size) : NULL;
        if (!text) continue;
        put_collapsed(walk, &walk->text, text, text + size, &length, &pending);
        put_collapsed(walk, &walk->text, &space, &space + 1, &length, &pending);
        release_text(walk, text);
    }
    int32_t *made = marked(walk, 0);
    made[1] = start;
    made[2] = walk->text.chars;
}

static int is_labelled(Node *node, int label) {
    static const char *const names[] = {"class", "itemprop", "rel"};
    Value values[3];
    read_attributes(node, names, 3, values);
    if (label == DATED) return holds_any(values[0], DATES);
    return equals(values[1], "author") || (values[2].size == 6 && has_at(values[2], 0, "author")) ||
           holds_any(values[0], AUTHORS);
}

/* All markers below and at `root`, in document order. */
EXPORT Walk *riffle_markers(Node *root) {
    Walk *walk = begin_pass(root);
    for (Node *node = root; walk && node && !walk->failed; node = next_below(node, root))
        if (is_element(node)) look(walk, node);
    return walk;
}

/* The lines of the first `count` elements whose class says that a date (0) or a name (1) stands there. */
EXPORT Walk *riffle_labelled(Node *root, int label, int count, int32_t most) {
    Walk *walk = begin_pass(root);
    for (Node *node = root; walk && node && count > 0 && !walk->failed; node = next_below(node, root))
        if (is_element(node) && is_labelled(node, label)) {
            mark_line(walk, node, most);
            count--;
        }
    return walk;
}

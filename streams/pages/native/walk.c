/* The walk of streams/pages/walk.py, over a page as the parser writes it out: the same lists, some thirty times as fast.
 *
 * The input is lexbor's serialization of a tree, never a stranger's HTML: every tag is closed, attributes are quoted,
 * and five character references are left. What breaks that all the same (a script that holds "</script>" behind a
 * comment) costs text, never memory: reading stops at the buffer's end, and an end tag that fits nothing is ignored.
 *
 * Results are rows of int32 in growing tables and one UTF-8 text in which places are counted in code points, as Python
 * counts them. walk.py says what each rule is for; streams/pages/native/__init__.py reads the rows.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t byte;

/* Kinds of elements and of spans; the numbers are those of streams/pages/tags.py and native/__init__.py. */
enum { INLINE, BLOCK, SKIP, LINK, SPAN, BREAK, IMAGE, MATH, HEADING, PRE, TEXT, COMMENT, SMALL };
enum { S_LINK, S_STRONG, S_EM, S_CODE, S_MATH, S_IMAGE, S_FOOTNOTE };
enum { A_CLASS, A_ID, A_ROLE, A_LANG, A_COLSPAN, A_KEPT, A_STYLE = A_KEPT, A_HIDDEN, A_ARIA_HIDDEN, A_HREF, A_REL,
       A_SRC, A_ALT, A_ALTTEXT, A_COUNT };
static const char *const ATTRIBUTES[A_COUNT] = {"class", "id", "role", "lang", "colspan", "style", "hidden",
                                                "aria-hidden", "href", "rel", "src", "alt", "alttext"};

/* ---------------------------------------------------------------------------------------------------- memory */

typedef struct { int32_t *at; size_t count, room; } Ints;
typedef struct { byte *at; size_t size, room; int32_t chars; } Text;
typedef struct { uint64_t *at; size_t count, room; } Longs;

/* The caller's page fails as a whole when memory runs out: `failed` stops the walk at its next step. */
typedef struct Walk Walk;

static int grow(void **at, size_t *room, size_t needed, size_t unit) {
    if (needed <= *room) return 1;
    size_t larger = *room ? *room * 2 : 256;
    while (larger < needed) larger *= 2;
    void *moved = realloc(*at, larger * unit);
    if (!moved) return 0;
    *at = moved;
    *room = larger;
    return 1;
}

/* ------------------------------------------------------------------------- tables that Python fills, once */

typedef struct { const byte *name; uint32_t size; int32_t value; uint64_t mask; } Entry;
typedef struct { Entry *slots; uint32_t mask; } Table;

static Table elements, class_words, lexicon;
static int hidden_bit;

static uint64_t hash_of(const byte *at, size_t size) {
    uint64_t hash = 14695981039346656037ULL ^ size;
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
        at += 8;
        size -= 8;
    }
    while (size--) hash = (hash ^ *at++) * 1099511628211ULL;
    return hash ^ hash >> 32;
}

static const Entry *find(const Table *table, const byte *name, size_t size) {
    for (uint32_t at = (uint32_t)hash_of(name, size) & table->mask;; at = (at + 1) & table->mask) {
        const Entry *entry = &table->slots[at];
        if (!entry->name) return NULL;
        if (entry->size == size && !memcmp(entry->name, name, size)) return entry;
    }
}

static int fill(Table *table, const char *const *names, const int32_t *values, const uint64_t *masks, int count) {
    uint32_t room = 64;
    while (room < (uint32_t)count * 3) room *= 2;
    table->slots = calloc(room, sizeof(Entry));
    if (!table->slots) return 0;
    table->mask = room - 1;
    for (int number = 0; number < count; number++) {
        uint32_t size = (uint32_t)strlen(names[number]);
        byte *copy = malloc(size + 1);
        if (!copy) return 0;
        memcpy(copy, names[number], size + 1);
        uint32_t at = (uint32_t)hash_of(copy, size) & table->mask;
        while (table->slots[at].name) at = (at + 1) & table->mask;
        table->slots[at] = (Entry){copy, size, values ? values[number] : number, masks ? masks[number] : 0};
    }
    return 1;
}

/* Elements (value: kind | span kind << 8 | tag number << 16; mask: what it says of itself), words of class and id
 * (mask: their groups), words of short texts (value: flag bits). Called once, before any walk. 0 without memory. */
int riffle_tables(const char *const *names, const int32_t *values, const uint64_t *masks, int count,
                  const char *const *words, const uint64_t *word_masks, int word_count, const char *const *terms,
                  const int32_t *term_bits, int term_count, int hidden) {
    hidden_bit = hidden;
    return fill(&elements, names, values, masks, count) && fill(&class_words, words, NULL, word_masks, word_count) &&
           fill(&lexicon, terms, term_bits, NULL, term_count);
}

/* ------------------------------------------------------------------------------------------ characters */

static size_t width_of(byte first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

/* The bytes of the white space at `at`, as str.isspace() sees it; 0 for anything else. */
static size_t space_at(const byte *at, const byte *end) {
    byte first = *at;
    if (first < 0x80) return first == ' ' || (first >= 9 && first <= 13) || (first >= 0x1c && first <= 0x1f);
    if (first == 0xC2) return at + 1 < end && (at[1] == 0x85 || at[1] == 0xA0) ? 2 : 0;
    if (at + 2 >= end) return 0;
    if (first == 0xE1) return at[1] == 0x9A && at[2] == 0x80 ? 3 : 0;
    if (first == 0xE2) {
        if (at[1] == 0x80) return (at[2] >= 0x80 && at[2] <= 0x8A) || at[2] == 0xA8 || at[2] == 0xA9 || at[2] == 0xAF ? 3 : 0;
        return at[1] == 0x81 && at[2] == 0x9F ? 3 : 0;
    }
    return first == 0xE3 && at[1] == 0x80 && at[2] == 0x80 ? 3 : 0;
}

static int32_t chars_in(const byte *at, size_t size) {
    int32_t count = 0;
    for (size_t index = 0; index < size; index++) count += (at[index] & 0xC0) != 0x80;
    return count;
}

static byte lower(byte letter) { return letter >= 'A' && letter <= 'Z' ? (byte)(letter + 32) : letter; }

/* ---------------------------------------------------------------------------------------------- state */

#define SEGMENT_COLUMNS 15
#define SPAN_COLUMNS 7
#define ELEMENT_COLUMNS 4
#define ATTRIBUTE_COLUMNS 4
#define LINK_COLUMNS 7

typedef struct { const byte *name; uint32_t size; byte kind; } Open;
typedef struct { int32_t part, start; int32_t kind; int32_t target, target_end; } OpenSpan;
typedef struct { int32_t first, end, start, stop, kind, target, target_end, label, label_end; } RawSpan;
typedef struct { const byte *at; uint32_t size, present; } Value;

struct Walk {
    /* Results. `text` holds all of them; a row refers to it by code points. */
    Ints elements, attributes, segments, spans, links;
    Longs masks;
    Text text;
    int32_t failed, formulas;
    /* Of the walk. */
    Text run, link_text, scratch;
    Open *open;
    size_t open_count, open_room;
    OpenSpan *open_spans;
    size_t open_span_count, open_span_room;
    RawSpan *raw;
    size_t raw_count, raw_room;
    int32_t element, parts, link_chars, link_count, images, solid;
    int32_t length;    /* of the run, collapsed, in code points */
    int pending, link_pending, last_is_newline, unset_spans, in_link;
    int32_t link_length, href, href_end, rel, rel_end;
    Longs element_names; /* per element: hash of tag and class */
    Ints class_at;       /* per element: byte place and size of its class, or -1 */
    const byte *title;
    size_t title_size;
};

static void put(Walk *walk, Text *text, const byte *at, size_t size) {
    if (!grow((void **)&text->at, &text->room, text->size + size + 1, 1)) {
        walk->failed = 1;
        return;
    }
    memcpy(text->at + text->size, at, size);
    text->size += size;
    text->chars += chars_in(at, size);
}

static int32_t *row(Walk *walk, Ints *table, int columns) {
    static int32_t lost[16];
    if (!grow((void **)&table->at, &table->room, table->count + (size_t)columns, sizeof(int32_t))) {
        walk->failed = 1;
        return lost;
    }
    int32_t *made = table->at + table->count;
    table->count += (size_t)columns;
    return made;
}

static void put_long(Walk *walk, Longs *table, uint64_t value) {
    if (!grow((void **)&table->at, &table->room, table->count + 1, sizeof(uint64_t))) {
        walk->failed = 1;
        return;
    }
    table->at[table->count++] = value;
}

/* Text with its character references read, into `into`; gives back its first byte's place. */
static size_t unescaped(Walk *walk, Text *into, const byte *at, const byte *end) {
    size_t start = into->size;
    while (at < end) {
        const byte *mark = memchr(at, '&', (size_t)(end - at));
        if (!mark) mark = end;
        put(walk, into, at, (size_t)(mark - at));
        at = mark;
        if (at == end) break;
        size_t left = (size_t)(end - at);
        if (left >= 5 && !memcmp(at, "&amp;", 5)) put(walk, into, (const byte *)"&", 1), at += 5;
        else if (left >= 4 && !memcmp(at, "&lt;", 4)) put(walk, into, (const byte *)"<", 1), at += 4;
        else if (left >= 4 && !memcmp(at, "&gt;", 4)) put(walk, into, (const byte *)">", 1), at += 4;
        else if (left >= 6 && !memcmp(at, "&quot;", 6)) put(walk, into, (const byte *)"\"", 1), at += 6;
        else if (left >= 6 && !memcmp(at, "&nbsp;", 6)) put(walk, into, (const byte *)"\xC2\xA0", 2), at += 6;
        else put(walk, into, at, 1), at += 1;
    }
    return start;
}

/* An attribute's value into the results' text; start and end in code points. */
static void keep(Walk *walk, Value value, int32_t *start, int32_t *end) {
    *start = walk->text.chars;
    if (value.present) unescaped(walk, &walk->text, value.at, value.at + value.size);
    *end = walk->text.chars;
}

/* `at`, with single spaces and none around, into `into`. */
static void put_collapsed(Walk *walk, Text *into, const byte *at, const byte *end, int32_t *length, int *pending) {
    if (!grow((void **)&into->at, &into->room, into->size + (size_t)(end - at) + 2, 1)) {
        walk->failed = 1;
        return;
    }
    byte *out = into->at + into->size;
    int32_t before = *length, chars = before;
    while (at < end) {
        size_t space = *at > ' ' && *at < 0x7f ? 0 : space_at(at, end);
        if (space) {
            *pending = 1;
            at += space;
            continue;
        }
        if (*pending) {
            if (chars) {
                *out++ = ' ';
                chars++;
            }
            *pending = 0;
        }
        chars++;
        if (*at < 0x80) {
            *out++ = *at++;
        } else {
            size_t left = (size_t)(end - at), width = width_of(*at);
            for (width = width < left ? width : left; width; width--) *out++ = *at++;
        }
    }
    into->size = (size_t)(out - into->at);
    into->chars += chars - before;
    *length = chars;
}

/* ---------------------------------------------------------------------------------- runs of text, spans */

static RawSpan *add_raw(Walk *walk) {
    static RawSpan lost;
    if (!grow((void **)&walk->raw, &walk->raw_room, walk->raw_count + 1, sizeof(RawSpan))) {
        walk->failed = 1;
        return &lost;
    }
    return &walk->raw[walk->raw_count++];
}

/* Where the run has come to, in code points of what it is gathered in. */
static int32_t reached(const Walk *walk) { return walk->solid == PRE ? walk->run.chars : walk->length; }

static void close_span(Walk *walk, OpenSpan span, int32_t kind) {
    *add_raw(walk) = (RawSpan){span.part, walk->parts, span.start, reached(walk), kind, span.target, span.target_end, 0, 0};
}

static void add_point(Walk *walk, int32_t kind, int32_t target, int32_t target_end, int32_t label, int32_t label_end) {
    int32_t at = reached(walk);
    *add_raw(walk) = (RawSpan){walk->parts, walk->parts, at, at, kind, target, target_end, label, label_end};
}

static int is_point(int32_t kind) { return kind == S_IMAGE || kind == S_FOOTNOTE; }

/* One part of a run: of text, unescaped. */
static void add_part(Walk *walk, const byte *at, size_t size) {
    const byte *end = at + size;
    walk->parts++;
    walk->last_is_newline = size == 1 && *at == '\n';
    if (walk->solid == PRE) {
        for (size_t index = 0; index < walk->open_span_count; index++)
            if (walk->open_spans[index].start < 0) walk->open_spans[index].start = walk->run.chars;
        while (at < end) { /* lines end with \n */
            const byte *mark = memchr(at, '\r', (size_t)(end - at));
            put(walk, &walk->run, at, (size_t)((mark ? mark : end) - at));
            if (!mark) break;
            put(walk, &walk->run, (const byte *)"\n", 1);
            at = mark + (mark + 1 < end && mark[1] == '\n' ? 2 : 1);
        }
        return;
    }
    const byte *word = at;
    int spaced = 0;
    while (word < end) {
        size_t space = space_at(word, end);
        if (!space) break;
        word += space;
        spaced = 1;
    }
    if (word == end) {
        if (size) walk->pending = 1;
        return;
    }
    if (walk->unset_spans) { /* they start with this text */
        int32_t start = walk->length + (walk->length && (walk->pending || spaced));
        for (size_t index = 0; index < walk->open_span_count; index++)
            if (walk->open_spans[index].start < 0) walk->open_spans[index].start = start;
        walk->unset_spans = 0;
    }
    put_collapsed(walk, &walk->run, at, end, &walk->length, &walk->pending);
}

static void add_raw_text(Walk *walk, const byte *at, const byte *end) {
    walk->scratch.size = 0;
    walk->scratch.chars = 0;
    const byte *plain = at;
    size_t size = (size_t)(end - at);
    if (memchr(at, '&', size)) {
        unescaped(walk, &walk->scratch, at, end);
        plain = walk->scratch.at;
        size = walk->scratch.size;
        if (walk->failed) return;
    }
    const byte *first = plain, *last = plain + size;
    while (first < last) {
        size_t space = space_at(first, last);
        if (!space) break;
        first += space;
    }
    if (first == last && !walk->parts) return;
    add_part(walk, plain, size);
    if (walk->in_link) {
        int32_t before = chars_in(first, (size_t)(last - first)), trailing = 0;
        for (const byte *at2 = first; at2 < last;) { /* what str.strip() leaves */
            size_t space = space_at(at2, last);
            trailing = space ? trailing + 1 : 0;
            at2 += space ? space : width_of(*at2);
        }
        walk->link_chars += before - trailing;
        put_collapsed(walk, &walk->link_text, plain, plain + size, &walk->link_length, &walk->link_pending);
    }
}

static int ends_with(const byte *at, size_t size, const char *ending) {
    size_t length = strlen(ending);
    return size >= length && !memcmp(at + size - length, ending, length);
}

static int is_sentence_end(const byte *at, size_t size) {
    static const char *const endings[] = {".", "!", "?", "\u3002", "\uff01", "\uff1f", ".\"", ".\u201d", "\u2026"};
    for (size_t index = 0; index < sizeof endings / sizeof *endings; index++)
        if (ends_with(at, size, endings[index])) return 1;
    return 0;
}

/* What the content model asks of a text; the bits are those of features.py. NOT_ASCII: Python has to look again. */
enum { F_END = 1 << 3, F_IMAGE = 1 << 4, F_UPPER = 1 << 6, F_COLON = 1 << 7, F_MARKED = 1 << 8, F_DIGIT = 1 << 12,
       F_MONEY = 1 << 13, F_TITLE = 1 << 14, F_BAR = 1 << 15, F_NOT_ASCII = 1 << 20, SHORT = 120 };

static int32_t flags_of(Walk *walk, const byte *at, size_t size, int32_t chars, int32_t *tokens) {
    int32_t flags = 0;
    if (is_sentence_end(at, size)) flags |= F_END;
    if (*at >= 'A' && *at <= 'Z') flags |= F_UPPER;
    if (at[size - 1] == ':') flags |= F_COLON;
    if ((size_t)chars != size) flags |= F_NOT_ASCII;
    *tokens = 0;
    if (chars >= SHORT) return flags;
    byte low[SHORT * 4];
    const byte *end = at + size;
    for (size_t index = 0; index < size; index++) {
        byte letter = at[index];
        low[index] = lower(letter);
        if (letter >= '0' && letter <= '9') flags |= F_DIGIT;
        if (letter == '$') flags |= F_MONEY;
        if (letter == '|') flags |= F_BAR;
        if (letter == 0xE2 && index + 2 < size) {
            if (at[index + 1] == 0x82 && at[index + 2] == 0xAC) flags |= F_MONEY;                                /* euro */
            if (at[index + 1] == 0x80 && (at[index + 2] == 0xBA || at[index + 2] == 0xA2)) flags |= F_BAR; /* › • */
        }
        if (letter == 0xC2 && index + 1 < size) {
            if (at[index + 1] == 0xA3) flags |= F_MONEY; /* pound */
            if (at[index + 1] == 0xBB) flags |= F_BAR;   /* » */
        }
    }
    for (const byte *word = at; word < end;) {
        size_t space = space_at(word, end);
        if (space) {
            word += space;
            continue;
        }
        const byte *stop = word;
        while (stop < end && !space_at(stop, end)) stop += width_of(*stop);
        if (stop > end) stop = end;
        const Entry *term = find(&lexicon, low + (word - at), (size_t)(stop - word));
        if (term) flags |= term->value;
        ++*tokens;
        word = stop;
    }
    if (chars > 3 && size <= walk->title_size && size < sizeof low) {
        const byte *from = walk->title, *last = walk->title + walk->title_size - size;
        while (from <= last && (from = memchr(from, low[0], (size_t)(last - from) + 1))) {
            if (!memcmp(from, low, size)) {
                flags |= F_TITLE;
                break;
            }
            from++;
        }
    }
    return flags;
}

static void reset_run(Walk *walk) {
    walk->run.size = 0;
    walk->run.chars = 0;
    walk->parts = 0;
    walk->length = 0;
    walk->pending = 0;
    walk->last_is_newline = 0;
}

/* The run of text ends here: a segment, if it holds text. */
static void flush(Walk *walk) {
    for (size_t index = 0; index < walk->open_span_count; index++) {
        close_span(walk, walk->open_spans[index], walk->open_spans[index].kind);
        walk->open_spans[index].part = 0;
        walk->open_spans[index].start = -1;
    }
    walk->unset_spans = walk->open_span_count > 0;
    const byte *at = walk->run.at;
    size_t size = walk->run.size;
    int32_t chars = walk->run.chars, lead = 0;
    int is_pre = walk->solid == PRE;
    if (is_pre) { /* without blank lines around it */
        const byte *end = at + size, *first = at, *stop = at, *line = at;
        while (first < end) {
            size_t space = space_at(first, end);
            if (!space) break;
            if (*first == '\n') line = first + 1;
            first += space;
        }
        for (const byte *next = first; next < end;) {
            size_t space = space_at(next, end);
            next += space ? space : width_of(*next);
            if (!space) stop = next;
        }
        if (stop > end) stop = end;
        if (first == end) {
            size = 0;
        } else {
            lead = chars_in(at, (size_t)(line - at));
            size = (size_t)(stop - line);
            at = line;
            chars = chars_in(at, size);
        }
    }
    if (!size) { /* images and footnotes wait for the next text */
        size_t kept = 0;
        for (size_t index = 0; index < walk->raw_count; index++) {
            RawSpan span = walk->raw[index];
            if (!is_point(span.kind)) continue;
            span.first = span.end = span.start = span.stop = 0;
            walk->raw[kept++] = span;
        }
        walk->raw_count = kept;
        reset_run(walk);
        return;
    }
    int32_t first_span = (int32_t)(walk->spans.count / SPAN_COLUMNS);
    for (size_t index = 0; index < walk->raw_count; index++) {
        RawSpan span = walk->raw[index];
        int32_t start = span.start, stop = span.stop;
        if (is_pre) {
            start = start < 0 ? span.stop : start; /* no part since it was opened */
            start = start - lead < 0 ? 0 : start - lead > chars ? chars : start - lead;
            stop = stop - lead < 0 ? 0 : stop - lead > chars ? chars : stop - lead;
            if (start >= stop && !is_point(span.kind)) continue;
        } else if (!is_point(span.kind) && (start < 0 || !span.end)) {
            continue;
        }
        int32_t *made = row(walk, &walk->spans, SPAN_COLUMNS);
        made[0] = start;
        made[1] = stop;
        made[2] = span.kind;
        made[3] = span.target;
        made[4] = span.target_end;
        made[5] = span.label;
        made[6] = span.label_end;
    }
    int32_t spaces = 0, commas = 0, stops = 0, tokens;
    for (size_t index = 0; index < size; index++) {
        spaces += at[index] == ' ';
        commas += at[index] == ',';
        stops += at[index] == '.' && index + 1 < size && at[index + 1] == ' ';
    }
    int32_t flags = flags_of(walk, at, size, chars, &tokens);
    if (walk->images) flags |= F_IMAGE;
    if (walk->raw_count) flags |= F_MARKED;
    int32_t start = walk->text.chars;
    put(walk, &walk->text, at, size);
    uint64_t hash = hash_of(at, size);
    int32_t *made = row(walk, &walk->segments, SEGMENT_COLUMNS);
    made[0] = walk->element;
    made[1] = start;
    made[2] = walk->text.chars;
    made[3] = walk->link_chars;
    made[4] = walk->link_count;
    made[5] = walk->images;
    made[6] = first_span;
    made[7] = (int32_t)(walk->spans.count / SPAN_COLUMNS);
    made[8] = flags;
    made[9] = chars < SHORT ? tokens : spaces + 1;
    made[10] = chars > 40 ? commas : 0;
    made[11] = chars > 40 ? stops : 0;
    made[12] = spaces + 1;
    made[13] = (int32_t)(hash & 0x7FFFFFFF);
    made[14] = (int32_t)(hash >> 33);
    walk->raw_count = 0;
    walk->link_chars = walk->link_count = walk->images = 0;
    reset_run(walk);
}

static void open_span(Walk *walk, int32_t kind, int32_t target, int32_t target_end) {
    if (!grow((void **)&walk->open_spans, &walk->open_span_room, walk->open_span_count + 1, sizeof(OpenSpan))) {
        walk->failed = 1;
        return;
    }
    walk->open_spans[walk->open_span_count++] = (OpenSpan){walk->parts, -1, kind, target, target_end};
    walk->unset_spans = 1;
}

/* --------------------------------------------------------------------------------------------- elements */

#define READ_CHARS 200 /* of a class or id */

static uint64_t words_mask(const byte *at, size_t size, int32_t most) {
    uint64_t mask = 0;
    byte low[64];
    const byte *end = at;
    for (int32_t chars = 0; end < at + size && chars < most; chars++) end += width_of(*end);
    if (end > at + size) end = at + size;
    while (at < end) {
        const byte *word = at;
        int is_upper = *at >= 'A' && *at <= 'Z';
        if (!is_upper && !(*at >= 'a' && *at <= 'z')) {
            at++;
            continue;
        }
        at++;
        if (is_upper && (at >= end || !(*at >= 'a' && *at <= 'z')))
            while (at < end && *at >= 'A' && *at <= 'Z') at++;
        else
            while (at < end && *at >= 'a' && *at <= 'z') at++;
        size_t length = (size_t)(at - word);
        if (length > sizeof low) continue;
        for (size_t index = 0; index < length; index++) low[index] = lower(word[index]);
        const Entry *found = find(&class_words, low, length);
        if (found) mask |= found->mask;
    }
    return mask;
}

/* display: none, visibility: hidden */
static int hides(const byte *at, size_t size) {
    static const char *const rules[][2] = {{"display", "none"}, {"visibility", "hidden"}};
    for (int rule = 0; rule < 2; rule++) {
        size_t name = strlen(rules[rule][0]), value = strlen(rules[rule][1]);
        for (size_t start = 0; start + name + value < size; start++) {
            size_t index = 0;
            while (index < name && lower(at[start + index]) == (byte)rules[rule][0][index]) index++;
            if (index < name) continue;
            const byte *next = at + start + name, *end = at + size;
            size_t space;
            while (next < end && (space = space_at(next, end))) next += space;
            if (next == end || *next++ != ':') continue;
            while (next < end && (space = space_at(next, end))) next += space;
            if ((size_t)(end - next) < value) continue;
            index = 0;
            while (index < value && lower(next[index]) == (byte)rules[rule][1][index]) index++;
            if (index == value) return 1;
        }
    }
    return 0;
}

static const byte *plain_value(Walk *walk, Value value, size_t *size) {
    walk->scratch.size = 0;
    walk->scratch.chars = 0;
    if (!memchr(value.at, '&', value.size)) {
        *size = value.size;
        return value.at;
    }
    unescaped(walk, &walk->scratch, value.at, value.at + value.size);
    *size = walk->scratch.size;
    return walk->scratch.at;
}

static uint64_t own_mask(Walk *walk, uint64_t mask, const Value *values) {
    size_t size;
    for (int name = A_CLASS; name <= A_ID; name++)
        if (values[name].present && values[name].size) {
            const byte *plain = plain_value(walk, values[name], &size);
            if (!walk->failed) mask |= words_mask(plain, size, READ_CHARS);
        }
    if (values[A_ROLE].present) {
        const Entry *role = find(&elements, values[A_ROLE].at, values[A_ROLE].size);
        if (role) mask |= role->mask;
    }
    if ((values[A_STYLE].present && hides(values[A_STYLE].at, values[A_STYLE].size)) || values[A_HIDDEN].present ||
        (values[A_ARIA_HIDDEN].present && values[A_ARIA_HIDDEN].size == 4 && !memcmp(values[A_ARIA_HIDDEN].at, "true", 4)))
        mask |= 1ULL << hidden_bit;
    return mask;
}

static void add_element(Walk *walk, int32_t parent, int32_t tag, uint64_t mask, const Value *values) {
    int32_t first = (int32_t)(walk->attributes.count / ATTRIBUTE_COLUMNS);
    uint64_t named = 0x9E3779B97F4A7C15ULL * (uint64_t)(tag + 1);
    for (int name = 0; name < A_KEPT; name++) {
        if (!values[name].present) continue;
        int32_t start, end;
        keep(walk, values[name], &start, &end);
        int32_t *made = row(walk, &walk->attributes, ATTRIBUTE_COLUMNS);
        made[0] = (int32_t)(walk->elements.count / ELEMENT_COLUMNS);
        made[1] = name;
        made[2] = start;
        made[3] = end;
    }
    if (values[A_CLASS].size) named ^= hash_of(values[A_CLASS].at, values[A_CLASS].size) | 1;
    int32_t *made = row(walk, &walk->elements, ELEMENT_COLUMNS);
    made[0] = tag;
    made[1] = parent;
    made[2] = first;
    made[3] = (int32_t)(walk->attributes.count / ATTRIBUTE_COLUMNS);
    put_long(walk, &walk->masks, own_mask(walk, mask, values));
    put_long(walk, &walk->element_names, named);
}

/* A class that preformatted text takes over from the code in it: one row more, read after the others. */
static void add_class(Walk *walk, Value value) {
    size_t element = (size_t)walk->element, size;
    if (element * ELEMENT_COLUMNS + ELEMENT_COLUMNS != walk->elements.count || walk->failed) return;
    int32_t start, end, left = READ_CHARS - 1; /* a space is put between */
    for (size_t at = (size_t)walk->elements.at[element * ELEMENT_COLUMNS + 2] * ATTRIBUTE_COLUMNS;
         at < walk->attributes.count; at += ATTRIBUTE_COLUMNS) {
        const int32_t *had = walk->attributes.at + at;
        if (had[1] == A_CLASS) left -= had[3] - had[2];
        if (had[1] == A_COUNT) left -= had[3] - had[2] + 1;
    }
    keep(walk, value, &start, &end);
    int32_t *made = row(walk, &walk->attributes, ATTRIBUTE_COLUMNS);
    made[0] = walk->element;
    made[1] = A_COUNT;
    made[2] = start;
    made[3] = end;
    if (walk->failed) return;
    walk->elements.at[element * ELEMENT_COLUMNS + 3]++;
    const byte *plain = plain_value(walk, value, &size);
    if (walk->failed) return;
    walk->masks.at[element] |= words_mask(plain, size, left);
    walk->element_names.at[element] = (walk->element_names.at[element] + 1) * 0x9E3779B97F4A7C15ULL ^ hash_of(plain, size);
}

static void push(Walk *walk, const byte *name, size_t size, int kind) {
    if (!grow((void **)&walk->open, &walk->open_room, walk->open_count + 1, sizeof(Open))) {
        walk->failed = 1;
        return;
    }
    walk->open[walk->open_count++] = (Open){name, (uint32_t)size, (byte)kind};
}

static void pop(Walk *walk) {
    Open closing = walk->open[--walk->open_count];
    OpenSpan span;
    switch (closing.kind) {
    case INLINE: return;
    case BLOCK:
        if (walk->parts || walk->raw_count) flush(walk);
        break;
    case LINK: {
        span = walk->open_spans[--walk->open_span_count];
        if (span.part < walk->parts) close_span(walk, span, S_LINK);
        int32_t *made = row(walk, &walk->links, LINK_COLUMNS), start = walk->text.chars;
        put(walk, &walk->text, walk->link_text.at, walk->link_text.size);
        made[0] = walk->href;
        made[1] = walk->href_end;
        made[2] = start;
        made[3] = walk->text.chars;
        made[4] = walk->rel;
        made[5] = walk->rel_end;
        made[6] = (int32_t)(walk->segments.count / SEGMENT_COLUMNS);
        walk->in_link = 0;
        return;
    }
    case SPAN:
        span = walk->open_spans[--walk->open_span_count];
        if (span.part < walk->parts) close_span(walk, span, span.kind);
        return;
    case BREAK: /* a block inside a heading or preformatted text */
        add_part(walk, (const byte *)"\n", 1);
        return;
    default:
        flush(walk);
        walk->solid = 0;
    }
    walk->element = walk->elements.at[(size_t)walk->element * ELEMENT_COLUMNS + 1];
}

/* ------------------------------------------------------------------------------------------------- tags */

typedef struct { const byte *name; size_t name_size; const byte *end; Value values[A_COUNT]; } Tag;

/* The tag at `at`, which points behind "<". */
static Tag read_tag(const byte *at, const byte *end) {
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
static const char *raw_text(const byte *name, size_t size) {
    static const char *const names[] = {"script", "style", "iframe", "noframes", "noembed", "xmp", "plaintext"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (strlen(names[index]) == size && !memcmp(names[index], name, size)) return names[index];
    return NULL;
}

static int is_void(const byte *name, size_t size) {
    static const char *const names[] = {"area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr",
                                        "img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (strlen(names[index]) == size && !memcmp(names[index], name, size)) return 1;
    return 0;
}

static const byte *after_comment(const byte *at, const byte *end) { /* at: behind "<!" or "<?" */
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
static const byte *after_element(Walk *walk, const byte *name, size_t size, const byte *at, const byte *end, Text *into,
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

static const byte *after_raw(const byte *name, size_t size, const byte *at, const byte *end) {
    while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        at++;
        if ((size_t)(end - at) > size + 1 && *at == '/' && !memcmp(at + 1, name, size) && at[size + 1] == '>') return at + size + 2;
    }
    return end;
}

static int is_permalink(Walk *walk, const Tag *tag, const byte *end) {
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

/* Behind what starts with the tag: the tag alone, or all of the element where the walk does not go in. */
static const byte *start_element(Walk *walk, const Tag *tag, const byte *end) {
    const Entry *entry = find(&elements, tag->name, tag->name_size);
    int kind = entry ? entry->value & 0xFF : INLINE;
    const Value *values = tag->values;
    switch (kind) {
    case BLOCK:
    case HEADING:
    case PRE:
        if (walk->solid) {
            add_part(walk, (const byte *)"\n", 1);
            kind = BREAK;
        } else {
            if (walk->parts) flush(walk);
            int32_t parent = walk->element;
            walk->element = (int32_t)(walk->elements.count / ELEMENT_COLUMNS);
            add_element(walk, parent, entry->value >> 16, entry->mask, values);
            if (kind != BLOCK) {
                walk->solid = kind;
                for (size_t index = 0; index < walk->open_span_count; index++) walk->open_spans[index].start = -1;
            }
        }
        push(walk, tag->name, tag->name_size, kind);
        if (is_void(tag->name, tag->name_size)) pop(walk); /* hr, legend's like: nothing stands in it */
        return tag->end;
    case SMALL:
        if (values[A_ROLE].present && values[A_ROLE].size == 12 && !memcmp(values[A_ROLE].at, "doc-footnote", 12)) {
            Text *note = &walk->scratch;
            note->size = 0;
            note->chars = 0;
            const byte *next = after_element(walk, tag->name, tag->name_size, tag->end, end, note, SIZE_MAX);
            int32_t start = walk->text.chars, length = 0;
            int pending = 0;
            if (!walk->failed && note->size) put_collapsed(walk, &walk->text, note->at, note->at + note->size, &length, &pending);
            if (length) add_point(walk, S_FOOTNOTE, start, walk->text.chars, 0, 0);
            return next;
        }
        push(walk, tag->name, tag->name_size, INLINE);
        return tag->end;
    case LINK: {
        int has_target = values[A_HREF].present && values[A_HREF].size;
        if (has_target && *values[A_HREF].at == '#' && is_permalink(walk, tag, end))
            return after_element(walk, tag->name, tag->name_size, tag->end, end, NULL, 0);
        if (!has_target || walk->in_link) {
            push(walk, tag->name, tag->name_size, INLINE);
            return tag->end;
        }
        if (walk->parts && walk->raw_count) {
            const RawSpan *last = &walk->raw[walk->raw_count - 1];
            if (last->end == walk->parts && last->kind == S_LINK) add_part(walk, (const byte *)" ", 1); /* side by side */
        }
        walk->link_count++;
        keep(walk, values[A_HREF], &walk->href, &walk->href_end);
        keep(walk, values[A_REL], &walk->rel, &walk->rel_end);
        walk->in_link = 1;
        walk->link_text.size = 0;
        walk->link_text.chars = 0;
        walk->link_length = 0;
        walk->link_pending = 0;
        open_span(walk, S_LINK, walk->href, walk->href_end);
        push(walk, tag->name, tag->name_size, LINK);
        return tag->end;
    }
    case SPAN:
        if (walk->solid == PRE) {
            if (values[A_CLASS].present && values[A_CLASS].size) add_class(walk, values[A_CLASS]);
            push(walk, tag->name, tag->name_size, INLINE);
        } else {
            open_span(walk, entry->value >> 8 & 0xFF, 0, 0);
            push(walk, tag->name, tag->name_size, SPAN);
        }
        return tag->end;
    case BREAK:
        if (walk->solid == PRE) add_part(walk, (const byte *)"\n", 1);
        else if (walk->parts) {
            if (walk->last_is_newline) flush(walk);
            else add_part(walk, (const byte *)"\n", 1);
        }
        return tag->end;
    case IMAGE:
        walk->images++;
        if (values[A_SRC].present && values[A_SRC].size &&
            !(values[A_SRC].size >= 5 && !memcmp(values[A_SRC].at, "data:", 5))) {
            int32_t target, target_end, label, length = 0;
            int pending = 0;
            keep(walk, values[A_SRC], &target, &target_end);
            label = walk->text.chars;
            if (values[A_ALT].present) {
                size_t size;
                const byte *plain = plain_value(walk, values[A_ALT], &size);
                if (!walk->failed) put_collapsed(walk, &walk->text, plain, plain + size, &length, &pending);
            }
            add_point(walk, S_IMAGE, target, target_end, label, walk->text.chars);
        }
        return tag->end;
    case MATH: /* its source was put into this attribute */
        walk->formulas++;
        if (values[A_ALTTEXT].present && values[A_ALTTEXT].size) {
            size_t size;
            const byte *plain = plain_value(walk, values[A_ALTTEXT], &size);
            if (!walk->failed) {
                int32_t part = walk->parts, before = walk->length, raw = walk->run.chars;
                int has_space = walk->length && walk->pending;
                add_part(walk, plain, size);
                if (walk->solid == PRE) *add_raw(walk) = (RawSpan){part, part + 1, raw, walk->run.chars, S_MATH, 0, 0, 0, 0};
                else *add_raw(walk) = (RawSpan){part, part + 1, before + has_space, walk->length, S_MATH, 0, 0, 0, 0};
            }
        }
        return after_element(walk, tag->name, tag->name_size, tag->end, end, NULL, 0);
    case COMMENT: return tag->end;
    case SKIP:
        if (is_void(tag->name, tag->name_size)) return tag->end;
        if (raw_text(tag->name, tag->name_size)) return after_raw(tag->name, tag->name_size, tag->end, end);
        return after_element(walk, tag->name, tag->name_size, tag->end, end, NULL, 0);
    default:
        if (raw_text(tag->name, tag->name_size)) { /* xmp, plaintext: their text is written as it is, and read so */
            const byte *next = after_raw(tag->name, tag->name_size, tag->end, end);
            size_t closing = tag->name_size + 3;
            const byte *stop = next - tag->end >= (ptrdiff_t)closing && next[-1] == '>' ? next - closing : next;
            if (stop > tag->end) {
                add_raw_text(walk, tag->end, stop);
            }
            return next;
        }
        if (!is_void(tag->name, tag->name_size)) push(walk, tag->name, tag->name_size, INLINE);
        return tag->end;
    }
}

static void end_element(Walk *walk, const byte *name, size_t size) {
    size_t at = walk->open_count;
    while (at > 0 && !(walk->open[at - 1].size == size && !memcmp(walk->open[at - 1].name, name, size))) at--;
    while (at > 0 && walk->open_count >= at) pop(walk);
}

static void number_groups(Walk *walk);

/* Walk a serialized body. `title`: the page's, in lower case. Gives back what riffle_free takes; NULL without memory. */
Walk *riffle_walk(const byte *html, size_t size, const byte *title, size_t title_size) {
    Walk *walk = calloc(1, sizeof(Walk));
    if (!walk) return NULL;
    walk->title = title;
    walk->title_size = title_size;
    const byte *at = html, *end = html + size;
    if (!grow((void **)&walk->text.at, &walk->text.room, size / 2 + 64, 1)) walk->failed = 1;
    put(walk, &walk->run, html, 0);
    put(walk, &walk->link_text, html, 0);
    put(walk, &walk->scratch, html, 0);
    if (at < end && *at == '<') { /* the body itself, whatever it is */
        Tag top = read_tag(at + 1, end);
        const Entry *body = find(&elements, (const byte *)"body", 4);
        add_element(walk, -1, body ? body->value >> 16 : 0, 0, top.values);
        at = top.end;
        if (end - at > 3 && end[-1] == '>') { /* and its end tag */
            const byte *mark = end - 1;
            while (mark > at && *mark != '<') mark--;
            end = mark;
        }
    }
    while (at < end && !walk->failed) {
        const byte *mark = memchr(at, '<', (size_t)(end - at));
        if (!mark) mark = end;
        if (mark > at) add_raw_text(walk, at, mark);
        if (mark == end) break;
        at = mark + 1;
        if (at == end) break;
        if (*at == '!' || *at == '?') {
            at = after_comment(at + 1, end);
        } else if (*at == '/') {
            const byte *name = ++at;
            while (at < end && *at != '>') at++;
            end_element(walk, name, (size_t)(at - name));
            if (at < end) at++;
        } else {
            Tag tag = read_tag(at, end);
            at = start_element(walk, &tag, end);
        }
    }
    while (walk->open_count && !walk->failed) pop(walk);
    if (walk->parts && !walk->failed) flush(walk);
    if (!walk->failed) number_groups(walk);
    return walk;
}

/* Segments in elements alike (tag and class, and their parents') get the same number, in the column of the hash's
 * first half; equal texts are told in its second: 1 where another segment has the same. */
static void number_groups(Walk *walk) {
    size_t count = walk->segments.count / SEGMENT_COLUMNS, room = 64;
    while (room < count * 2) room *= 2;
    uint64_t *keys = calloc(room * 2, sizeof(uint64_t));
    int32_t *values = malloc(room * 2 * sizeof(int32_t));
    if (!keys || !values) {
        walk->failed = 1;
        count = 0;
    }
    int32_t groups = 0;
    for (size_t index = 0; index < count; index++) {
        int32_t *segment = walk->segments.at + index * SEGMENT_COLUMNS;
        size_t element = (size_t)segment[0];
        int32_t parent = walk->elements.at[element * ELEMENT_COLUMNS + 1];
        uint64_t key = walk->element_names.at[element] * 31 + walk->element_names.at[parent < 0 ? 0 : parent];
        key = (key ^ key >> 29) | 1;
        uint64_t text = ((uint64_t)(uint32_t)segment[14] << 31 | (uint32_t)segment[13]) | 1ULL << 63;
        size_t slot = (size_t)(key >> 7) & (room - 1);
        while (keys[slot] && keys[slot] != key) slot = (slot + 1) & (room - 1);
        if (!keys[slot]) {
            keys[slot] = key;
            values[slot] = groups++;
        }
        segment[13] = values[slot];
        size_t seen = room + ((size_t)(text * 0x9E3779B97F4A7C15ULL >> 20) & (room - 1));
        while (keys[seen] && keys[seen] != text) seen = room + ((seen + 1) & (room - 1));
        segment[14] = 0;
        if (!keys[seen]) {
            keys[seen] = text;
            values[seen] = (int32_t)index;
        } else {
            segment[14] = 1;
            walk->segments.at[(size_t)values[seen] * SEGMENT_COLUMNS + 14] = 1;
        }
    }
    free(keys);
    free(values);
}

/* What the rows are: pointer and count of int32 for elements, attributes, segments, spans, links; of uint64 for masks;
 * of bytes for the text; then whether memory ran out, and how many formulas there were. */
void riffle_results(const Walk *walk, const void **pointers, uint64_t *counts) {
    const Ints *tables[] = {&walk->elements, &walk->attributes, &walk->segments, &walk->spans, &walk->links};
    for (int index = 0; index < 5; index++) {
        pointers[index] = tables[index]->at;
        counts[index] = tables[index]->count;
    }
    pointers[5] = walk->masks.at;
    counts[5] = walk->masks.count;
    pointers[6] = walk->text.at;
    counts[6] = walk->text.size;
    counts[7] = (uint64_t)walk->failed;
    counts[8] = (uint64_t)walk->formulas;
}

void riffle_free(Walk *walk) {
    if (!walk) return;
    void *held[] = {walk->elements.at,  walk->attributes.at, walk->segments.at,      walk->spans.at,    walk->links.at,
                    walk->masks.at,     walk->text.at,       walk->run.at,           walk->link_text.at, walk->scratch.at,
                    walk->open,         walk->open_spans,    walk->raw,              walk->element_names.at,
                    walk->class_at.at};
    for (size_t index = 0; index < sizeof held / sizeof *held; index++) free(held[index]);
    free(walk);
}

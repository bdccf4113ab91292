/* What the files of the walk share: the state of one walk, its memory, and how characters are read. */
#ifndef RIFFLE_PAGE_H
#define RIFFLE_PAGE_H

#include "base.h"

/* Kinds of elements and of spans; the numbers are those of streams/pages/parse/elements.py and native/__init__.py. */
enum { INLINE, BLOCK, SKIP, LINK, SPAN, BREAK, IMAGE, MATH, HEADING, PRE, TEXT, COMMENT, SMALL, RAISED, LOWERED };
enum { S_LINK, S_STRONG, S_EM, S_CODE, S_MATH, S_IMAGE, S_FOOTNOTE };
enum { A_CLASS, A_ID, A_ROLE, A_LANG, A_COLSPAN, A_ROWSPAN, A_KEPT, A_STYLE = A_KEPT, A_HIDDEN, A_ARIA_HIDDEN, A_HREF, A_REL,
       A_SRC, A_ALT, A_ALTTEXT, A_COUNT };

/* ---------------------------------------------------------------------------------------------------- memory */

typedef struct { int32_t *at; size_t count, room; } Ints;
typedef struct { byte *at; size_t size, room; int32_t chars; } Text;
typedef struct { uint64_t *at; size_t count, room; } Longs;

/* The caller's page fails as a whole when memory runs out: `failed` stops the walk at its next step. */
typedef struct Walk Walk;

/* Nothing grows beyond what int32 counts and ctypes copies. */
static int grow(void **at, size_t *room, size_t needed, size_t unit) {
    if (needed <= *room) return 1;
    size_t larger = *room ? *room * 2 : 256;
    while (larger < needed) larger *= 2;
    if (larger > INT32_MAX / unit) return 0;
    void *moved = realloc(*at, larger * unit);
    if (!moved) return 0;
    *at = moved;
    *room = larger;
    return 1;
}

/* ------------------------------------------------------------------------- tables that Python fills, once */

typedef struct { const byte *name; uint32_t size; int32_t value; uint64_t mask; } Entry;
typedef struct { Entry *slots; uint32_t mask; } Table;

extern Table elements, class_words, lexicon; /* tables.c */
extern int hidden_bit;
const Entry *find(const Table *table, const byte *name, size_t size);

static inline uint64_t hash_of(const byte *at, size_t size) {
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

/* ------------------------------------------------------------------------------------------ characters */

static inline size_t width_of(byte first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

/* The bytes of the white space at `at`, as str.isspace() sees it; 0 for anything else. */
static inline size_t space_at(const byte *at, const byte *end) {
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

static inline int32_t chars_in(const byte *at, size_t size) {
    int32_t count = 0;
    while (size) { /* in stretches whose counts fit a byte: the compiler then looks at 16 at once */
        size_t stretch = size < 240 ? size : 240;
        uint8_t found = 0;
        for (size_t index = 0; index < stretch; index++) found = (uint8_t)(found + ((at[index] & 0xC0) != 0x80));
        count += found;
        at += stretch;
        size -= stretch;
    }
    return count;
}


/* ---------------------------------------------------------------------------------------------- state */

#define SEGMENT_COLUMNS 16
#define SPAN_COLUMNS 8
#define ELEMENT_COLUMNS 4
#define ATTRIBUTE_COLUMNS 4
#define LINK_COLUMNS 8
#define MARKER_COLUMNS 7

typedef struct { int32_t part, start, kind, target, target_end, form; } OpenSpan;
typedef struct { int32_t first, end, start, stop, kind, target, target_end, label, label_end, form; } RawSpan;
typedef struct { const byte *at; uint32_t size, present; } Value;

static inline int same(const byte *at, size_t size, const char *other) {
    return at && strlen(other) == size && !memcmp(at, other, size);
}

static inline int equals(Value value, const char *other) { return same(value.at, value.size, other); }

/* Whether this stands at that place, in letters of either case; `part` is in lower case. */
static inline int has_at(Value value, size_t at, const char *part) {
    size_t size = strlen(part), index = 0;
    if (at + size > value.size) return 0;
    while (index < size && lower(value.at[at + index]) == (byte)part[index]) index++;
    return index == size;
}

/* Whether this stands anywhere, in letters of either case. */
static inline int has(Value value, const char *part) {
    for (size_t at = 0; at < value.size; at++)
        if (has_at(value, at, part)) return 1;
    return 0;
}

struct Walk {
    /* Results. `text` holds all of them; a row refers to it by code points. */
    Ints elements, attributes, segments, spans, links;
    Longs masks;
    Text text;
    int32_t failed, found; /* of a walk the count of formulas, of markers their flags */
    /* Of the walk. */
    Text run, link_text, scratch, classes;
    byte *open; /* kinds of the elements that are open */
    size_t open_count, open_room;
    OpenSpan *open_spans;
    size_t open_span_count, open_span_room;
    RawSpan *raw;
    size_t raw_count, raw_room;
    int32_t element, parts, link_chars, link_count, images, solid, classes_left;
    int32_t length;    /* of the run, collapsed, in code points */
    int pending, link_pending, last_is_newline, in_link;
    int32_t link_end; /* of the link that was closed last in this run, in parts */
    int32_t link_length, href, href_end, rel, rel_end, form;
    Longs element_names; /* per element: hash of tag and class */
    const byte *title;
    size_t title_size;
    void *document;
    /* Written to instead of what there is no memory for. */
    int32_t lost[SEGMENT_COLUMNS];
    RawSpan lost_span;
};

typedef struct Node Node; /* lexbor's, never looked into */
typedef struct { const byte *name; size_t name_size; Value values[A_COUNT]; } Tag;

static inline void put(Walk *walk, Text *text, const byte *at, size_t size) {
    if (!grow((void **)&text->at, &text->room, text->size + size + 1, 1)) {
        walk->failed = 1;
        return;
    }
    memcpy(text->at + text->size, at, size);
    text->size += size;
    text->chars += chars_in(at, size);
}

static inline int32_t *row(Walk *walk, Ints *table, int columns) {
    if (!grow((void **)&table->at, &table->room, table->count + (size_t)columns, sizeof(int32_t))) {
        walk->failed = 1;
        return walk->lost;
    }
    int32_t *made = table->at + table->count;
    table->count += (size_t)columns;
    return made;
}

static inline void put_long(Walk *walk, Longs *table, uint64_t value) {
    if (!grow((void **)&table->at, &table->room, table->count + 1, sizeof(uint64_t))) {
        walk->failed = 1;
        return;
    }
    table->at[table->count++] = value;
}

/* An attribute's value into the results' text; start and end in code points. */
static inline void keep(Walk *walk, Value value, int32_t *start, int32_t *end) {
    *start = walk->text.chars;
    if (value.size) put(walk, &walk->text, value.at, value.size);
    *end = walk->text.chars;
}

/* `at`, with single spaces and none around, into `into`. */
static inline void put_collapsed(Walk *walk, Text *into, const byte *at, const byte *end, int32_t *length, int *pending) {
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

/* ------------------------------------------------------------------------------------------ from file to file */

/* runs.c: runs of text and their spans */
RawSpan *add_raw(Walk *walk);
void add_point(Walk *walk, int32_t kind, int32_t target, int32_t target_end, int32_t label, int32_t label_end, int32_t form);
void add_part(Walk *walk, const byte *at, size_t size);
void add_text(Walk *walk, const byte *at, size_t size);
int32_t reached(const Walk *walk);
void open_span(Walk *walk, int32_t kind, int32_t target, int32_t target_end, int32_t form);
void close_span(Walk *walk, OpenSpan span, int32_t kind);
void flush(Walk *walk);
void attach_back(Walk *walk);
void divide(Walk *walk);

/* elements.c: block elements, what they say of themselves, and which are open */
void add_element(Walk *walk, int32_t parent, int32_t tag, uint64_t mask, const Value *values);
void begin_classes(Walk *walk, Value own);
void add_class(Walk *walk, Value value);
void end_classes(Walk *walk);
int kind_of(Node *node);
void push(Walk *walk, int kind);
void pop(Walk *walk);

/* raised.c: superscripts and subscripts */
int add_raised(Walk *walk, Node *node, int32_t kind);

/* forms.c: which of the forms of streams/pages/parse/link_resolver.py a link has */
int32_t form_of(Value href);

/* walk.c: what each pass over a tree begins with; NULL without memory */
Walk *begin_pass(Node *root);

/* tree.c: the parser's tree, through the parser's own functions */
Node *first_child(Node *node);
Node *next_sibling(Node *node);
Node *parent_of(Node *node);
Node *next_below(Node *node, const Node *top);
void take_out(Node *node);
int is_element(Node *node);
int is_text(Node *node);
int is_document(Node *node);
const byte *local_name(Node *node, size_t *size);
void read_attributes(Node *node, const char *const *names, int count, Value *values);
Tag read_tag(Node *node);
byte *text_of(Walk *walk, Node *node, size_t *size);
void release_text(Walk *walk, byte *text);
void put_text_below(Walk *walk, Node *node, Text *into);

#endif

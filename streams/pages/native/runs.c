/* Runs of text between the boundaries of blocks: gathered, collapsed, measured, with the spans in them. */
#include "page.h"

RawSpan *add_raw(Walk *walk) {
    if (!grow((void **)&walk->raw, &walk->raw_room, walk->raw_count + 1, sizeof(RawSpan))) {
        walk->failed = 1;
        return &walk->lost_span;
    }
    return &walk->raw[walk->raw_count++];
}

/* Where the run has come to, in code points of what it is gathered in. */
int32_t reached(const Walk *walk) { return walk->solid == PRE ? walk->run.chars : walk->length; }

void close_span(Walk *walk, OpenSpan span, int32_t kind) {
    *add_raw(walk) = (RawSpan){span.part, walk->parts, span.start, reached(walk), kind, span.target, span.target_end, 0, 0, span.form};
}

void add_point(Walk *walk, int32_t kind, int32_t target, int32_t target_end, int32_t label, int32_t label_end, int32_t form) {
    int32_t at = reached(walk);
    *add_raw(walk) = (RawSpan){walk->parts, walk->parts, at, at, kind, target, target_end, label, label_end, form};
}

/* Open spans that no text was in yet start here. They are the last of the open ones. */
static void set_starts(Walk *walk, int32_t start) {
    for (size_t index = walk->open_span_count; index && walk->open_spans[index - 1].start < 0; index--)
        walk->open_spans[index - 1].start = start;
}

static int is_point(int32_t kind) { return kind == S_IMAGE || kind == S_FOOTNOTE; }

/* What weights.py adds to the characters of a text and to the words that its spaces divide. */
typedef struct { int32_t chars, words; } Weight;

static Weight weight_of(const byte *at, size_t size) {
    int32_t han = 0, kana = 0, hangul = 0, joined = 0;
    for (const byte *end = at + size; at < end; at++) {
        byte first = *at, second = at + 1 < end ? at[1] : 0;
        if (first < 0xE0) continue;
        if (first == 0xE3) {
            kana += second >= 0x81 && second <= 0x83;
            han += second >= 0x90;
        } else if (first == 0xE0) {
            joined += second >= 0xB8 && second <= 0xBB;
        } else if (first == 0xE1) {
            joined += second <= 0x82 || second == 0x9E || second == 0x9F;
        } else {
            han += (first >= 0xE4 && first <= 0xE9) || (first == 0xF0 && second >= 0xA0 && second <= 0xAF);
            hangul += first == 0xEB || first == 0xEC || (first == 0xEA && second >= 0xB0) || (first == 0xED && second <= 0x9E);
        }
    }
    return (Weight){2 * han + kana + hangul, (18 * han + 12 * kana + 5 * joined) / 30};
}

/* One part of a run: of text, unescaped. */
void add_part(Walk *walk, const byte *at, size_t size) {
    const byte *end = at + size;
    walk->parts++;
    walk->last_is_newline = size == 1 && *at == '\n';
    if (walk->solid == PRE) {
        set_starts(walk, walk->run.chars);
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
    set_starts(walk, walk->length + (walk->length && (walk->pending || spaced)));
    put_collapsed(walk, &walk->run, at, end, &walk->length, &walk->pending);
}

/* A text node's text. */
void add_text(Walk *walk, const byte *plain, size_t size) {
    const byte *first = plain, *last = plain + size;
    while (first < last) {
        size_t space = space_at(first, last);
        if (!space) break;
        first += space;
    }
    if (first == last && !walk->parts && walk->solid != PRE) return;
    add_part(walk, plain, size);
    if (walk->in_link) {
        int32_t before = chars_in(first, (size_t)(last - first)), trailing = 0;
        for (const byte *at2 = first; at2 < last;) { /* what str.strip() leaves */
            size_t space = space_at(at2, last);
            trailing = space ? trailing + 1 : 0;
            at2 += space ? space : width_of(*at2);
        }
        walk->link_chars += before - trailing + ((size_t)before < size ? weight_of(first, (size_t)(last - first)).chars : 0);
        put_collapsed(walk, &walk->link_text, plain, plain + size, &walk->link_length, &walk->link_pending);
    }
}

static inline int begins(const byte *at, const byte *end, const char *sign) {
    return *at == (byte)*sign && same(at, (size_t)(end - at) < strlen(sign) ? (size_t)(end - at) : strlen(sign), sign);
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

/* What the content model asks of a text; the bits are those of lexicon.py. CASED: it may begin with or hold capitals
 * that only Python knows. CONTROL: it may hold control characters. */
enum { F_END = 1 << 3, F_IMAGE = 1 << 4, F_UPPER = 1 << 6, F_COLON = 1 << 7, F_MARKED = 1 << 8, F_DIGIT = 1 << 12,
       F_MONEY = 1 << 13, F_TITLE = 1 << 14, F_BAR = 1 << 15, F_CASED = 1 << 20, F_CONTROL = 1 << 21,
       SHORT = 120 };

/* Whether a character beyond ASCII may be a capital: not in Latin-1's signs, punctuation, money, and CJK. */
static int may_be_capital(const byte *at, const byte *end) {
    if (*at < 0x80 || *at == 0xC2 || (*at >= 0xE3 && *at <= 0xE9)) return 0;
    return !(*at == 0xE2 && at + 1 < end && at[1] <= 0x83);
}

/* Whether a character beyond ASCII surely is no letter: punctuation, and Latin-1's signs but its three letters. */
static int is_sign(const byte *at, const byte *end) {
    byte second = at + 1 < end ? at[1] : 0;
    return (*at == 0xE2 && second == 0x80) || (*at == 0xC2 && second != 0xAA && second != 0xB5 && second != 0xBA);
}

static int32_t signs_of(const byte *at, size_t size, int32_t chars) {
    int32_t flags = 0;
    const byte *end = at + size;
    unsigned low = 0;
    for (size_t index = 0; index < size; index++) low |= (at[index] < 0x20 && at[index] != '\t' && at[index] != '\n') || at[index] == 0x7f;
    if ((size_t)chars != size) {
        if (*at >= 0x80 && !is_sign(at, end)) flags |= F_CASED;
        for (const byte *next = at; next < end; next++) {
            if (chars < SHORT && *next >= 0xC0 && may_be_capital(next, end)) flags |= F_CASED;
            low |= *next == 0xC2 && next + 1 < end && next[1] < 0xA0;
            low |= *next == 0xEF && next + 2 < end && next[1] == 0xBF && next[2] >= 0xBE;
        }
    }
    return low ? flags | F_CONTROL : flags;
}

static int32_t flags_of(Walk *walk, const byte *at, size_t size, int32_t chars, int32_t *tokens) {
    int32_t flags = 0;
    if (is_sentence_end(at, size)) flags |= F_END;
    if (*at >= 'A' && *at <= 'Z') flags |= F_UPPER;
    if (at[size - 1] == ':') flags |= F_COLON;
    flags |= signs_of(at, size, chars);
    *tokens = 0;
    byte low[SHORT * 4];
    if (chars >= SHORT || size > sizeof low) return flags;
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
    walk->link_end = 0;
}

/* Images behind the last text of an element belong to that text, not to what comes behind the element. */
void attach_back(Walk *walk) {
    size_t count = walk->segments.count;
    if (!walk->raw_count || walk->parts || !count || walk->failed) return;
    int32_t *last = walk->segments.at + count - SEGMENT_COLUMNS;
    if (last[0] < walk->element) return;
    int32_t end = last[2] - last[1];
    for (size_t index = 0; index < walk->raw_count; index++) {
        const RawSpan *span = walk->raw + index;
        int32_t *made = row(walk, &walk->spans, SPAN_COLUMNS);
        const int32_t values[SPAN_COLUMNS] = {end, end, span->kind, span->target, span->target_end, span->label, span->label_end, span->form};
        memcpy(made, values, sizeof values);
    }
    last[7] = (int32_t)(walk->spans.count / SPAN_COLUMNS);
    last[8] |= F_MARKED;
    walk->raw_count = 0;
}

/* The start or end of a block in what nothing divides: a new line, if it is not one already. */
void divide(Walk *walk) {
    if (walk->solid == PRE && (!walk->parts || !walk->run.size || walk->run.at[walk->run.size - 1] == '\n')) return;
    add_part(walk, (const byte *)"\n", 1);
}

/* The run of text ends here: a segment, if it holds text. */
void flush(Walk *walk) {
    for (size_t index = 0; index < walk->open_span_count; index++) {
        close_span(walk, walk->open_spans[index], walk->open_spans[index].kind);
        walk->open_spans[index].part = 0;
        walk->open_spans[index].start = -1;
    }
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
        made[7] = span.form;
    }
    int32_t spaces = 0, commas = 0, stops = 0, tokens;
    Weight weight = {0, 0};
    for (size_t index = 0; index < size; index++) {
        spaces += at[index] == ' ';
        commas += at[index] == ',';
        stops += at[index] == '.' && index + 1 < size && at[index + 1] == ' ';
    }
    if ((size_t)chars != size) {
        weight = weight_of(at, size);
        for (size_t index = 0; index < size; index++) {
            commas += begins(at + index, at + size, "\uff0c") || begins(at + index, at + size, "\u3001") || begins(at + index, at + size, "\u060c");
            stops += index + 3 < size && (begins(at + index, at + size, "\u3002") || begins(at + index, at + size, "\u0964"));
        }
    }
    int32_t weighed = chars + weight.chars;
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
    made[9] = (chars < SHORT ? tokens : spaces + 1) + weight.words;
    made[10] = weighed > 40 ? commas : 0;
    made[11] = weighed > 40 ? stops : 0;
    made[12] = spaces + 1 + weight.words;
    made[13] = (int32_t)(hash & 0x7FFFFFFF);
    made[14] = (int32_t)(hash >> 33);
    made[15] = weight.chars;
    walk->raw_count = 0;
    walk->link_chars = walk->link_count = walk->images = 0;
    reset_run(walk);
}

void open_span(Walk *walk, int32_t kind, int32_t target, int32_t target_end, int32_t form) {
    if (!grow((void **)&walk->open_spans, &walk->open_span_room, walk->open_span_count + 1, sizeof(OpenSpan))) {
        walk->failed = 1;
        return;
    }
    walk->open_spans[walk->open_span_count++] = (OpenSpan){walk->parts, -1, kind, target, target_end, form};
}

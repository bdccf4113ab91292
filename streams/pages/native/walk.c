/* The walk of streams/pages/walk.py, over a page as the parser writes it out: the same lists, some thirty times as fast.
 *
 * The input is lexbor's serialization of a tree, never a stranger's HTML: every tag is closed, attributes are quoted,
 * and five character references are left. What breaks that all the same (a script that holds "</script>" behind a
 * comment) costs text, never memory: reading stops at the buffer's end, and an end tag that fits nothing is ignored.
 *
 * Results are rows of int32 in growing tables and one UTF-8 text in which places are counted in code points, as Python
 * counts them. walk.py says what each rule is for; streams/pages/native/__init__.py reads the rows.
 */
#include "page.h"

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
EXPORT Walk *riffle_walk(const byte *html, size_t size, const byte *title, size_t title_size) {
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
EXPORT void riffle_results(const Walk *walk, const void **pointers, uint64_t *counts) {
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

EXPORT void riffle_free(Walk *walk) {
    if (!walk) return;
    void *held[] = {walk->elements.at,  walk->attributes.at, walk->segments.at,      walk->spans.at,    walk->links.at,
                    walk->masks.at,     walk->text.at,       walk->run.at,           walk->link_text.at, walk->scratch.at,
                    walk->open,         walk->open_spans,    walk->raw,              walk->element_names.at,
                    walk->class_at.at};
    for (size_t index = 0; index < sizeof held / sizeof *held; index++) free(held[index]);
    free(walk);
}

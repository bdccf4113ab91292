/* The walk of streams/pages/parse/segments.py in C, over the parser's own tree: the same lists, several times as fast.
 *
 * Results are rows of int32 in growing tables and one UTF-8 text in which places are counted in code points, as Python
 * counts them. walk.py says what each rule is for; __init__.py, beside this, reads the rows.
 */
#include "page.h"

/* Whether all that a link shows is a sign for people who want to point at the heading that it stands in. */
static int is_permalink(Walk *walk, Node *link) {
    static const char *const marks[] = {"\u00b6", "#", "\u00a7", "\U0001F517", "\u2693"};
    byte shown[4]; /* the longest mark's bytes */
    size_t count = 0;
    int ended = 0, fits = 1;
    for (Node *node = first_child(link); node && fits; node = next_below(node, link)) {
        size_t size = 0;
        byte *text = is_text(node) ? text_of(walk, node, &size) : NULL;
        if (walk->failed) return 0;
        if (!text) continue;
        for (const byte *at = text, *end = text + size; at < end && fits;) {
            size_t space = space_at(at, end);
            if (space) {
                ended = count > 0;
                at += space;
            } else if (ended || count == sizeof shown) {
                fits = 0;
            } else {
                shown[count++] = *at++;
            }
        }
        release_text(walk, text);
    }
    for (size_t index = 0; fits && index < sizeof marks / sizeof *marks; index++)
        if (strlen(marks[index]) == count && !memcmp(marks[index], shown, count)) return 1;
    return 0;
}

static int is_data(Value source) { return source.size >= 5 && !memcmp(source.at, "data:", 5); }

/* Where an image is: pages that load images late have it in another attribute, and something small in `src`. */
static Value source_of(Node *image, Value source) {
    static const char *const late[] = {"data-src", "data-lazy-src", "data-original", "data-srcset", "srcset"};
    enum { LATE = sizeof late / sizeof *late };
    Value values[LATE];
    if (source.size && !is_data(source)) return source;
    source.size = 0;
    read_attributes(image, late, LATE, values);
    for (int index = 0; index < LATE && !source.size; index++) {
        const byte *at = values[index].at, *end = at + values[index].size;
        size_t space;
        if (!values[index].size) continue;
        while (at < end && (space = space_at(at, end))) at += space;
        source.at = at;
        while (at < end && !space_at(at, end)) at += width_of(*at);
        if (at > end) at = end;
        while (at > source.at && at[-1] == ',') at--;
        source.size = (uint32_t)(at - source.at);
    }
    if (is_data(source)) source.size = 0;
    return source;
}

/* Enter an element, or say 0 where the walk does not go in. What is entered is left with pop. */
static int enter(Walk *walk, Node *node) {
    Tag read = read_tag(node);
    const Tag *tag = &read;
    const Entry *entry = find(&elements, tag->name, tag->name_size);
    int kind = entry ? entry->value & 0xFF : INLINE;
    const Value *values = tag->values;
    switch (kind) {
    case BLOCK:
    case HEADING:
    case PRE:
        if (walk->solid) {
            divide(walk);
            kind = BREAK;
        } else {
            if (walk->parts) flush(walk);
            int32_t parent = walk->element;
            walk->element = (int32_t)(walk->elements.count / ELEMENT_COLUMNS);
            add_element(walk, parent, entry->value >> 16, entry->mask, values);
            if (kind != BLOCK) walk->solid = kind;
            if (kind == PRE) begin_classes(walk, values[A_CLASS]);
        }
        push(walk, kind);
        return 1;
    case SMALL:
        if (equals(values[A_ROLE], "doc-footnote")) {
            Text *note = &walk->scratch;
            note->size = 0;
            note->chars = 0;
            put_text_below(walk, node, note);
            int32_t start = walk->text.chars, length = 0;
            int pending = 0;
            if (!walk->failed && note->size) put_collapsed(walk, &walk->text, note->at, note->at + note->size, &length, &pending);
            if (length) add_point(walk, S_FOOTNOTE, start, walk->text.chars, 0, 0, 0);
            return 0;
        }
        push(walk, INLINE);
        return 1;
    case RAISED:
    case LOWERED:
        if (add_raised(walk, node, kind)) return 0;
        push(walk, INLINE);
        return 1;
    case LINK: {
        int has_target = values[A_HREF].size > 0;
        if (has_target && *values[A_HREF].at == '#' && is_permalink(walk, node)) return 0;
        if (!has_target || walk->in_link) {
            push(walk, INLINE);
            return 1;
        }
        if (walk->parts && walk->link_end == walk->parts) add_part(walk, (const byte *)" ", 1); /* side by side */
        walk->link_count++;
        keep(walk, values[A_HREF], &walk->href, &walk->href_end);
        keep(walk, values[A_REL], &walk->rel, &walk->rel_end);
        walk->form = form_of(values[A_HREF]);
        walk->in_link = 1;
        walk->link_text.size = 0;
        walk->link_text.chars = 0;
        walk->link_length = 0;
        walk->link_pending = 0;
        open_span(walk, S_LINK, walk->href, walk->href_end, walk->form);
        push(walk, LINK);
        return 1;
    }
    case SPAN:
        if (walk->solid == PRE) {
            if (values[A_CLASS].size) add_class(walk, values[A_CLASS]);
            push(walk, INLINE);
        } else {
            open_span(walk, entry->value >> 8 & 0xFF, 0, 0, 0);
            push(walk, SPAN);
        }
        return 1;
    case BREAK:
        if (walk->solid == PRE) add_part(walk, (const byte *)"\n", 1);
        else if (walk->parts) {
            if (walk->last_is_newline) flush(walk);
            else add_part(walk, (const byte *)"\n", 1);
        }
        return 0;
    case IMAGE: {
        walk->images++;
        Value source = source_of(node, values[A_SRC]);
        if (source.size) {
            int32_t target, target_end, label, length = 0;
            int pending = 0;
            keep(walk, source, &target, &target_end);
            label = walk->text.chars;
            if (values[A_ALT].size) {
                const byte *label_at = values[A_ALT].at;
                put_collapsed(walk, &walk->text, label_at, label_at + values[A_ALT].size, &length, &pending);
            }
            add_point(walk, S_IMAGE, target, target_end, label, walk->text.chars, form_of(source));
        }
        return 0;
    }
    case MATH: /* its source was put into this attribute */
        walk->found++;
        if (values[A_ALTTEXT].size) {
            int32_t part = walk->parts, start = walk->length + (walk->length && walk->pending), raw = walk->run.chars;
            add_part(walk, values[A_ALTTEXT].at, values[A_ALTTEXT].size);
            if (walk->solid == PRE) *add_raw(walk) = (RawSpan){part, part + 1, raw, walk->run.chars, S_MATH, 0, 0, 0, 0, 0};
            else *add_raw(walk) = (RawSpan){part, part + 1, start, walk->length, S_MATH, 0, 0, 0, 0, 0};
        }
        return 0;
    case COMMENT:
    case SKIP: return 0;
    default: push(walk, INLINE); return 1;
    }
}

static void number_groups(Walk *walk);

static void text_node(Walk *walk, Node *node) {
    size_t size = 0;
    byte *text = text_of(walk, node, &size);
    if (!text) return;
    if (size) add_text(walk, text, size);
    release_text(walk, text);
}

/* All below `body`, in document order. */
static void walk_below(Walk *walk, Node *body) {
    Node *node = first_child(body);
    while (node && !walk->failed) {
        if (is_text(node)) {
            text_node(walk, node);
        } else if (is_element(node) && enter(walk, node)) {
            if (walk->failed) return; /* what was entered may be missing where pop looks */
            Node *inner = first_child(node);
            if (inner) {
                node = inner;
                continue;
            }
            pop(walk);
        }
        Node *next;
        while (!(next = next_sibling(node))) {
            node = parent_of(node);
            if (!node || node == body) return;
            pop(walk);
        }
        node = next;
    }
}

Walk *begin_pass(Node *root) {
    Walk *walk = calloc(1, sizeof(Walk));
    if (!walk) return NULL;
    for (Node *above = root; above; above = parent_of(above))
        if (is_document(above)) walk->document = above;
    Text *texts[] = {&walk->text, &walk->run, &walk->link_text, &walk->scratch};
    for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) put(walk, texts[index], (const byte *)"", 0);
    return walk;
}

/* Walk what stands below a body. `title`: the page's, in lower case. Gives back what riffle_free takes; NULL without
 * memory. */
EXPORT Walk *riffle_walk(Node *body, const byte *title, size_t title_size) {
    Walk *walk = begin_pass(body);
    if (!walk) return NULL;
    walk->title = title;
    walk->title_size = title_size;
    Tag top = read_tag(body);
    const Entry *named = find(&elements, (const byte *)"body", 4);
    if (!walk->failed) add_element(walk, -1, named ? named->value >> 16 : 0, 0, top.values);
    if (!walk->failed) walk_below(walk, body);
    if ((walk->parts || walk->raw_count) && !walk->failed) flush(walk);
    attach_back(walk);
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
 * of bytes for the text; then whether memory ran out, and what `found` says. */
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
    counts[8] = (uint64_t)walk->found;
}

EXPORT void riffle_free(Walk *walk) {
    if (!walk) return;
    void *held[] = {walk->elements.at,  walk->attributes.at, walk->segments.at,      walk->spans.at,    walk->links.at,
                    walk->masks.at,     walk->text.at,       walk->run.at,           walk->link_text.at, walk->scratch.at,
                    walk->classes.at,   walk->open,         walk->open_spans,    walk->raw,              walk->element_names.at};
    for (size_t index = 0; index < sizeof held / sizeof *held; index++) free(held[index]);
    free(walk);
}

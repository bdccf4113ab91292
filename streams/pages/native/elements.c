/* Block elements: their attributes, what they say of themselves, and which are open. */
#include "page.h"

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

static uint64_t own_mask(uint64_t mask, const Value *values) {
    for (int name = A_CLASS; name <= A_ID; name++)
        if (values[name].size) mask |= words_mask(values[name].at, values[name].size, READ_CHARS);
    if (values[A_ROLE].present) {
        const Entry *role = find(&elements, values[A_ROLE].at, values[A_ROLE].size);
        if (role) mask |= role->mask;
    }
    if ((values[A_STYLE].present && hides(values[A_STYLE].at, values[A_STYLE].size)) || values[A_HIDDEN].present ||
        equals(values[A_ARIA_HIDDEN], "true"))
        mask |= 1ULL << hidden_bit;
    return mask;
}

/* The same number for the same tag and class; mixed, as number_groups adds two of them. */
static uint64_t name_of(int32_t tag, const byte *names, size_t size) {
    uint64_t named = 0x9E3779B97F4A7C15ULL * (uint64_t)(tag + 1);
    if (size) named ^= hash_of(names, size) | 1;
    named = (named ^ named >> 32) * 0xD6E8FEB86659FD93ULL;
    return named ^ named >> 32;
}

void add_element(Walk *walk, int32_t parent, int32_t tag, uint64_t mask, const Value *values) {
    int32_t first = (int32_t)(walk->attributes.count / ATTRIBUTE_COLUMNS);
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
    int32_t *made = row(walk, &walk->elements, ELEMENT_COLUMNS);
    made[0] = tag;
    made[1] = parent;
    made[2] = first;
    made[3] = (int32_t)(walk->attributes.count / ATTRIBUTE_COLUMNS);
    put_long(walk, &walk->masks, own_mask(mask, values));
    put_long(walk, &walk->element_names, name_of(tag, values[A_CLASS].at, values[A_CLASS].size));
}

/* Preformatted text takes over the classes of the code in it, behind its own. Only the first READ_CHARS are read. */
void begin_classes(Walk *walk, Value own) {
    walk->classes.size = 0;
    walk->classes.chars = 0;
    if (own.size) put(walk, &walk->classes, own.at, own.size);
    walk->classes_left = READ_CHARS - walk->classes.chars;
}

/* One row more, read after the others. */
void add_class(Walk *walk, Value value) {
    size_t element = (size_t)walk->element;
    int32_t start, end;
    put(walk, &walk->classes, (const byte *)" ", 1);
    put(walk, &walk->classes, value.at, value.size);
    keep(walk, value, &start, &end);
    int32_t *made = row(walk, &walk->attributes, ATTRIBUTE_COLUMNS);
    made[0] = walk->element;
    made[1] = A_COUNT;
    made[2] = start;
    made[3] = end;
    if (walk->failed) return;
    walk->elements.at[element * ELEMENT_COLUMNS + 3]++;
    walk->masks.at[element] |= words_mask(value.at, value.size, walk->classes_left - 1);
    walk->classes_left -= end - start + 1;
}

/* The element is named by all of them. */
void end_classes(Walk *walk) {
    size_t element = (size_t)walk->element;
    walk->element_names.at[element] = name_of(walk->elements.at[element * ELEMENT_COLUMNS], walk->classes.at, walk->classes.size);
}

/* Which of the kinds of streams/pages/parse/elements.py an element is of. */
int kind_of(Node *node) {
    size_t size = 0;
    const byte *name = local_name(node, &size);
    const Entry *entry = find(&elements, name, size);
    return entry ? entry->value & 0xFF : INLINE;
}

void push(Walk *walk, int kind) {
    if (!grow((void **)&walk->open, &walk->open_room, walk->open_count + 1, 1)) {
        walk->failed = 1;
        return;
    }
    walk->open[walk->open_count++] = (byte)kind;
}

void pop(Walk *walk) {
    byte closing = walk->open[--walk->open_count];
    OpenSpan span;
    switch (closing) {
    case INLINE: return;
    case BLOCK:
        if (walk->parts || walk->raw_count) flush(walk);
        attach_back(walk);
        break;
    case LINK: {
        span = walk->open_spans[--walk->open_span_count];
        if (span.part < walk->parts) {
            close_span(walk, span, S_LINK);
            walk->link_end = walk->parts;
        }
        int32_t *made = row(walk, &walk->links, LINK_COLUMNS), start = walk->text.chars;
        put(walk, &walk->text, walk->link_text.at, walk->link_text.size);
        made[0] = walk->href;
        made[1] = walk->href_end;
        made[2] = start;
        made[3] = walk->text.chars;
        made[4] = walk->rel;
        made[5] = walk->rel_end;
        made[6] = (int32_t)(walk->segments.count / SEGMENT_COLUMNS);
        made[7] = walk->form;
        walk->in_link = 0;
        return;
    }
    case SPAN:
        span = walk->open_spans[--walk->open_span_count];
        if (span.part < walk->parts) close_span(walk, span, span.kind);
        return;
    case BREAK: /* a block inside a heading or preformatted text */
        divide(walk);
        return;
    default:
        flush(walk);
        if (closing == PRE) end_classes(walk);
        walk->solid = 0;
    }
    walk->element = walk->elements.at[(size_t)walk->element * ELEMENT_COLUMNS + 1];
}

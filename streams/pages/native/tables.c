/* The words that Python knows, as hash tables: filled once, before any walk. */
#include "page.h"

#include <stdatomic.h>

Table elements, class_words, lexicon;
int hidden_bit;

const Entry *find(const Table *table, const byte *name, size_t size) {
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
 * (mask: their groups), words of short texts (value: flag bits). Called before any walk; where several threads come
 * first, one fills and the others wait. 0 without memory. */
EXPORT int riffle_tables(const char *const *names, const int32_t *values, const uint64_t *masks, int count,
                  const char *const *words, const uint64_t *word_masks, int word_count, const char *const *terms,
                  const int32_t *term_bits, int term_count, int hidden) {
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    static int filled;
    while (atomic_flag_test_and_set(&busy)) continue;
    if (!filled) {
        hidden_bit = hidden;
        filled = fill(&elements, names, values, masks, count) && fill(&class_words, words, NULL, word_masks, word_count) &&
                 fill(&lexicon, terms, term_bits, NULL, term_count);
    }
    int made = filled;
    atomic_flag_clear(&busy);
    return made;
}

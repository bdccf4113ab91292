/* Where each text of a page stands in its document: the containers around it and the tag of its block, by the grammar of
 * docs/reference/document.md. The law is streams/pages/assemble/builder.py, whose tables of the grammar are handed over. */
#include "page.h"

enum { NONE = -1, CONTAINERS = 17, COLUMNS = 2, MAX_SPAN = 50, MAX_COLUMNS = 200, MAX_HUNG = 10000 };

/* What build.py says. Containers are numbers, a set of them is bits; `children` and `missing` are NONE or 0 for those that
 * hold text. `blocks` and `containers`: per tag of the walk the number of the block or container that it is, or NONE. */
typedef struct {
    const int32_t *blocks, *containers;
    int32_t children[CONTAINERS], missing[CONTAINERS];
    int32_t openers, flow, figure, figcaption, row, cell, cells, paragraph;
} Grammar;

/* A page that is built. `layout`: elements of tables that only lay a page out; `spans`, `rows`: columns and rows that each
 * cell takes; all may be NULL. */
typedef struct {
    const int32_t *elements, *texts; /* rows of the walk; the elements of the texts to be placed */
    const byte *layout;
    const int32_t *spans, *rows;
    int64_t element_count, text_count;
} Page;

enum { UNKNOWN = -2 };
typedef struct { int32_t place, block, made, next_cell, first_cell; } Element; /* `made`: the container that its row made */
typedef struct {
    const Grammar *grammar;
    const Page *page;
    Element *known;
    Walk *walk;
    Ints slots;    /* per container that has rows: the number of its entry in `hanging`, and 0 */
    Ints *hanging; /* of each column, in how many more rows a cell from above stands */
    size_t hanging_count, hanging_room;
    int32_t hung;
} Building;

static int32_t parent_element(const Building *on, int32_t element) { return on->page->elements[element * ELEMENT_COLUMNS + 1]; }

static int32_t container_of(const Building *on, int32_t element) {
    return on->grammar->containers[on->page->elements[element * ELEMENT_COLUMNS]];
}

static int32_t tag_at(const Building *on, int32_t place) { return place < 0 ? NONE : on->walk->elements.at[place * COLUMNS]; }

static int in(int32_t set, int32_t tag) { return set >> tag & 1; }

static int32_t missing_in(const Building *on, int32_t tag) { return tag < 0 ? NONE : on->grammar->missing[tag]; }

static int32_t add(Building *on, int32_t tag, int32_t parent) {
    int32_t place = (int32_t)(on->walk->elements.count / COLUMNS), *made = row(on->walk, &on->walk->elements, COLUMNS);
    made[0] = tag;
    made[1] = parent;
    return on->walk->failed ? NONE : place;
}

static int reaches(const Building *on, int32_t current, int32_t tag) {
    for (; missing_in(on, current) >= 0; current = on->grammar->missing[current])
        if (in(on->grammar->children[current], tag)) return 1;
    return 0;
}

/* What hangs into the rows of a container; NULL where no cell of the page takes several rows. */
static Ints *hanging_in(Building *on, int32_t section) {
    size_t at = (size_t)section;
    if (!on->page->rows || on->walk->failed) return NULL;
    while (on->slots.count <= at && !on->walk->failed) *row(on->walk, &on->slots, 1) = 0;
    if (!on->walk->failed && !on->slots.at[at]) {
        if (!grow((void **)&on->hanging, &on->hanging_room, on->hanging_count + 1, sizeof(Ints))) on->walk->failed = 1;
        else on->hanging[on->hanging_count++] = (Ints){NULL, 0, 0};
        on->slots.at[at] = (int32_t)on->hanging_count;
    }
    return on->walk->failed ? NULL : &on->hanging[on->slots.at[at] - 1];
}

/* A cell that takes more rows hangs into those below. */
static void hang(Building *on, Ints *hanging, int32_t column, int32_t columns, int32_t below) {
    int32_t end = column + columns < MAX_COLUMNS ? column + columns : MAX_COLUMNS;
    if (column >= end || (!below && (size_t)column >= hanging->count)) return;
    while (hanging->count < (size_t)end && !on->walk->failed) *row(on->walk, hanging, 1) = 0;
    for (; column < end && !on->walk->failed; column++) hanging->at[column] = below;
}

/* All cells of a row at once, also those without text, and empty ones where a cell of a row above hangs down: a cell's
 * place says which column it belongs to. */
static void add_cells(Building *on, int32_t place, int32_t element) {
    Ints *hanging = on->walk->failed ? NULL : hanging_in(on, on->walk->elements.at[place * COLUMNS + 1]);
    int32_t column = 0;
    for (int32_t cell = on->known[element].first_cell; cell != NONE && !on->walk->failed; cell = on->known[cell].next_cell) {
        int32_t tag = container_of(on, cell), columns = on->page->spans ? on->page->spans[cell] : 1;
        while (hanging && (size_t)column < hanging->count && hanging->at[column] && on->hung < MAX_HUNG) {
            hanging->at[column++]--;
            on->hung++;
            add(on, on->grammar->cell, place);
        }
        on->known[cell].made = add(on, tag, place);
        for (int32_t extra = 1; extra < columns && extra < MAX_SPAN; extra++) add(on, tag, place);
        if (hanging) hang(on, hanging, column, columns, on->page->rows[cell] - 1);
        column += columns;
    }
    for (size_t rest = (size_t)column; hanging && rest < hanging->count; rest++) hanging->at[rest] -= hanging->at[rest] > 0;
}

/* Where a tag leads from a place: a new container, with those that are missing between, or nowhere new. */
static int32_t entered(Building *on, int32_t place, int32_t tag, int32_t element) {
    const Grammar *grammar = on->grammar;
    int32_t current = tag_at(on, place), made = on->known[element].made;
    int opens = in(grammar->openers, tag);
    while (missing_in(on, current) >= 0 && !in(grammar->children[current], tag)) {
        if (!opens && !reaches(on, current, tag)) return place;
        place = add(on, grammar->missing[current], place);
        current = tag_at(on, place);
    }
    int flows = current < 0 || in(grammar->flow, current);
    if (flows && !opens && !(tag == grammar->figcaption && current == grammar->figure)) return place;
    if (made == UNKNOWN || on->walk->elements.at[made * COLUMNS + 1] != place) made = add(on, tag, place);
    if (tag == grammar->row) add_cells(on, made, element);
    return made;
}

/* The container of an element's text, and the tag of its blocks: known for each element once. `chain` is scratch. */
static const Element *place_of(Building *on, int32_t element, int32_t *chain) {
    static const Element nowhere = {NONE, NONE, UNKNOWN, NONE, NONE};
    size_t depth = 0;
    for (; element >= 0 && on->known[element].place == UNKNOWN; element = parent_element(on, element)) chain[depth++] = element;
    int32_t place = element >= 0 ? on->known[element].place : nowhere.place;
    int32_t block = element >= 0 ? on->known[element].block : on->grammar->paragraph;
    while (depth && !on->walk->failed) {
        element = chain[--depth];
        int32_t tag = on->page->elements[element * ELEMENT_COLUMNS], container = on->grammar->containers[tag];
        if (on->grammar->blocks[tag] >= 0) {
            block = on->grammar->blocks[tag];
        } else if (container >= 0 && !(on->page->layout && on->page->layout[element])) {
            place = entered(on, place, container, element);
            if (in(on->grammar->openers, container)) block = on->grammar->paragraph;
        }
        on->known[element].place = place;
        on->known[element].block = block;
    }
    return element >= 0 ? &on->known[element] : &nowhere;
}

/* Rows in the tables of a walk: containers (tag, parent) in `elements`, a block (tag, place) for each text in `segments`.
 * Gives back what riffle_free takes; NULL without memory. */
EXPORT Walk *riffle_blocks(const Grammar *grammar, const Page *page) {
    size_t count = (size_t)page->element_count;
    Building on = {.grammar = grammar, .page = page, .known = malloc((count + 1) * sizeof(Element)), .walk = calloc(1, sizeof(Walk))};
    int32_t *chain = malloc((count + 1) * sizeof(int32_t));
    if (!on.known || !on.walk || !chain) {
        free(on.known);
        free(on.walk);
        free(chain);
        return NULL;
    }
    for (size_t element = 0; element < count; element++) on.known[element] = (Element){UNKNOWN, NONE, UNKNOWN, NONE, NONE};
    for (int32_t element = (int32_t)count - 1; element > 0; element--) { /* backwards: then each row's are in order */
        int32_t tag = container_of(&on, element), above = parent_element(&on, element);
        if (tag < 0 || above < 0 || !in(grammar->cells, tag)) continue;
        on.known[element].next_cell = on.known[above].first_cell;
        on.known[above].first_cell = element;
    }
    for (int64_t index = 0; index < page->text_count && !on.walk->failed; index++) {
        const Element *found = place_of(&on, page->texts[index], chain);
        int32_t place = found->place, block = found->block, lacking;
        while ((lacking = missing_in(&on, tag_at(&on, place))) >= 0) place = add(&on, lacking, place);
        int32_t *made = row(on.walk, &on.walk->segments, COLUMNS);
        made[0] = block;
        made[1] = place;
    }
    for (size_t index = 0; index < on.hanging_count; index++) free(on.hanging[index].at);
    free(on.hanging);
    free(on.slots.at);
    free(on.known);
    free(chain);
    return on.walk;
}

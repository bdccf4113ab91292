/* The parser's tree, through lexbor's own functions: the ones that it exports for callers that know no layout of its
 * structures. Python finds them in the library that selectolax is, and tells them once. Nodes are read, and menus taken
 * out, by the one thread that asked for it, while Python holds the tree. */
#include "page.h"

/* The order is that of LEXBOR in library.py. */
static struct {
    Node *(*first_child)(Node *);
    Node *(*next)(Node *);
    Node *(*parent)(Node *);
    int (*type)(Node *);
    const byte *(*local_name)(Node *, size_t *);
    void *(*first_attribute)(Node *);
    void *(*next_attribute)(void *);
    const byte *(*attribute_name)(void *, size_t *);
    const byte *(*attribute_value)(void *, size_t *);
    byte *(*text_content)(Node *, size_t *);
    void *(*destroy_text)(Node *, byte *);
    void (*remove)(Node *);
} lexbor;

enum { ELEMENT_NODE = 1, TEXT_NODE = 3, DOCUMENT_NODE = 9 }; /* DOM Standard, interface Node */

EXPORT void riffle_lexbor(const void *const *functions) { memcpy(&lexbor, functions, sizeof lexbor); }

Node *first_child(Node *node) { return lexbor.first_child(node); }
Node *next_sibling(Node *node) { return lexbor.next(node); }
Node *parent_of(Node *node) { return lexbor.parent(node); }
int is_element(Node *node) { return lexbor.type(node) == ELEMENT_NODE; }
int is_text(Node *node) { return lexbor.type(node) == TEXT_NODE; }
int is_document(Node *node) { return lexbor.type(node) == DOCUMENT_NODE; }

/* Out of the tree; its memory stays the document's. */
void take_out(Node *node) { lexbor.remove(node); }

/* What comes behind a node below `top`, in document order; NULL behind the last. */
Node *next_below(Node *node, const Node *top) {
    Node *next = lexbor.first_child(node);
    while (!next && node && node != top) {
        next = lexbor.next(node);
        if (!next) node = lexbor.parent(node);
    }
    return next;
}

const byte *local_name(Node *node, size_t *size) { return lexbor.local_name(node, size); }

/* The values of an element's attributes by these names. They are lexbor's, and live as long as the tree. */
void read_attributes(Node *node, const char *const *names, int count, Value *values) {
    memset(values, 0, (size_t)count * sizeof *values);
    for (void *attribute = lexbor.first_attribute(node); attribute; attribute = lexbor.next_attribute(attribute)) {
        size_t size = 0, value_size = 0;
        const byte *name = lexbor.attribute_name(attribute, &size);
        for (int known = 0; name && known < count; known++)
            if (names[known][0] == (char)*name && strlen(names[known]) == size && !memcmp(names[known], name, size)) {
                const byte *value = lexbor.attribute_value(attribute, &value_size);
                if (!values[known].present) values[known] = (Value){value, value ? (uint32_t)value_size : 0, 1};
                break;
            }
    }
}

/* An element's name, and those of its attributes that mean something to the walk. */
Tag read_tag(Node *node) {
    static const char *const names[A_COUNT] = {"class", "id", "role", "lang", "colspan", "rowspan", "style", "hidden",
                                               "aria-hidden", "href", "rel", "src", "alt", "alttext"};
    Tag tag;
    tag.name = local_name(node, &tag.name_size);
    read_attributes(node, names, A_COUNT, tag.values);
    return tag;
}

/* A copy of a text node's text; NULL without memory. */
byte *text_of(Walk *walk, Node *node, size_t *size) {
    byte *text = lexbor.text_content(node, size);
    if (!text) walk->failed = 1;
    return text;
}

/* Back to the document that it was taken from; without one it stays until the tree goes. */
void release_text(Walk *walk, byte *text) {
    if (walk->document) lexbor.destroy_text(walk->document, text);
}

/* The text of all that stands below a node. */
void put_text_below(Walk *walk, Node *top, Text *into) {
    for (Node *node = lexbor.first_child(top); node && !walk->failed; node = next_below(node, top)) {
        size_t size = 0;
        byte *text = is_text(node) ? text_of(walk, node, &size) : NULL;
        if (!text) continue;
        put(walk, into, text, size);
        release_text(walk, text);
    }
}

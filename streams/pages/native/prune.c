/* Menus and footers leave the tree: the rule of streams/pages/parse/navigation.py, over the parser's own tree. Results are given
 * back as those of a walk are: the links in `links`, the menus in `elements`, what they refer to in `text`. */
#include "page.h"

enum { P_CLASS, P_ROLE, P_LABEL, P_HREF, P_REL, P_COUNT };

static const char *const NAMES[P_COUNT] = {"class", "role", "aria-label", "href", "rel"};

static int is_named(Node *node, const char *const *names) {
    size_t size = 0;
    const byte *name = local_name(node, &size);
    for (; *names; names++)
        if (same(name, size, *names)) return 1;
    return 0;
}

static int is_candidate(Node *node) {
    static const char *const tags[] = {"nav", "footer", NULL}, *const pages[] = {"html", "body", NULL};
    Value role;
    if (is_named(node, tags)) return 1;
    read_attributes(node, NAMES + P_ROLE, 1, &role);
    return (equals(role, "navigation") || equals(role, "contentinfo")) && !is_named(node, pages);
}

/* Characters of the text below a node, all spaces collapsed; the text itself behind what `into` holds. */
static int32_t collapse(Walk *walk, Node *top, Text *into) {
    int32_t length = 0;
    int pending = 0;
    for (Node *node = first_child(top); node && !walk->failed; node = next_below(node, top)) {
        size_t size = 0;
        byte *text = is_text(node) ? text_of(walk, node, &size) : NULL;
        if (!text) continue;
        put_collapsed(walk, into, text, text + size, &length, &pending);
        release_text(walk, text);
    }
    return length;
}

/* Whether little of its text is outside of links. Its links are kept then. */
static int is_menu(Walk *walk, Node *menu, int32_t most) {
    static const char *const anchor[] = {"a", NULL};
    size_t links = walk->links.count, text = walk->text.size;
    int32_t chars = walk->text.chars, linked = 0;
    for (Node *node = menu; node && !walk->failed; node = next_below(node, menu)) {
        Value values[P_COUNT];
        int32_t places[LINK_COLUMNS] = {0};
        if (!is_element(node) || !is_named(node, anchor)) continue;
        read_attributes(node, NAMES, P_COUNT, values);
        if (!values[P_HREF].present) continue;
        keep(walk, values[P_HREF], places, places + 1);
        keep(walk, values[P_REL], places + 4, places + 5);
        places[2] = walk->text.chars;
        linked += collapse(walk, node, &walk->text);
        places[3] = walk->text.chars;
        places[7] = form_of(values[P_HREF]);
        memcpy(row(walk, &walk->links, LINK_COLUMNS), places, sizeof places);
    }
    walk->scratch.size = 0;
    walk->scratch.chars = 0;
    if (collapse(walk, menu, &walk->scratch) - linked <= most) return 1;
    walk->links.count = links;
    walk->text.size = text;
    walk->text.chars = chars;
    return 0;
}

/* What comes behind a node and all that is below it. */
static Node *next_beside(Node *node, const Node *top) {
    Node *next = NULL;
    while (node && node != top && !(next = next_sibling(node))) node = parent_of(node);
    return node == top ? NULL : next;
}

/* Take the menus and footers that don't stand in a main or article element out of the tree, but those with more than
 * `most` characters outside of links. Rows of menus: whether it is a trail of breadcrumbs, its first link, the one
 * behind its last. */
EXPORT Walk *riffle_prune(Node *root, int32_t most) {
    static const char *const own[] = {"main", "article", NULL};
    Walk *walk = begin_pass(root);
    Node *node = root;
    while (walk && node && !walk->failed) {
        Node *going = NULL;
        int32_t first = (int32_t)(walk->links.count / LINK_COLUMNS);
        if (!is_element(node)) {
            node = next_below(node, root);
        } else if (node != root && is_candidate(node) && is_menu(walk, node, most)) {
            Value values[P_COUNT];
            read_attributes(node, NAMES, P_COUNT, values);
            int32_t *made = row(walk, &walk->elements, 3);
            made[0] = has(values[P_LABEL], "breadcrumb") || has(values[P_CLASS], "breadcrumb");
            made[1] = first;
            made[2] = (int32_t)(walk->links.count / LINK_COLUMNS);
            going = node;
            node = next_beside(node, root);
        } else if (is_named(node, own)) {
            node = next_beside(node, root);
        } else {
            node = next_below(node, root);
        }
        if (going && !walk->failed) take_out(going);
    }
    return walk;
}

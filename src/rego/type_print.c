/* Types as text. A message has lines of at most LINE_WIDTH_MAX characters where that is possible: beyond it, only what
 * makes two types differ is kept, and "..." stands for what was left out. */
#include "base/limits.h"
#include "rego/types.h"

#define LINE_WIDTH_MAX 80u
#define ELIDED_WIDTH_MAX 32u    /* a type that is not what a message is about is spelled out up to here */
#define DIFF_DEPTH_MAX 8u
#define FULL UINT32_MAX

static void print_to(Buf *buf, const Type *type, uint32_t depth);

/* --- one type ---------------------------------------------------------------------------------------------------- */

/* Keys are written bare, and compound ones as lists. */
static void print_key(Buf *buf, Value key)
{
    if (key.kind == VALUE_STRING || key.kind == VALUE_DECIMAL) {
        buf_str(buf, value_text(key));
    } else if (key.kind == VALUE_INT) {
        buf_i64(buf, key.integer);
    } else if (key.kind == VALUE_BOOL) {
        buf_text(buf, key.count ? "true" : "false");
    } else if (key.kind == VALUE_NULL) {
        buf_text(buf, "<nil>");
    } else {
        buf_text(buf, key.kind == VALUE_OBJECT ? "map[" : "[");
        for (uint32_t i = 0; i < key.count; i++) {
            if (i) buf_char(buf, ' ');
            print_key(buf, key.kind == VALUE_OBJECT ? key.members[i].key : key.items[i]);
            if (key.kind != VALUE_OBJECT) continue;
            buf_char(buf, ':');
            print_key(buf, key.members[i].value);
        }
        buf_char(buf, ']');
    }
}

static void print_items(Buf *buf, const Type *type, uint32_t depth)
{
    for (uint32_t i = 0; i < type->count; i++) {
        if (i) buf_text(buf, ", ");
        if (depth == 0) {
            buf_text(buf, "...");
            return;
        }
        if (type->kind == TYPE_OBJECT) {
            print_key(buf, type->keys[i]);
            buf_text(buf, ": ");
        }
        print_to(buf, type->items[i], depth == FULL ? FULL : depth - 1);
    }
}

static void print_rest(Buf *buf, const Type *type, uint32_t depth)
{
    if (!type->rest && !type->is_open) return;
    uint32_t inside = depth == FULL ? FULL : depth - 1;
    buf_char(buf, '[');
    if (depth == 0) {
        buf_text(buf, "...");
    } else {
        if (type->is_open) {
            print_to(buf, type->key, inside);
            buf_text(buf, ": ");
        }
        print_to(buf, type->rest, inside);
    }
    buf_char(buf, ']');
}

/* With what lies more than `depth` levels inside left out. */
static void print_to(Buf *buf, const Type *type, uint32_t depth)
{
    static const char *const names[] = {
        [TYPE_NULL] = "null",   [TYPE_BOOLEAN] = "boolean", [TYPE_NUMBER] = "number", [TYPE_STRING] = "string",
        [TYPE_ARRAY] = "array", [TYPE_OBJECT] = "object",   [TYPE_SET] = "set",       [TYPE_ANY] = "any",
        [TYPE_FUNCTION] = "",
    };
    if (!type) {
        buf_text(buf, "???");
        return;
    }
    buf_text(buf, names[type->kind]);
    if (type->kind == TYPE_FUNCTION) {
        buf_char(buf, '(');
        print_items(buf, type, depth);
        buf_text(buf, ") => ");
        if (depth == 0 && type->rest) buf_text(buf, "...");
        else print_to(buf, type->rest, depth == FULL || depth == 0 ? depth : depth - 1);
        return;
    }
    if (type->count) {
        buf_char(buf, '<');
        print_items(buf, type, depth);
        buf_char(buf, '>');
    }
    print_rest(buf, type, depth);
}

void type_print(Buf *buf, const Type *type)
{
    print_to(buf, type, FULL);
}

/* --- two types --------------------------------------------------------------------------------------------------- */

static size_t text_width(Str text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++) width += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return width;
}

static void print_elided(Buf *buf, const Type *type)
{
    Buf whole;
    buf_init(&whole, REGO_ERROR_TEXT_SIZE_MAX);
    type_print(&whole, type);
    if (!buf_overflowed(&whole) && text_width(buf_peek(&whole)) <= ELIDED_WIDTH_MAX) buf_str(buf, buf_peek(&whole));
    else print_to(buf, type, 0);
    buf_deinit(&whole);
}

/* A list between brackets that is opened by its first item, so that an empty one is not shown at all. */
typedef struct Listing {
    Buf *buf;
    bool is_open;
} Listing;

static void listing_next(Listing *listing)
{
    buf_text(listing->buf, listing->is_open ? ", " : "<");
    listing->is_open = true;
}

static void listing_end(Listing *listing, bool elided)
{
    if (elided) {
        listing_next(listing);
        buf_text(listing->buf, "...");
    }
    if (listing->is_open) buf_char(listing->buf, '>');
}

static void diff_print(Buf *left, Buf *right, const Type *a, const Type *b, uint32_t depth);

static void member_print(Listing *listing, Value key, const Type *type)
{
    listing_next(listing);
    print_key(listing->buf, key);
    buf_text(listing->buf, ": ");
    if (type) print_elided(listing->buf, type);
}

static void rest_print(Buf *buf, const Type *type)
{
    if (!type->is_open) return;
    buf_char(buf, '[');
    print_elided(buf, type->key);
    buf_text(buf, ": ");
    print_elided(buf, type->rest);
    buf_char(buf, ']');
}

static void diff_objects(Buf *left, Buf *right, const Type *a, const Type *b, uint32_t depth)
{
    Listing l = { left, false }, r = { right, false };
    bool elided = false;
    buf_text(left, "object");
    buf_text(right, "object");
    for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
        int order = k == b->count ? -1 : i == a->count ? 1 : value_compare(a->keys[i], b->keys[k]);
        if (order < 0) {
            member_print(&l, a->keys[i], a->items[i]);
        } else if (order > 0) {
            member_print(&r, b->keys[k], b->items[k]);
        } else if (type_compare(a->items[i], b->items[k]) == 0) {
            elided = true;
        } else {
            member_print(&l, a->keys[i], NULL);
            member_print(&r, b->keys[k], NULL);
            diff_print(left, right, a->items[i], b->items[k], depth + 1);
        }
        i += order <= 0;
        k += order >= 0;
    }
    listing_end(&l, elided);
    listing_end(&r, elided);
    if (!a->is_open || !b->is_open) {
        rest_print(left, a);
        rest_print(right, b);
        return;
    }
    buf_char(left, '[');
    buf_char(right, '[');
    diff_print(left, right, a->key, b->key, depth + 1);
    buf_text(left, ": ");
    buf_text(right, ": ");
    diff_print(left, right, a->rest, b->rest, depth + 1);
    buf_char(left, ']');
    buf_char(right, ']');
}

static void diff_arrays(Buf *left, Buf *right, const Type *a, const Type *b, uint32_t depth)
{
    if (a->count != b->count || !a->rest != !b->rest) {
        print_to(left, a, 1);
        print_to(right, b, 1);
        return;
    }
    Listing l = { left, false }, r = { right, false };
    buf_text(left, "array");
    buf_text(right, "array");
    for (uint32_t i = 0; i < a->count; i++) {
        listing_next(&l);
        listing_next(&r);
        diff_print(left, right, a->items[i], b->items[i], depth + 1);
    }
    listing_end(&l, false);
    listing_end(&r, false);
    if (!a->rest) return;
    buf_char(left, '[');
    buf_char(right, '[');
    diff_print(left, right, a->rest, b->rest, depth + 1);
    buf_char(left, ']');
    buf_char(right, ']');
}

static bool union_has(const Type *any, const Type *type)
{
    for (uint32_t i = 0; i < any->count; i++)
        if (type_compare(any->items[i], type) == 0) return true;
    return false;
}

static void diff_union(Buf *buf, const Type *any, const Type *other, bool elided)
{
    Listing listing = { buf, false };
    buf_text(buf, "any");
    for (uint32_t i = 0; i < any->count; i++) {
        if (union_has(other, any->items[i])) continue;
        listing_next(&listing);
        print_elided(buf, any->items[i]);
    }
    listing_end(&listing, elided);
}

static void diff_print(Buf *left, Buf *right, const Type *a, const Type *b, uint32_t depth)
{
    bool differ = depth < DIFF_DEPTH_MAX && a && b && type_compare(a, b) != 0 && a->kind == b->kind;
    if (differ && a->kind == TYPE_SET && a->rest && b->rest) {
        buf_text(left, "set[");
        buf_text(right, "set[");
        diff_print(left, right, a->rest, b->rest, depth + 1);
        buf_char(left, ']');
        buf_char(right, ']');
    } else if (differ && a->kind == TYPE_ARRAY) {
        diff_arrays(left, right, a, b, depth);
    } else if (differ && a->kind == TYPE_OBJECT) {
        diff_objects(left, right, a, b, depth);
    } else if (differ && a->kind == TYPE_ANY) {
        bool elided = false;
        for (uint32_t i = 0; i < a->count; i++) elided |= union_has(b, a->items[i]);
        diff_union(left, a, b, elided);
        diff_union(right, b, a, elided);
    } else {
        print_elided(left, a);
        print_elided(right, b);
    }
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

typedef struct Pair {
    Buf left, right;
} Pair;

static void pair_begin(Pair *pair, const char *left, const char *right)
{
    buf_init(&pair->left, REGO_ERROR_TEXT_SIZE_MAX);
    buf_init(&pair->right, REGO_ERROR_TEXT_SIZE_MAX);
    buf_text(&pair->left, left);
    buf_text(&pair->right, right);
}

static bool pair_is_wide(const Pair *pair)
{
    return text_width(buf_peek(&pair->left)) > LINE_WIDTH_MAX || text_width(buf_peek(&pair->right)) > LINE_WIDTH_MAX
        || buf_overflowed(&pair->left) || buf_overflowed(&pair->right);
}

static void pair_end(Pair *pair, Buf *buf)
{
    buf_text(buf, "\n\t");
    buf_str(buf, buf_peek(&pair->left));
    buf_text(buf, "\n\t");
    buf_str(buf, buf_peek(&pair->right));
    buf_deinit(&pair->left);
    buf_deinit(&pair->right);
}

static void param_name_print(Buf *buf, const TypeParam *param)
{
    if (param->name.len) buf_format(buf, "%.*s: ", STR_ARG(param->name));
}

static void params_print(Buf *buf, const TypeParam *params, uint32_t count, uint32_t from, bool elided)
{
    for (uint32_t i = from; i < count; i++) {
        if (i) buf_text(buf, ", ");
        param_name_print(buf, &params[i]);
        if (elided) print_elided(buf, params[i].type);
        else type_print(buf, params[i].type);
    }
    buf_char(buf, ')');
}

void type_print_call(Buf *buf, const TypeParam *have, uint32_t have_count, const TypeParam *want, uint32_t want_count)
{
    Pair pair;
    pair_begin(&pair, "have: (", "want: (");
    params_print(&pair.left, have, have_count, 0, false);
    params_print(&pair.right, want, want_count, 0, false);
    if (pair_is_wide(&pair)) {
        buf_deinit(&pair.left);
        buf_deinit(&pair.right);
        pair_begin(&pair, "have: (", "want: (");
        uint32_t count = have_count < want_count ? have_count : want_count;
        for (uint32_t i = 0; i < count; i++) {
            if (i) buf_text(&pair.left, ", ");
            if (i) buf_text(&pair.right, ", ");
            param_name_print(&pair.left, &have[i]);
            param_name_print(&pair.right, &want[i]);
            if (type_unifies(have[i].type, want[i].type)) {
                print_elided(&pair.left, have[i].type);
                print_elided(&pair.right, want[i].type);
            } else {
                diff_print(&pair.left, &pair.right, have[i].type, want[i].type, 0);
            }
        }
        params_print(&pair.left, have, have_count, count, true);
        params_print(&pair.right, want, want_count, count, true);
    }
    pair_end(&pair, buf);
}

void type_print_match(Buf *buf, const Type *left, const Type *right)
{
    static const char *const plurals[] = { [TYPE_ARRAY] = "arrays", [TYPE_OBJECT] = "objects", [TYPE_SET] = "sets" };
    Pair pair;
    pair_begin(&pair, "left  : ", "right : ");
    type_print(&pair.left, left);
    type_print(&pair.right, right);
    if (pair_is_wide(&pair)) {
        buf_deinit(&pair.left);
        buf_deinit(&pair.right);
        pair_begin(&pair, "left  : ", "right : ");
        diff_print(&pair.left, &pair.right, left, right, 0);
    }
    pair_end(&pair, buf);
    if (left && right && left->kind == right->kind && left->kind >= TYPE_ARRAY && left->kind <= TYPE_SET)
        buf_format(buf, "\n\thint  : both sides are %s but their types differ, so they can never be equal (see "
                   "https://www.openpolicyagent.org/docs/errors/rego-type-error/match-error)", plurals[left->kind]);
}

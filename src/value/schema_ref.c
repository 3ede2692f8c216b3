#include <string.h>

#include "base/limits.h"
#include "value/json_pointer.h"
#include "value/schema_compiler.h"
#include "value/uri.h"

/* --- places that can be referred to ------------------------------------------------------------------------------ */

Status compiler_add_resource(Compiler *compiler, SchemaNode *node, Str document_uri, Str uri)
{
    if (compiler->resource_count == SCHEMA_RESOURCE_COUNT_MAX)
        return compiler_refuse(compiler, node, STR("$id"), STR(""), ERR_LIMIT,
                               "the schema has more than SCHEMA_RESOURCE_COUNT_MAX (%u) parts with an $id",
                               SCHEMA_RESOURCE_COUNT_MAX);
    SchemaResource *resource = compiler_alloc(compiler, sizeof *resource);
    char *copy = resource ? compiler_alloc(compiler, uri.len + 1) : NULL;
    if (!copy) return ERR_LIMIT;
    if (uri.len) memcpy(copy, uri.ptr, uri.len);
    *resource = (SchemaResource){ .uri = { copy, uri.len }, .document_uri = document_uri, .root = node };

    uint32_t old;
    if (!map_add(&compiler->resources, resource->uri, (uint32_t)compiler->resource_count, &old)) {
        /* A document without $id has no name; all others must differ. */
        return compiler_refuse(compiler, node, STR("$id"), STR(""), ERR_INVALID,
                               "\"%.*s\" is the $id of another part of the schema already", STR_ARG(resource->uri));
    }
    compiler->resource_list = arena_grow(&compiler->scratch, compiler->resource_list, sizeof *compiler->resource_list,
                                         compiler->resource_count, &compiler->resource_capacity);
    compiler->resource_list[compiler->resource_count++] = resource;
    node->resource = resource;
    return OK;
}

/* The reference as seen from the node's resource, in `buf`. */
static Status resolve(Compiler *compiler, const SchemaNode *node, Str keyword, Str text, Buf *buf)
{
    if (text.len <= SCHEMA_REF_SIZE_MAX) uri_resolve(buf, node->resource->uri, text);
    if (text.len <= SCHEMA_REF_SIZE_MAX && !buf_overflowed(buf)) return OK;
    return compiler_refuse(compiler, node, keyword, STR(""), ERR_LIMIT,
                           "the reference is longer than SCHEMA_REF_SIZE_MAX (%u bytes)", SCHEMA_REF_SIZE_MAX);
}

Status compiler_add_id(Compiler *compiler, SchemaNode *node, Value id)
{
    if (id.kind != VALUE_STRING)
        return compiler_refuse(compiler, node, STR("$id"), STR(""), ERR_INVALID, "must be a string, is of type %s",
                               value_kind_name(id));
    char storage[SCHEMA_REF_SIZE_MAX];
    Buf buf = buf_on(storage, sizeof storage);
    Status status = resolve(compiler, node, STR("$id"), value_text(id), &buf);
    if (status) return status;
    Str uri, fragment;
    uri_cut_fragment(buf_peek(&buf), &uri, &fragment);
    if (fragment.len)
        return compiler_refuse(compiler, node, STR("$id"), STR(""), ERR_INVALID,
                               "must not have a fragment, is \"%.*s\"", STR_ARG(value_text(id)));
    if (str_is(uri, node->resource->uri)) return OK;        /* "#" and the like: part of the resource around it */
    return compiler_add_resource(compiler, node, node->resource->document_uri, uri);
}

static bool is_anchor(Str name)
{
    if (name.len == 0 || !(ascii_is_alpha(name.ptr[0]) || name.ptr[0] == '_')) return false;
    for (size_t i = 1; i < name.len; i++)
        if (!ascii_is_alnum(name.ptr[i]) && !memchr("-._", name.ptr[i], 3)) return false;
    return true;
}

/* The places of a name; made where it is new. */
static AnchorName *anchor_intern(Compiler *compiler, Str name)
{
    uint32_t index = (uint32_t)compiler->anchor_count;
    if (!map_add(&compiler->anchors, name, index, &index)) return compiler->anchor_list[index];
    compiler->anchor_list = arena_grow(&compiler->scratch, compiler->anchor_list, sizeof *compiler->anchor_list,
                                       compiler->anchor_count, &compiler->anchor_capacity);
    AnchorName *anchor = compiler_alloc(compiler, sizeof *anchor);
    if (anchor) compiler->anchor_list[compiler->anchor_count++] = anchor;
    return anchor;
}

static SchemaNode *anchor_find(const AnchorPlace *places, const SchemaResource *resource)
{
    for (; places; places = places->next)
        if (places->resource == resource) return places->node;
    return NULL;
}

Status compiler_add_anchor(Compiler *compiler, SchemaNode *node, Str keyword, Str name, bool is_dynamic)
{
    if (!is_anchor(name))
        return compiler_refuse(compiler, node, keyword, STR(""), ERR_INVALID,
                               "must be a letter or _ and then letters, digits, - . or _, is \"%.*s\"", STR_ARG(name));
    AnchorName *anchor = anchor_intern(compiler, name);
    AnchorPlace *place = anchor ? compiler_alloc(compiler, sizeof *place) : NULL;
    if (!place) return ERR_LIMIT;
    SchemaNode *fixed = anchor_find(anchor->fixed, node->resource);
    SchemaNode *dynamic = anchor_find(anchor->dynamic, node->resource);
    if ((fixed && fixed != node) || (dynamic && dynamic != node))
        return compiler_refuse(compiler, node, keyword, STR(""), ERR_INVALID,
                               "\"%.*s\" is the anchor of another place already", STR_ARG(name));
    AnchorPlace **list = is_dynamic ? &anchor->dynamic : &anchor->fixed;
    *place = (AnchorPlace){ node->resource, node, *list };
    *list = place;
    return OK;
}

/* --- references -------------------------------------------------------------------------------------------------- */

Status compiler_add_ref(Compiler *compiler, SchemaNode *node, Rule *rule, Str text)
{
    compiler->refs = arena_grow(&compiler->scratch, compiler->refs, sizeof *compiler->refs, compiler->ref_count,
                                &compiler->ref_capacity);
    compiler->refs[compiler->ref_count++] = (PendingRef){ node, rule, text };
    return OK;
}

static Str ref_keyword(const PendingRef *ref)
{
    return ref->rule->kind == RULE_REF ? STR("$ref") : STR("$dynamicRef");
}

/* A refusal that names the reference as written and, where that is another text, as resolved. */
static Status ref_refuse(Compiler *compiler, const PendingRef *ref, Str resolved, const char *why)
{
    if (str_is(ref->text, resolved))
        return compiler_refuse(compiler, ref->node, ref_keyword(ref), STR(""), ERR_INVALID, "\"%.*s\" %s",
                               STR_ARG(ref->text), why);
    return compiler_refuse(compiler, ref->node, ref_keyword(ref), STR(""), ERR_INVALID, "\"%.*s\" (\"%.*s\") %s",
                           STR_ARG(ref->text), STR_ARG(resolved), why);
}

/* The resource of that URI, taken from the built-in documents if need be; NULL without an error where there is none. */
static Status resource_find(Compiler *compiler, Str uri, SchemaResource **out_resource)
{
    uint32_t index;
    *out_resource = NULL;
    if (map_find(&compiler->resources, uri, &index)) {
        *out_resource = compiler->resource_list[index];
        return OK;
    }
    Value document;
    Str known;
    if (!arena_fits(compiler->arena, SCHEMA_META_SIZE_MAX))
        return error_set(compiler->err, ERR_LIMIT, "the schema does not fit the memory granted to it");
    if (!schema_meta_find(compiler->arena, uri, &known, &document)) return OK;
    SchemaNode *root;
    Status status = compiler_add_document(compiler, document, known, &root);
    if (status) return status;
    map_find(&compiler->resources, uri, &index);
    *out_resource = compiler->resource_list[index];
    return OK;
}

/* The child of that node which begins with keyword `token`, and for lists and maps needs one token more. */
static const NodeSet *set_find(const SchemaNode *node, Str token)
{
    for (const NodeSet *set = node->sets; set; set = set->next)
        if (str_is(set->keyword, token)) return set;
    return NULL;
}

static SchemaNode *set_child(const NodeSet *set, Str token)
{
    if (set->shape == SET_MAP) {
        const NodeChild *child = node_set_find(set, token);
        return child ? child->node : NULL;
    }
    uint64_t index;
    bool is_padded = token.len > 1 && token.ptr[0] == '0';
    if (is_padded || !str_to_u64(token, &index) || index >= set->count) return NULL;
    return set->items[index].node;
}

static Status stray_find(Compiler *compiler, const PendingRef *ref, SchemaNode *parent, Str pointer, Value source,
                         SchemaNode **out_node)
{
    for (uint32_t i = 0; i < compiler->stray_count; i++) {
        SchemaNode *stray = compiler->strays[i];
        if (stray->parent != parent || !str_is(stray->stray, pointer)) continue;
        *out_node = stray;
        return OK;
    }
    if (compiler->stray_count == SCHEMA_STRAY_COUNT_MAX)
        return compiler_refuse(compiler, ref->node, ref_keyword(ref), STR(""), ERR_LIMIT,
                               "more than SCHEMA_STRAY_COUNT_MAX (%u) references lead outside the subschemas",
                               SCHEMA_STRAY_COUNT_MAX);
    char *copy = compiler_alloc(compiler, pointer.len + 1);
    if (!copy) return ERR_LIMIT;
    memcpy(copy, pointer.ptr, pointer.len);
    Status status = compiler_add_stray(compiler, parent, (Str){ copy, pointer.len }, source, out_node);
    if (!status) compiler->strays[compiler->stray_count++] = *out_node;
    return status;
}

/* Follows a JSON pointer from node to node, as far as keywords lead, and from there through the plain value. */
static Status pointer_find(Compiler *compiler, const PendingRef *ref, SchemaNode *node, Str pointer,
                           SchemaNode **out_node)
{
    char storage[SCHEMA_REF_SIZE_MAX], step_storage[2 * SCHEMA_REF_SIZE_MAX];
    Buf token = buf_on(storage, sizeof storage);
    Buf steps = buf_on(step_storage, sizeof step_storage);      /* tokens since the last node */
    const NodeSet *set = NULL;
    const Value *value = &node->source;
    *out_node = NULL;
    while (json_pointer_next(&pointer, &token)) {
        value = json_pointer_step(*value, buf_peek(&token));
        if (!value) return OK;
        bool is_first = steps.len == 0;
        json_pointer_add(&steps, buf_peek(&token));
        SchemaNode *child = set ? set_child(set, buf_peek(&token)) : NULL;
        set = is_first ? set_find(node, buf_peek(&token)) : NULL;
        if (set && set->shape == SET_SINGLE) child = set->items[0].node;
        if (!child) continue;
        node = child;
        value = &node->source;
        set = NULL;
        buf_clear(&steps);
    }
    *out_node = node;
    return steps.len ? stray_find(compiler, ref, node, buf_peek(&steps), *value, out_node) : OK;
}

/* The place inside a resource that a fragment names: nothing, a JSON pointer or an anchor. `name` is set where it is an
 * anchor of which $dynamicRef has to ask at the time of checking. */
static Status fragment_find(Compiler *compiler, const PendingRef *ref, SchemaResource *resource, Str fragment,
                            SchemaNode **out_node, const AnchorName **name)
{
    char storage[SCHEMA_REF_SIZE_MAX];
    Buf decoded = buf_on(storage, sizeof storage);
    *out_node = NULL;
    if (!uri_decode(&decoded, fragment)) return OK;
    Str text = buf_peek(&decoded);
    if (text.len == 0) *out_node = resource->root;
    if (text.len == 0) return OK;
    if (text.ptr[0] == '/')
        return json_pointer_is_valid(text) ? pointer_find(compiler, ref, resource->root, text, out_node) : OK;

    uint32_t index;
    if (!map_find(&compiler->anchors, text, &index)) return OK;
    AnchorName *anchor = compiler->anchor_list[index];
    *out_node = anchor_find(anchor->dynamic, resource);
    if (*out_node) *name = anchor;
    else *out_node = anchor_find(anchor->fixed, resource);
    return OK;
}

static Status ref_resolve(Compiler *compiler, const PendingRef *ref)
{
    char storage[SCHEMA_REF_SIZE_MAX];
    Buf buf = buf_on(storage, sizeof storage);
    Status status = resolve(compiler, ref->node, ref_keyword(ref), ref->text, &buf);
    if (status) return status;
    Str uri, fragment;
    uri_cut_fragment(buf_peek(&buf), &uri, &fragment);

    SchemaResource *resource;
    status = resource_find(compiler, uri, &resource);
    if (status) return status;
    if (!resource)
        return ref_refuse(compiler, ref, buf_peek(&buf),
                          "is not part of this schema, and remote schemas are not loaded");

    SchemaNode *node;
    const AnchorName *name = NULL;
    status = fragment_find(compiler, ref, resource, fragment, &node, &name);
    if (status) return status;
    if (!node) return ref_refuse(compiler, ref, buf_peek(&buf), "leads to no place of the schema");
    if (ref->rule->kind == RULE_REF) {
        ref->rule->node = node;
    } else {
        ref->rule->dynamic.node = node;
        ref->rule->dynamic.name = name;
    }
    return OK;
}

Status compiler_resolve_refs(Compiler *compiler)
{
    for (size_t i = 0; i < compiler->ref_count; i++) {          /* resolving may add more */
        PendingRef ref = compiler->refs[i];
        Status status = ref_resolve(compiler, &ref);
        if (status) return status;
    }
    return OK;
}

/* --- loops ------------------------------------------------------------------------------------------------------- */

enum { WALK_NEW, WALK_OPEN, WALK_DONE };

typedef struct WalkStep {
    SchemaNode *node;
    uint32_t rule, item;                /* the next edge to follow */
} WalkStep;

/* How many subschemas a rule applies to the very place of its node, whatever the instance; and one of them. */
static uint32_t edge_count(const Rule *rule)
{
    if (rule->kind == RULE_REF || rule->kind == RULE_NOT) return 1;
    if (rule->kind == RULE_CONDITION) return rule->branch.condition != NULL;
    return rule->kind == RULE_ALL_OF || rule->kind == RULE_ANY_OF || rule->kind == RULE_ONE_OF ? rule->set->count : 0;
}

static SchemaNode *edge_node(const Rule *rule, uint32_t item)
{
    if (rule->kind == RULE_CONDITION) return rule->branch.condition;
    if (rule->kind == RULE_REF || rule->kind == RULE_NOT) return rule->node;
    return rule->set->items[item].node;
}

/* The next subschema that the step leads to, or NULL where all were followed. */
static SchemaNode *walk_next(WalkStep *step)
{
    for (; step->rule < step->node->rule_count; step->rule++, step->item = 0) {
        const Rule *rule = &step->node->rules[step->rule];
        if (step->item < edge_count(rule)) return edge_node(rule, step->item++);
    }
    return NULL;
}

/* Depth first with a stack of its own: a chain of references may be as long as the schema has nodes. */
static Status walk_from(Compiler *compiler, SchemaNode *from, WalkStep *stack)
{
    size_t count = 0;
    stack[count++] = (WalkStep){ .node = from };
    from->walk = WALK_OPEN;
    while (count) {
        SchemaNode *next = walk_next(&stack[count - 1]);
        if (!next) {
            stack[--count].node->walk = WALK_DONE;
        } else if (next->walk == WALK_NEW) {
            next->walk = WALK_OPEN;
            stack[count++] = (WalkStep){ .node = next };
        } else if (next->walk == WALK_OPEN) {
            return compiler_refuse(compiler, next, STR(""), STR(""), ERR_INVALID,
                                   "applies itself to the same place without end");
        }
    }
    return OK;
}

Status compiler_refuse_loops(Compiler *compiler)
{
    WalkStep *stack = ARENA_ARRAY(&compiler->scratch, WalkStep, compiler->node_count);
    for (size_t i = 0; i < compiler->node_count; i++) {
        if (compiler->nodes[i]->walk != WALK_NEW) continue;
        Status status = walk_from(compiler, compiler->nodes[i], stack);
        if (status) return status;
    }
    return OK;
}

/* METADATA blocks: comments that begin a line, the first of them the word METADATA, the others YAML.
 *
 *   # METADATA
 *   # title: May the caller read?
 *   # scope: document
 *   allow if ...
 *
 * A block belongs to the statement that follows it. Its members are brought into the form that policies see.
 */
#include <string.h>

#include "base/limits.h"
#include "rego/parser_state.h"

typedef struct Block {
    const RegoComment *comments;        /* the first one is the word itself */
    size_t count;
} Block;

typedef struct Annotating {
    RegoParser *p;
    RegoModule *module;
    uint32_t import_next, rule_next;    /* the first statements behind the block */
    size_t capacity;
} Annotating;

/* Writes the member of a block in the form that policies see; a text tells what is wrong with it. */
typedef const char *ReadField(RegoParser *p, Value value, Value *out_value);

static ReadField read_text, read_truth, read_texts, read_object, read_authors, read_resources, read_schemas, read_compile;

static const struct { Str name; ReadField *read; } fields[] = {
    { STR_INIT("scope"), read_text },           { STR_INIT("title"), read_text },
    { STR_INIT("description"), read_text },     { STR_INIT("entrypoint"), read_truth },
    { STR_INIT("organizations"), read_texts },  { STR_INIT("related_resources"), read_resources },
    { STR_INIT("authors"), read_authors },      { STR_INIT("schemas"), read_schemas },
    { STR_INIT("custom"), read_object },        { STR_INIT("labels"), read_object },
    { STR_INIT("compile"), read_compile },
};

/* --- fields ------------------------------------------------------------------------------------------------------ */

static const char *read_text(RegoParser *p, Value value, Value *out_value)
{
    *out_value = value;
    if (value.kind == VALUE_BOOL) *out_value = value_string(value.count ? STR("true") : STR("false"));
    if (value.kind == VALUE_INT) *out_value = value_string(arena_format(p->arena, "%lld", (long long)value.integer));
    if (value.kind == VALUE_DECIMAL) out_value->kind = VALUE_STRING;
    return out_value->kind == VALUE_STRING ? NULL : "must be a string";
}

static const char *read_truth(RegoParser *p, Value value, Value *out_value)
{
    *out_value = value;
    return value.kind == VALUE_BOOL ? NULL : "must be true or false";
}

static const char *read_object(RegoParser *p, Value value, Value *out_value)
{
    *out_value = value;
    return value.kind == VALUE_OBJECT ? NULL : "must be an object";
}

/* Each item of a list by `read`. */
static const char *read_list(RegoParser *p, Value value, ReadField *read, Value *out_value)
{
    if (value.kind != VALUE_ARRAY) return "must be a list";
    ValueList list = { .arena = p->arena };
    for (uint32_t i = 0; i < value.count; i++) {
        Value item;
        const char *wrong = read(p, value.items[i], &item);
        if (wrong) return wrong;
        value_list_add(&list, item);
    }
    *out_value = value_list_array(&list);
    return NULL;
}

static const char *read_texts(RegoParser *p, Value value, Value *out_value)
{
    return read_list(p, value, read_text, out_value);
}

static void add_text(MemberList *list, const char *name, Str text)
{
    if (text.len) member_list_add(list, str_of(name), value_string(text));
}

/* "Ann Author <ann@example.com>", or name and email apart. */
static const char *read_author(RegoParser *p, Value value, Value *out_value)
{
    MemberList list = { .arena = p->arena };
    if (value.kind == VALUE_STRING) {
        Str name = str_trim(value_text(value)), email = STR("");
        size_t word = name.len;
        while (word > 0 && name.ptr[word - 1] != ' ') word--;
        Str last = str_slice(name, word, name.len);
        if (last.len >= 2 && str_starts(last, STR("<")) && str_ends(last, STR(">"))) {
            email = str_slice(last, 1, last.len - 1);
            name = str_trim(str_slice(name, 0, word));
        }
        add_text(&list, "name", name);
        add_text(&list, "email", email);
    } else {
        add_text(&list, "name", str_trim(value_get_string(value, "name", STR(""))));
        add_text(&list, "email", str_trim(value_get_string(value, "email", STR(""))));
    }
    if (!list.count) return "needs a name or an email for each author";
    *out_value = member_list_object(&list);
    return NULL;
}

static const char *read_authors(RegoParser *p, Value value, Value *out_value)
{
    return read_list(p, value, read_author, out_value);
}

static const char *read_resource(RegoParser *p, Value value, Value *out_value)
{
    MemberList list = { .arena = p->arena };
    Str ref = value.kind == VALUE_STRING ? value_text(value) : str_trim(value_get_string(value, "ref", STR("")));
    if (!ref.len) return "needs a ref for each resource";
    add_text(&list, "ref", ref);
    add_text(&list, "description", str_trim(value_get_string(value, "description", STR(""))));
    *out_value = member_list_object(&list);
    return NULL;
}

static const char *read_resources(RegoParser *p, Value value, Value *out_value)
{
    return read_list(p, value, read_resource, out_value);
}

static RegoTerm *read_term(RegoParser *p, Str text)
{
    RegoErrors errors;
    rego_errors_init(&errors, &p->scratch);
    RegoTerm *term;
    return rego_parse_term(p->arena, text, NULL, &term, &errors) ? NULL : term;
}

/* input.user as ["input", "user"]. */
static bool read_path(RegoParser *p, Str text, Value *out_path)
{
    const RegoTerm *term = read_term(p, text);
    if (!term) return false;
    ValueList list = { .arena = p->arena };
    if (term->kind == REGO_TERM_VAR) value_list_add(&list, value_string(term->name));
    else if (term->kind != REGO_TERM_REF || term->items[0]->kind != REGO_TERM_VAR) return false;
    else value_list_add(&list, value_string(term->items[0]->name));
    for (uint32_t i = 1; term->kind == REGO_TERM_REF && i < term->count; i++) {
        if (term->items[i]->kind != REGO_TERM_SCALAR) return false;
        value_list_add(&list, term->items[i]->value);
    }
    *out_path = value_list_array(&list);
    return true;
}

static bool path_begins(Value path, Str name)
{
    return str_is(value_text(path.items[0]), name);
}

/* One pair: a path of a document, and the path of its schema or the schema itself. */
static const char *read_schema(RegoParser *p, Value value, Value *out_value)
{
    if (value.kind != VALUE_OBJECT || value.count != 1) return "must be a list of one-member objects";
    Value path, schema = value.members[0].value;
    MemberList list = { .arena = p->arena };
    bool is_document = read_path(p, value_text(value.members[0].key), &path)
                    && (path_begins(path, STR("input")) || path_begins(path, STR("data")));
    if (!is_document) return "has an invalid document reference";
    member_list_add(&list, STR("path"), path);
    if (schema.kind == VALUE_OBJECT) {
        member_list_add(&list, STR("definition"), schema);
    } else {
        bool is_path = schema.kind == VALUE_STRING && read_path(p, value_text(schema), &schema)
                    && path_begins(schema, STR("schema"));
        if (!is_path) return "has an invalid schema reference";
        member_list_add(&list, STR("schema"), schema);
    }
    *out_value = member_list_object(&list);
    return NULL;
}

static const char *read_schemas(RegoParser *p, Value value, Value *out_value)
{
    return read_list(p, value, read_schema, out_value);
}

static const char *read_unknown(RegoParser *p, Value value, Value *out_value)
{
    *out_value = value;
    if (value.kind != VALUE_STRING) return NULL;
    const RegoTerm *term = read_term(p, value_text(value));
    bool is_document = term && (rego_term_is_var(term, STR("input")) || rego_term_is_var(term, STR("data")));
    return is_document || (term && term->kind == REGO_TERM_REF) ? NULL : "has an unknown that is no reference";
}

/* What partial evaluation takes: nothing here reads it, but a mistake is told where it is made. */
static const char *read_compile(RegoParser *p, Value value, Value *out_value)
{
    const char *wrong = read_object(p, value, out_value);
    if (wrong) return wrong;
    Value read;
    const Value *unknowns = value_get_text(value, "unknowns");
    if (unknowns && unknowns->kind == VALUE_ARRAY) wrong = read_list(p, *unknowns, read_unknown, &read);
    Str mask = value_get_string(value, "mask_rule", (Str){ 0 });
    if (!wrong && mask.len && !read_term(p, mask)) wrong = "has a mask_rule that is no reference";
    return wrong;
}

static bool is_empty(Value value)
{
    return value.kind == VALUE_NULL || (value.kind != VALUE_INT && !value.count);
}

/* Where a member of the block is written; where that cannot be told, the first line. */
static RegoLoc member_loc(const Block *block, Str name)
{
    for (size_t i = 1; i < block->count; i++) {
        Str line = str_trim(block->comments[i].text);
        bool has_name = str_starts(line, name) && line.len > name.len && line.ptr[name.len] == ':';
        if (has_name) return block->comments[i].loc;
    }
    return block->comments[0].loc;
}

/* Members that are known and not empty; others are passed over. A value of the wrong kind is told at its own line. */
static bool read_fields(RegoParser *p, Value raw, const Block *block, MemberList *list)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const Value *value = value_get(raw, fields[i].name);
        if (!value || value->kind == VALUE_NULL) continue;
        Value read = value_null();
        const char *wrong = fields[i].read(p, *value, &read);
        if (wrong) {
            bool is_whole = str_starts(str_of(wrong), STR("must be"));
            RegoLoc loc = is_whole ? member_loc(block, fields[i].name) : block->comments[0].loc;
            parser_error(p, loc, "annotation %.*s %s", STR_ARG(fields[i].name), wrong);
            return false;
        }
        if (!is_empty(read) && !str_is(fields[i].name, STR("scope"))) member_list_add(list, fields[i].name, read);
    }
    return true;
}

/* --- attaching --------------------------------------------------------------------------------------------------- */

/* The first statement behind the block: a rule, or NULL with *out_what naming what it is instead. */
static RegoRule *statement_below(Annotating *about, RegoLoc loc, const char **out_what)
{
    RegoModule *module = about->module;
    while (about->rule_next < module->rule_count && module->rules[about->rule_next]->loc.offset < loc.offset)
        about->rule_next++;
    while (about->import_next < module->import_count && module->imports[about->import_next].loc.offset < loc.offset)
        about->import_next++;
    RegoRule *rule = about->rule_next < module->rule_count ? module->rules[about->rule_next] : NULL;
    bool has_import = about->import_next < module->import_count
                   && (!rule || module->imports[about->import_next].loc.offset < rule->loc.offset);
    if (module->package_loc.offset > loc.offset) *out_what = "package";
    else if (has_import) *out_what = "import";
    else *out_what = rule ? "rule" : "";
    return strcmp(*out_what, "rule") == 0 ? rule : NULL;
}

static bool find_scope(Str name, RegoScope *out_scope)
{
    for (RegoScope scope = 0; scope < REGO_SCOPE_COUNT; scope++) {
        if (!str_is_text(name, rego_scope_name(scope))) continue;
        *out_scope = scope;
        return true;
    }
    return false;
}

static bool settle_scope(RegoParser *p, RegoAnnotation *annotation, Str written, const char *below)
{
    if (!written.len && annotation->is_entrypoint && annotation->rule) written = STR("document");
    if (!written.len) written = str_of(below);
    if (!find_scope(written, &annotation->scope)) {
        parser_error(p, annotation->loc,
                     "invalid annotation scope '%.*s'. Use one of 'rule', 'document', 'package', or 'subpackages'",
                     STR_ARG(written));
        return false;
    }
    bool of_package = annotation->scope == REGO_SCOPE_PACKAGE || annotation->scope == REGO_SCOPE_SUBPACKAGES;
    const char *wanted = of_package ? "package" : "rule";
    if (strcmp(wanted, below) != 0) {
        parser_error(p, annotation->loc, "annotation scope '%.*s' must be applied to %s%s%s%s", STR_ARG(written),
                     wanted, *below ? " (have " : "", below, *below ? ")" : "");
        return false;
    }
    bool may_be_entered = annotation->scope == REGO_SCOPE_DOCUMENT || annotation->scope == REGO_SCOPE_PACKAGE;
    if (annotation->is_entrypoint && !may_be_entered) {
        parser_error(p, annotation->loc, "annotation entrypoint applied to non-document or package scope '%.*s'",
                     STR_ARG(written));
        return false;
    }
    return true;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

static bool is_metadata(const RegoComment *comment)
{
    return comment->loc.col == 1 && str_starts(str_trim(comment->text), STR("METADATA"));
}

static bool continues(const RegoComment *comment)
{
    return comment->loc.col == 1 && comment->loc.row == comment[-1].loc.row + 1 && !is_metadata(comment);
}

static Str block_yaml(RegoParser *p, const Block *block)
{
    size_t size = 1;
    for (size_t i = 1; i < block->count; i++) size += block->comments[i].text.len + 1;
    Buf buf = buf_on(arena_alloc(&p->scratch, size), size);
    for (size_t i = 1; i < block->count; i++) {
        Str line = block->comments[i].text;
        if (str_starts(line, STR(" "))) line = str_slice(line, 1, line.len);
        buf_str(&buf, line);
        buf_char(&buf, '\n');
    }
    return buf_peek(&buf);
}

static bool is_blank(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_space(text.ptr[i])) return false;
    return true;
}

static bool read_block(Annotating *about, const Block *block, RegoAnnotation *out)
{
    RegoParser *p = about->p;
    RegoLoc first = block->comments[0].loc, last = block->comments[block->count - 1].loc;
    out->loc = first;
    out->loc.size = last.offset + last.size - first.offset;
    Str yaml = block_yaml(p, block);
    if (is_blank(yaml)) {
        parser_error(p, first, "expected METADATA block, found whitespace");
        return false;
    }
    Value raw;
    Error err;
    if (p->options.read_yaml(p->arena, yaml, &raw, &err)) {
        size_t line = err.line < block->count ? err.line : block->count - 1;
        parser_error(p, block->comments[line].loc, "%s", err.text);
        return false;
    }
    if (raw.kind != VALUE_OBJECT) {
        parser_error(p, block->comments[1].loc, "a METADATA block must hold an object, not a %s", value_kind_name(raw));
        return false;
    }
    MemberList list = { .arena = p->arena };
    if (!read_fields(p, raw, block, &list)) return false;
    const char *below;
    out->rule = statement_below(about, last, &below);
    out->is_entrypoint = value_get_bool(raw, "entrypoint", false);
    const Value *written = value_get_text(raw, "scope");
    Value scope = value_string(STR(""));
    if (written && written->kind != VALUE_NULL) read_text(p, *written, &scope);     /* it was found to be a text */
    if (!settle_scope(p, out, value_text(scope), below)) return false;
    add_text(&list, "scope", str_of(rego_scope_name(out->scope)));
    out->value = member_list_object(&list);
    return true;
}

void annotations_read(RegoParser *p, RegoModule *module)
{
    Annotating about = { .p = p, .module = module };
    for (size_t i = 0; i < module->comment_count;) {
        Block block = { &module->comments[i], 1 };
        i++;
        if (!is_metadata(block.comments)) continue;
        for (; i < module->comment_count && continues(&module->comments[i]); i++) block.count++;
        size_t yaml_size = module->comments[i - 1].loc.offset - block.comments[0].loc.offset + 256u;
        parser_need(p, yaml_size * 64);             /* values are made by code that does not ask */
        RegoAnnotation annotation = { 0 };
        if (!read_block(&about, &block, &annotation)) continue;
        module->annotations = parser_grow(p, module->annotations, sizeof *module->annotations, module->annotation_count,
                                          &about.capacity);
        module->annotations[module->annotation_count++] = annotation;
    }
}

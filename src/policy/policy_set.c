#include "policy/policy_set.h"

#include <string.h>

#include "base/limits.h"
#include "os/file.h"
#include "os/tar.h"
#include "rego/parser.h"
#include "rego/builtins/yaml_read.h"
#include "value/json.h"

void policy_set_init(PolicySet *set, Arena *arena)
{
    *set = (PolicySet){ .arena = arena, .data = { .kind = VALUE_OBJECT } };
}

bool policy_is_rego(Str name)
{
    return str_ends(name, STR(".rego"));
}

static bool is_yaml(Str name)
{
    return str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml"));
}

static bool is_data(Str name)
{
    return str_ends(name, STR(".json")) || is_yaml(name);
}

Str policy_module_text(const PolicySet *set, Str file)
{
    for (size_t i = 0; i < set->module_count; i++)
        if (str_is(set->modules[i].file, file)) return set->modules[i].text;
    return STR("");
}

/* --- the base document -------------------------------------------------------------------------------------------- */

/* The union of two documents; `at` is where they stand, for the message. */
static Status merge(Arena *arena, Value a, Value b, Str at, Value *out_value, Error *err)
{
    if (a.kind != VALUE_OBJECT || b.kind != VALUE_OBJECT)
        return error_set(err, ERR_INVALID, "data%s%.*s is defined twice", at.len ? "." : "", STR_ARG(at));
    Member *members = ARENA_ARRAY(arena, Member, (size_t)a.count + b.count + 1);
    uint32_t count = a.count;
    if (a.count) memcpy(members, a.members, a.count * sizeof *members);
    for (uint32_t i = 0; i < b.count; i++) {
        Str key = value_text(b.members[i].key);
        const Value *mine = value_get(a, key);
        members[count] = b.members[i];
        if (mine) {
            Str below = arena_format(arena, "%.*s%s%.*s", STR_ARG(at), at.len ? "." : "", STR_ARG(key));
            Status status = merge(arena, *mine, b.members[i].value, below, &members[count].value, err);
            if (status) return status;
        }
        count++;
    }
    *out_value = value_object(arena, members, count);       /* of equal keys the last one counts: the merged one */
    return OK;
}

/* The document that has `value` below the directories of a path: "a/b/data.json" puts it at a.b. */
static Value at_path(Arena *arena, Str path, Value value)
{
    size_t end = path.len;
    while (end && path.ptr[end - 1] != '/') end--;
    while (end) {
        size_t begin = --end;
        while (begin && path.ptr[begin - 1] != '/') begin--;
        MemberList members = { .arena = arena };
        member_list_add(&members, str_slice(path, begin, end), value);
        value = member_list_object(&members);
        end = begin;
    }
    return value;
}

static Status read_document(Arena *arena, Str name, Str text, Value *out_value, Error *err)
{
    Status status = is_yaml(name) ? yaml_value_read(arena, text, out_value, err)
                                  : json_parse(arena, text, out_value, err);
    if (!status) return OK;
    if (err->line) error_prefix(err, "%.*s:%u:%u: ", STR_ARG(name), err->line, err->column);
    else error_prefix(err, "%.*s: ", STR_ARG(name));
    return status;
}

static Status add_data(PolicySet *set, Str name, Str path, Str text, Error *err)
{
    Value value;
    Status status = read_document(set->arena, name, text, &value, err);
    if (status) return status;
    value = at_path(set->arena, path, value);
    if (value.kind != VALUE_OBJECT)
        return error_set(err, ERR_INVALID, "%.*s: the base document has to be an object, not %s", STR_ARG(name),
                         value_kind_name(value));
    status = merge(set->arena, set->data, value, STR(""), &set->data, err);
    if (status) error_prefix(err, "%.*s: ", STR_ARG(name));
    return status;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static Status count_file(PolicySet *set, Str name, size_t size, Error *err)
{
    set->size += size;
    if (++set->file_count > POLICY_FILE_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "%.*s: more than POLICY_FILE_COUNT_MAX (%u) files", STR_ARG(name),
                         POLICY_FILE_COUNT_MAX);
    if (set->size > POLICY_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "%.*s: more than POLICY_SIZE_MAX (%u bytes) together", STR_ARG(name),
                         POLICY_SIZE_MAX);
    return OK;
}

void policy_set_add(PolicySet *set, Str name, Str text)
{
    set->modules = arena_grow(set->arena, set->modules, sizeof *set->modules, set->module_count, &set->module_capacity);
    set->modules[set->module_count++] = (RegoModuleText){ name, text };
}

/* `path` is where a data file stands below what was given. */
static Status add_text(PolicySet *set, Str name, Str path, Str text, Error *err)
{
    Status status = count_file(set, name, text.len, err);
    if (status) return status;
    if (!policy_is_rego(name)) return add_data(set, name, path, text, err);
    policy_set_add(set, name, text);
    return OK;
}

static Status add_file(PolicySet *set, Str name, Str path, Error *err)
{
    Str text;
    size_t size_max = policy_is_rego(name) ? REGO_TEXT_SIZE_MAX : JSON_SIZE_MAX;
    Status status = file_read(set->arena, name.ptr, size_max, &text, err);
    return status ? status : add_text(set, name, path, text, err);
}

static Str without_slash(const char *path)
{
    Str name = str_of(path);
    while (name.len > 1 && name.ptr[name.len - 1] == '/') name.len--;
    return name;
}

/* A file in a folder, without what leads nowhere: "./a/" and "b.rego" are "a/b.rego". */
static Str name_below(Arena *arena, const char *folder, Str name)
{
    Str root = without_slash(folder);
    while (root.len > 2 && str_ends(root, STR("/."))) root = str_slice(root, 0, root.len - 2);
    while (str_starts(root, STR("./"))) {
        root = str_slice(root, 2, root.len);
        while (str_starts(root, STR("/"))) root = str_slice(root, 1, root.len);
    }
    bool is_here = !root.len || str_is(root, STR("."));
    return is_here ? name : arena_format(arena, "%.*s/%.*s", STR_ARG(root), STR_ARG(name));
}

Status policy_add_path(PolicySet *set, const char *path, Error *err)
{
    Str *names;
    size_t count;
    if (!file_is_directory(path)) {
        Str name = arena_copy(set->arena, str_of(path));
        if (!file_exists(path)) return error_set(err, ERR_NOT_FOUND, "%s: no such file or directory", path);
        if (policy_is_rego(name) || is_data(name)) return add_file(set, name, STR(""), err);
        if (str_ends(name, STR(".tar.gz"))) return policy_add_bundle(set, path, err);
        return error_set(err, ERR_INVALID, "%s: neither a policy (.rego) nor data (.json, .yaml, .yml)", path);
    }
    Status status = directory_walk(set->arena, path, POLICY_FILE_COUNT_MAX, &names, &count, err);
    for (size_t i = 0; !status && i < count; i++)
        if (policy_is_rego(names[i]) || is_data(names[i]))
            status = add_file(set, name_below(set->arena, path, names[i]), names[i], err);
    return status;
}

/* --- bundles ------------------------------------------------------------------------------------------------------ */

typedef struct Bundle {
    const char *path;
    TarFile *files;
    uint32_t count;
    Str *roots;                     /* as "a/b"; the empty one holds everything */
    uint32_t root_count;
} Bundle;

static Status read_directory(PolicySet *set, Bundle *bundle, Error *err)
{
    Str *names;
    size_t count;
    Status status = directory_walk(set->arena, bundle->path, TAR_FILE_COUNT_MAX, &names, &count, err);
    if (status) return status;
    bundle->files = ARENA_ARRAY(set->arena, TarFile, count + 1);
    for (size_t i = 0; !status && i < count; i++) {
        Str full = arena_format(set->arena, "%s/%.*s", bundle->path, STR_ARG(names[i])), text;
        status = file_read(set->arena, full.ptr, TAR_SIZE_MAX, &text, err);
        if (!status) bundle->files[bundle->count++] = (TarFile){ names[i], text };
    }
    return status;
}

static Status read_archive(PolicySet *set, Bundle *bundle, Error *err)
{
    Str bytes;
    Status status = file_read(set->arena, bundle->path, TAR_SIZE_MAX, &bytes, err);
    if (status) return status;
    status = tar_read(set->arena, bytes, &bundle->files, &bundle->count, err);
    if (status) error_prefix(err, "%s: ", bundle->path);
    return status;
}

static bool root_holds(Str root, Str path)
{
    return root.len == 0 || (str_starts(path, root) && (path.len == root.len || path.ptr[root.len] == '/'));
}

static bool roots_hold(const Bundle *bundle, Str path)
{
    for (uint32_t i = 0; i < bundle->root_count; i++)
        if (root_holds(bundle->roots[i], path)) return true;
    return false;
}

static bool roots_lie_below(const Bundle *bundle, Str path)
{
    for (uint32_t i = 0; i < bundle->root_count; i++)
        if (root_holds(path, bundle->roots[i])) return true;
    return false;
}

static Str root_of(Value text)
{
    Str root = value_text(text);
    while (root.len && root.ptr[0] == '/') root = str_slice(root, 1, root.len);
    while (root.len && root.ptr[root.len - 1] == '/') root.len--;
    return root;
}

static Status refuse_manifest(const Bundle *bundle, const char *why, Error *err)
{
    return error_set(err, ERR_INVALID, "%s/.manifest: %s", bundle->path, why);
}

/* A root inside of another one says nothing, and is most likely a mistake. */
static Status check_roots(const Bundle *bundle, Error *err)
{
    for (uint32_t i = 0; i < bundle->root_count; i++)
        for (uint32_t k = 0; k < bundle->root_count; k++)
            if (i != k && root_holds(bundle->roots[i], bundle->roots[k]))
                return error_set(err, ERR_INVALID, "%s/.manifest: its roots '%.*s' and '%.*s' overlap", bundle->path,
                                 STR_ARG(bundle->roots[i]), STR_ARG(bundle->roots[k]));
    return OK;
}

/* Without a manifest, or without roots in it, a bundle may define everything. */
static Status read_manifest(PolicySet *set, Bundle *bundle, Error *err)
{
    Value manifest = { .kind = VALUE_OBJECT };
    for (uint32_t i = 0; i < bundle->count; i++) {
        if (!str_is(bundle->files[i].name, STR(".manifest"))) continue;
        Str name = arena_format(set->arena, "%s/.manifest", bundle->path);
        Status status = read_document(set->arena, name, bundle->files[i].bytes, &manifest, err);
        if (status) return status;
    }
    const Value *roots = value_get_text(manifest, "roots"), *revision = value_get_text(manifest, "revision");
    const Value *metadata = value_get_text(manifest, "metadata");
    if (revision && revision->kind != VALUE_STRING && revision->kind != VALUE_NULL)
        return refuse_manifest(bundle, "revision has to be a string", err);
    if (metadata && metadata->kind != VALUE_OBJECT && metadata->kind != VALUE_NULL)
        return refuse_manifest(bundle, "metadata has to be an object", err);
    bundle->roots = ARENA_ARRAY(set->arena, Str, roots && roots->kind == VALUE_ARRAY ? (size_t)roots->count + 1 : 1);
    if (!roots || roots->kind == VALUE_NULL) {
        bundle->roots[bundle->root_count++] = STR("");
        return OK;
    }
    bool is_list = roots->kind == VALUE_ARRAY;
    for (uint32_t i = 0; is_list && i < roots->count; i++) {
        is_list = roots->items[i].kind == VALUE_STRING;
        if (is_list) bundle->roots[bundle->root_count++] = root_of(roots->items[i]);
    }
    if (!is_list) return refuse_manifest(bundle, "roots has to be a list of strings", err);
    if (!bundle->root_count) return refuse_manifest(bundle, "roots is empty: the bundle may define nothing", err);
    return check_roots(bundle, err);
}

/* Two bundles may not define the same. */
static Status add_roots(PolicySet *set, const Bundle *bundle, Error *err)
{
    size_t before = set->root_count;
    for (uint32_t i = 0; i < bundle->root_count; i++) {
        for (size_t k = 0; k < before; k++)
            if (root_holds(set->roots[k], bundle->roots[i]) || root_holds(bundle->roots[i], set->roots[k]))
                return error_set(err, ERR_INVALID, "%s: its root '%.*s' overlaps the root '%.*s' of another bundle",
                                 bundle->path,
                                 STR_ARG(bundle->roots[i]), STR_ARG(set->roots[k]));
        set->roots = arena_grow(set->arena, set->roots, sizeof *set->roots, set->root_count, &set->root_capacity);
        set->roots[set->root_count++] = bundle->roots[i];
    }
    return OK;
}

static Status refuse_outside(const Bundle *bundle, Str name, const char *what, Str path, Error *err)
{
    return error_set(err, ERR_INVALID, "%s/%.*s: %s '%.*s' is outside of the roots that the manifest names",
                     bundle->path, STR_ARG(name),
                     what, STR_ARG(path));
}

/* Data above the roots is fine as far as it leads to them. */
static Status check_data(PolicySet *set, const Bundle *bundle, Str name, Value value, Str path, Error *err)
{
    if (roots_hold(bundle, path)) return OK;
    if (value.kind != VALUE_OBJECT || !roots_lie_below(bundle, path))
        return refuse_outside(bundle, name, "the data", path, err);
    for (uint32_t i = 0; i < value.count; i++) {
        Str key = value_text(value.members[i].key);
        Str below = arena_format(set->arena, "%.*s%s%.*s", STR_ARG(path), path.len ? "/" : "", STR_ARG(key));
        Status status = check_data(set, bundle, name, value.members[i].value, below, err);
        if (status) return status;
    }
    return OK;
}

/* The package of a module as a path. One that cannot be parsed is reported when it is compiled. */
static Status check_module(PolicySet *set, const Bundle *bundle, Str name, Str text, Error *err)
{
    RegoErrors errors;
    RegoModule *module;
    rego_errors_init(&errors, set->arena);
    for (int v0 = 0; v0 < 2; v0++) {
        RegoParseOptions options = { .file = name, .v0 = v0 };
        if (rego_parse_module(set->arena, text, &options, &module, &errors)) continue;
        Str path = STR("");
        for (uint32_t i = 1; i < module->package->count; i++)
            path = arena_format(set->arena, "%.*s%s%.*s", STR_ARG(path), path.len ? "/" : "",
                                STR_ARG(value_text(module->package->items[i]->value)));
        return roots_hold(bundle, path) ? OK : refuse_outside(bundle, name, "the package", path, err);
    }
    return OK;
}

static bool is_bundle_data(Str name)
{
    size_t slash = name.len;
    while (slash && name.ptr[slash - 1] != '/') slash--;
    Str last = str_slice(name, slash, name.len);
    return str_is(last, STR("data.json")) || str_is(last, STR("data.yaml")) || str_is(last, STR("data.yml"));
}

static Status add_bundle_file(PolicySet *set, const Bundle *bundle, const TarFile *file, Error *err)
{
    Str name = name_below(set->arena, bundle->path, file->name);
    Status status = OK;
    if (policy_is_rego(file->name)) {
        status = check_module(set, bundle, file->name, file->bytes, err);
    } else {
        Value value;
        if (!is_bundle_data(file->name)) return OK;
        status = read_document(set->arena, name, file->bytes, &value, err);
        if (!status) status = check_data(set, bundle, file->name, at_path(set->arena, file->name, value), STR(""), err);
    }
    return status ? status : add_text(set, name, file->name, file->bytes, err);
}

Status policy_add_bundle(PolicySet *set, const char *path, Error *err)
{
    Bundle bundle = { .path = arena_copy(set->arena, without_slash(path)).ptr };
    Status status = file_is_directory(path) ? read_directory(set, &bundle, err) : read_archive(set, &bundle, err);
    if (!status) status = read_manifest(set, &bundle, err);
    if (!status) status = add_roots(set, &bundle, err);
    for (uint32_t i = 0; !status && i < bundle.count; i++)
        status = add_bundle_file(set, &bundle, &bundle.files[i], err);
    return status;
}

/* --- single documents --------------------------------------------------------------------------------------------- */

Status policy_read_document(Arena *arena, const char *path, Value *out_value, Error *err)
{
    Str text, name = str_of(path);
    Error ignored;
    Status status = file_read(arena, path, JSON_SIZE_MAX, &text, err);
    if (status) return status;
    status = read_document(arena, name, text, out_value, err);
    bool may_be_yaml = !is_yaml(name) && !str_ends(name, STR(".json"));
    if (status && may_be_yaml && yaml_value_read(arena, text, out_value, &ignored) == OK) return OK;
    return status;
}

/* tenants.c - tenants as they are now: what they are held to, what they have under way, and which of their circuits are not closed. */
#include "engine/internal.h"

static void show(Engine *engine, const Tenant *tenant, ValueList *out)
{
    MemberList members = { .arena = out->arena };
    member_list_add(&members, STR("tenant"), value_string(arena_copy(out->arena, tenant->name)));
    member_list_add(&members, STR("weight"), value_int(tenant->weight));
    member_list_add(&members, STR("queued"), value_int(tenant->queue.count));
    member_list_add(&members, STR("executions"), value_int(tenant->user_count));
    member_list_add(&members, STR("waiting"), value_int(tenant->waiting_count));
    envelope_show(engine, tenant, &members);
    member_list_add(&members, STR("circuits"), gates_show(engine, tenant->name, out->arena));
    value_list_add(out, member_list_object(&members));
}

Value engine_tenants(Engine *engine, Str name, Arena *arena)
{
    ValueList list = { .arena = arena };
    if (name.len) {
        show(engine, tenant_of(engine, name), &list);
        return value_list_array(&list);
    }
    const Tenant *tenant = engine->tenant;
    for (uint32_t i = 0; i < engine->tenant_count; i++, tenant = tenant->next)
        if (tenant->name.len) show(engine, tenant, &list);          /* the one without a name is nobody's */
    return value_list_array(&list);
}

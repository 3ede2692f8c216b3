#include "rego/graphql/node.h"

void gql_list_add(Arena *arena, GqlList *list, void *item)
{
    list->items = arena_grow(arena, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = item;
}

void gql_list_append(Arena *arena, GqlList *list, const GqlList *more)
{
    for (uint32_t i = 0; i < more->count; i++) gql_list_add(arena, list, more->items[i]);
}

void gql_names_add(Arena *arena, GqlNames *names, Str name, GqlPlace place)
{
    names->items = arena_grow(arena, names->items, sizeof *names->items, names->count, &names->capacity);
    names->places = arena_grow(arena, names->places, sizeof *names->places, names->count, &names->place_capacity);
    names->items[names->count] = name;
    names->places[names->count++] = place;
}

bool gql_names_have(const GqlNames *names, Str name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (str_is(names->items[i], name)) return true;
    return false;
}

GqlField *gql_field_find(const GqlList *fields, Str name)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        GqlField *field = fields->items[i];
        if (str_is(field->name, name)) return field;
    }
    return NULL;
}

GqlArgument *gql_argument_find(const GqlList *arguments, Str name)
{
    for (uint32_t i = 0; i < arguments->count; i++) {
        GqlArgument *argument = arguments->items[i];
        if (str_is(argument->name, name)) return argument;
    }
    return NULL;
}

Str gql_type_name(const GqlType *type)
{
    while (type->name.len == 0 && type->element) type = type->element;
    return type->name;
}

"""A value held against a JSON Schema of the kind that /openapi.json is written in: what is wrong, as lines with their pointers.

    for line in violations(document, {"$ref": "#/components/schemas/Execution"}, answer): ...

Only the words that schemas.json uses are known; another one is a violation itself, so that none is overlooked.
"""
import re

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$ref", "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "minLength", "maxLength", "pattern",
         "minimum", "maximum", "anyOf", "oneOf", "uniqueItems", "description", "format", "writeOnly"}


def is_kind(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, KINDS[kind])


def resolve(document, schema):
    while "$ref" in schema:
        place = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            place = place[part]
        schema = place
    return schema


def violations(document, schema, value, pointer=""):
    schema = resolve(document, schema)
    found = [f"{pointer}: the schema has an unknown word {word}" for word in schema.keys() - KNOWN]
    if "anyOf" in schema and all(violations(document, one, value, pointer) for one in schema["anyOf"]):
        found.append(f"{pointer}: {value!r} is none of anyOf")
    if "oneOf" in schema and sum(not violations(document, one, value, pointer) for one in schema["oneOf"]) != 1:
        found.append(f"{pointer}: {value!r} is not exactly one of oneOf")
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_kind(value, kind) for kind in kinds):
        return found + [f"{pointer}: {value!r} is no {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{pointer}: {value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{pointer}: {value!r} is not {schema['const']!r}")
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{pointer}: {value!r} does not match {schema['pattern']}")
        if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", 1 << 60):
            found.append(f"{pointer}: {value!r} has a wrong length")
    if is_kind(value, "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{pointer}: {value} is out of range")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1 << 60):
            found.append(f"{pointer}: {len(value)} items")
        if schema.get("uniqueItems") and any(item in value[:i] for i, item in enumerate(value)):
            found.append(f"{pointer}: an item is there twice")
        for i, item in enumerate(value):
            found += violations(document, schema.get("items", {}), item, f"{pointer}/{i}")
    if isinstance(value, dict):
        found += [f"{pointer}: {name} is missing" for name in schema.get("required", []) if name not in value]
        rest = schema.get("additionalProperties", True)
        for name, member in value.items():
            if name in schema.get("properties", {}):
                found += violations(document, schema["properties"][name], member, f"{pointer}/{name}")
            elif rest is False:
                found.append(f"{pointer}: {name} is not described")
            elif isinstance(rest, dict):
                found += violations(document, rest, member, f"{pointer}/{name}")
    return found

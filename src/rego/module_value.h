/* module_value.h - a module's tree as a JSON value, in the form that other Rego tools write and read.
 *
 *   module   {"package": {"path": [...]}, "imports": [...], "rules": [...], "comments": [...]}
 *   rule     {"head": {...}, "body": [...], "else": {...}, "default": true}
 *   term     {"type": "number", "value": 1}
 *
 * Members that would be empty are left out. Items of sets and members of objects are sorted, whatever order they were
 * written in. Places are not part of it, those of comments excepted; nor are annotations.
 *
 * Owns:   nothing; the value lives in `arena` and points into the module.
 * Fails:  never.     Bounds: the height of the tree.     Thread: pure, any.
 */
#ifndef REGO_MODULE_VALUE_H
#define REGO_MODULE_VALUE_H

#include "rego/ast.h"

Value rego_module_value(Arena *arena, const RegoModule *module);

#endif

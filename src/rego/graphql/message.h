/* message.h - the words in which GraphQL documents are refused. Private to this folder. */
#ifndef REGO_GRAPHQL_MESSAGE_H
#define REGO_GRAPHQL_MESSAGE_H

#include "base/buf.h"
#include "rego/graphql/node.h"

/* In double quotes, with escapes as in Go. */
void gql_quote(Buf *buf, Str text);
void gql_type_print(Buf *buf, const GqlType *type);             /* [String!]! */
void gql_value_print(Buf *buf, const GqlValue *value);          /* {a:1,b:[$c]} */

/* Up to five names as `"a", "b", or "c"`, quoted or bare. */
void gql_or_list(Buf *buf, const Str *names, size_t count, bool quoted);
/* Those of the names that could have been meant, nearest first; returns how many. `out_names` has room for `count`. */
size_t gql_suggest(Str typed, const Str *names, size_t count, Str *out_names);

#endif

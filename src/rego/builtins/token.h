/* token.h - JSON Web Tokens taken apart (RFC 7519, 7515). Shared by the builtins that verify and those that sign.
 *
 * Owns:   nothing; parts are slices of the token or live in the arena of the evaluation.
 * Fails:  with BUILTIN_ERROR and OPA's words.     Thread: any; a context belongs to one evaluation.
 */
#ifndef REGO_BUILTINS_TOKEN_H
#define REGO_BUILTINS_TOKEN_H

#include "rego/builtins/builtin.h"
#include "rego/crypto/key.h"

typedef struct Token {
    Str header, payload, signature;         /* as they stand in the token */
    Str signed_part;                        /* header and payload with the dot between them */
} Token;

BuiltinResult token_split(BuiltinContext *context, Str text, Token *out_token, Error *err);
/* The header as an object; encrypted tokens are refused. */
BuiltinResult token_header(BuiltinContext *context, const Token *token, Value *out_header, Error *err);
BuiltinResult token_payload(BuiltinContext *context, const Token *token, Str *out_bytes, Error *err);
BuiltinResult token_signature(BuiltinContext *context, const Token *token, Str *out_bytes, Error *err);
/* A text that has to be a JSON object. */
BuiltinResult token_object(BuiltinContext *context, Str text, Value *out_object, Error *err);

/* What a header says about the token. */
typedef struct TokenHeader {
    Str algorithm, key_id, content_type;
    bool has_unknown_critical;              /* demands something that nobody here knows */
} TokenHeader;
BuiltinResult token_header_read(Value header, TokenHeader *out_header, Error *err);

/* The keys of a certificate or public key in PEM, or of a JSON Web Key (set). The caller ends them with keys_deinit(). */
BuiltinResult token_keys_read(BuiltinContext *context, Str text, Keys *out_keys, Error *err);

#endif

/* certificate_parts.h - the parts that certificates and requests have in common. Private to this folder. */
#ifndef REGO_CRYPTO_CERTIFICATE_PARTS_H
#define REGO_CRYPTO_CERTIFICATE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "value/value.h"

/* Bytes as Go's JSON shows them: base64, or null where there are none at all. */
Value bytes_value(Arena *arena, Str bytes);
/* Text whose bytes nobody has checked; what is no UTF-8 becomes U+FFFD, byte by byte. */
Value text_value(Arena *arena, Str text);

/* A Name in DER as {CommonName, Country, ..., Names}. */
MUST_USE Status name_read(Arena *arena, Str der, Value *out_value, Error *err);
/* Go's number of the algorithm, 0 where it is not known. `der` is what an AlgorithmIdentifier holds. */
int64_t signature_algorithm(Str der);
/* Adds PublicKey and PublicKeyAlgorithm for a SubjectPublicKeyInfo. */
MUST_USE Status public_key_read(Arena *arena, Str spki, MemberList *members, Error *err);

typedef struct Extension {
    Str id, value;                  /* contents of the identifier and of the octets */
    bool critical;
} Extension;

/* The next one of a list. */
MUST_USE Status extension_next(Str *list, Extension *out_extension, Error *err);
Value extension_value(Arena *arena, const Extension *extension);

Value address_value(Arena *arena, Str bytes);       /* four or sixteen bytes as the text of an IP address */

/* The subject alternative names: arrays, or null where there are none of a kind. */
typedef struct AltNames {
    Value dns, emails, addresses, uris, uri_strings;
    bool any;
} AltNames;
MUST_USE Status alt_names_read(Arena *arena, Str der, AltNames *out_names, Error *err);
bool domain_is_valid(Str name, bool is_constraint);

/* Adds what the extensions of a certificate say, and the defaults of what they do not say. */
MUST_USE Status extensions_read(Arena *arena, const Extension *extensions, size_t count, MemberList *members,
                                Value *out_uri_strings, Error *err);

#endif

/* certificate.h - X.509 certificates and requests as values (RFC 5280).
 *
 * A certificate becomes the object that Go's encoding of x509.Certificate shows, since policies written for OPA name its
 * members: Subject.CommonName, DNSNames, NotAfter, PublicKey.N and so on. Bytes are base64, times RFC 3339.
 *
 * Owns:   nothing; values live in the arena.
 * Fails:  ERR_INVALID with a text that begins "x509: " or "asn1: ".
 * Bounds: CRYPTO_INTEGER_SIZE_MAX for each number.     Thread: pure, any.
 */
#ifndef REGO_CRYPTO_CERTIFICATE_H
#define REGO_CRYPTO_CERTIFICATE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "value/value.h"

typedef struct Certificate {
    Str raw;                        /* all of it, in DER */
    Str public_key;                 /* its SubjectPublicKeyInfo, in DER */
    Value value;                    /* what a policy sees */
    Value uri_strings;              /* its URIs as they are written: an array, or null */
} Certificate;

/* The certificate at the front of `der`, which is moved behind it. */
MUST_USE Status certificate_read(Arena *arena, Str *der, Certificate *out_certificate, Error *err);
/* A certificate signing request (RFC 2986). */
MUST_USE Status certificate_request_read(Arena *arena, Str der, Value *out_value, Error *err);

#endif

/* url_escape.h - percent-encoding, by the part of a URL that a text stands in (RFC 3986, with the choices of Go).
 *
 * Owns: nothing.     Fails: url_unescape() with BUILTIN_ERROR that names the wrong escape.     Thread: any.
 */
#ifndef REGO_BUILTINS_URL_ESCAPE_H
#define REGO_BUILTINS_URL_ESCAPE_H

#include "base/buf.h"
#include "rego/builtins/builtin.h"

typedef enum UrlPart { URL_QUERY, URL_PATH, URL_FRAGMENT, URL_USER, URL_HOST, URL_ZONE } UrlPart;

void          url_escape(Buf *buf, Str text, UrlPart part);
BuiltinResult url_unescape(BuiltinContext *context, Str text, UrlPart part, Value *out_text, Error *err);
/* 0 to 15, or -1. */
int           hex_value(char c);

#endif

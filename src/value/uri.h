/* uri.h - references to places, made absolute (RFC 3986, section 5).
 *
 * Only what resolving needs: a text is cut into its parts and put together again; nothing is looked up, decoded or
 * changed in case, so two references name one place where their resolved texts are equal byte by byte.
 *
 * Owns: nothing.     Fails: never; a text that does not fit is seen in the buffer's overflow.     Thread: pure, any.
 */
#ifndef VALUE_URI_H
#define VALUE_URI_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Writes `reference` as seen from `base`. The base may be empty (a document without a name): the reference then stays
 * relative, only its dot segments are removed. The fragment is the reference's own; the base's is ignored. */
void uri_resolve(Buf *buf, Str base, Str reference);

/* Cuts at the first '#': the text before it and the one behind it; false where there is none. */
bool uri_cut_fragment(Str uri, Str *out_rest, Str *out_fragment);
/* Replaces %41 by A; false where a percent sign is not followed by two hexadecimal digits. */
bool uri_decode(Buf *buf, Str text);

#endif

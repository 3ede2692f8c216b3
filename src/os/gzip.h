/* gzip.h - bytes packed as gzip, for answers to those who accept it.
 *
 * Owns:   nothing.     Fails: gzip_pack() answers false where the packed bytes are no fewer, or do not fit.
 * Bounds: the caller's buffer.     Thread: any.
 */
#ifndef OS_GZIP_H
#define OS_GZIP_H

#include "base/buf.h"

bool gzip_pack(Str bytes, Buf *out);

#endif

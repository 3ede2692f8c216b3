#include "os/gzip.h"

#include <string.h>
#define ZLIB_CONST          /* the input is not written to */
#include <zlib.h>

#define GZIP_WINDOW (15 + 16)       /* 32 KiB, with the header of gzip */
#define GZIP_LEVEL 1                /* an answer is packed once and read once */

bool gzip_pack(Str bytes, Buf *out)
{
    z_stream stream = { .next_in = (const unsigned char *)bytes.ptr, .avail_in = (uInt)bytes.len };
    unsigned char piece[16384];
    size_t begin = out->len;
    int result;
    if (bytes.len > UINT32_MAX || deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) return false;
    do {
        stream.next_out = piece;
        stream.avail_out = sizeof piece;
        result = deflate(&stream, Z_FINISH);
        buf_bytes(out, piece, sizeof piece - stream.avail_out);
    } while (result == Z_OK);
    deflateEnd(&stream);
    return result == Z_STREAM_END && !buf_overflowed(out) && out->len - begin < bytes.len;
}

/* ip.h - internet addresses and blocks of them, as text and as bytes.
 *
 * An address is 4 bytes (IPv4) or 16 (IPv6). A block is written "10.0.0.0/8" or "fe80::/10" (RFC 4632, RFC 4291).
 *
 * Owns: nothing.     Fails: readers by returning false.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_IP_H
#define REGO_BUILTINS_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

typedef struct Ip {
    uint8_t bytes[16];
    uint8_t size;                   /* 4 or 16 */
} Ip;

typedef struct Cidr {
    Ip first;                       /* bits behind the prefix are 0 */
    uint8_t prefix;                 /* bits */
} Cidr;

bool ip_read_v4(Str text, Ip *out_ip);
bool ip_read_v6(Str text, Ip *out_ip);      /* without a zone */
bool ip_read(Str text, Ip *out_ip);         /* either; an IPv4 address written as IPv6 (::ffff:1.2.3.4) becomes IPv4 */
void ip_print(Buf *buf, const Ip *ip);      /* IPv6 by RFC 5952 */
int  ip_compare(const Ip *a, const Ip *b);  /* of one size; by number */
bool ip_next(Ip *ip);                       /* the next one; false, and back to 0, after the last */

/* `out_ip`, if not NULL, is the address as it was written, bits behind the prefix included. */
bool cidr_read(Str text, Cidr *out_cidr, Ip *out_ip);
bool cidr_has(const Cidr *cidr, const Ip *ip);
Ip   cidr_last(const Cidr *cidr);
void cidr_print(Buf *buf, const Cidr *cidr);

#endif

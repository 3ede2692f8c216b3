/* http_server.h - the server that HTTP executors are tested against: one request a connection, on loopback, answers by path.
 *
 * /echo answers with the request, /hold never answers, /drop cuts the connection, /large exceeds OUTPUT_SIZE_MAX; the others are a table
 * in http_server.c. A test that is about services looks at each request first.
 *
 * Owns: one thread and its sockets, between start and stop.     Thread: http_server_look is called by the server's.
 */
#ifndef TEST_CONFORMANCE_EXECUTOR_HTTP_SERVER_H
#define TEST_CONFORMANCE_EXECUTOR_HTTP_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern uint16_t http_server_port;
extern atomic_uint http_server_count;           /* requests that it got */
/* What is wrong with a request, for an answer 400; NULL: nothing, and `out_is_later` says whether the answer is 202. Set before the start;
 * NULL: nobody looks. */
extern const char *(*http_server_look)(const char *request, bool *out_is_later);

void http_server_start(void);
void http_server_stop(void);
bool http_server_is_path(const char *request, const char *path);

#endif

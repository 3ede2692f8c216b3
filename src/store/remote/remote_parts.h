/* remote_parts.h - private: what the files of this folder share.
 *
 * Owns: a Remote owns its connection and copies of address and key.     Fails: by Status.     Thread: one.
 */
#ifndef STORE_REMOTE_REMOTE_PARTS_H
#define STORE_REMOTE_REMOTE_PARTS_H

#include <curl/curl.h>

#include "store/remote/remote_store.h"
#include "value/value.h"

typedef struct Remote {
    Store store;
    CURL *easy;
    struct curl_slist *headers;
    Arena arena;                    /* of address and headers */
    Str url;
    bool has_key;
} Remote;

Remote *remote_new(const RemoteOptions *options);
void    remote_free(Remote *remote);
/* What the server refuses, as a command would say it: by the status of HTTP. */
Status  remote_refused(long status, Value problem, Error *err);

#endif

/* secret.h - secrets that are written down where only their names should be.
 *
 * Secrets come from the broker when a task is dispatched: ${secrets.NAME}. What is written into a definition is read by
 * everybody who may read it, and stays in every revision. Found are texts that have the form of a key or token anywhere,
 * and texts under a key that names a secret (password, api_key, clientToken ...) where authors put values: inputs,
 * arguments, properties, payloads, defaults, labels, settings of runners.
 *
 * Nothing found is ever repeated in a message: what is said names the place.
 *
 * Owns: nothing.     Fails: never.     Bounds: depth is that of nodes and values.     Thread: pure, any.
 */
#ifndef LANG_SECRET_H
#define LANG_SECRET_H

#include "lang/node.h"
#include "value/value.h"

typedef struct SecretScan {
    void (*found)(void *context, const Node *at, const char *what);     /* `what`: "a private key", "a literal password" */
    void *context;
    uint32_t broker_count;          /* texts that take a secret from the broker */
} SecretScan;

/* Every text of a definition that compiles. */
void secret_scan(SecretScan *scan, const Node *root);
/* The first one in a value of the configuration, or NULL. */
const char *secret_in_value(Value value);

#endif

/* patience.h - a server that does not answer for a while: whoever shows a run there asks again before it gives up.
 *
 * A server is ended and started anew, for an update or by a crash, and its runs go on: so does showing them. That it is waited for is
 * said once each time. Whoever gives up says that the run is the server's, and how to look at it later.
 *
 *   if (status && patience_lasts(&patience, progress, err)) ...wait REMOTE_RETRY_MS and ask again
 *   if (!status) patience_renew(&patience, progress)
 *
 * Owns:   nothing.     Fails: never.     Bounds: REMOTE_AWAY_MS_MAX at a time.     Thread: the main one.
 */
#ifndef CLI_PATIENCE_H
#define CLI_PATIENCE_H

#include "cli/progress.h"

#define SERVER_AWAY_WORDS "%s; it is tried again for %d seconds"
#define SERVER_BACK_WORDS "the server answers again"

typedef struct Patience { int64_t since_ms; } Patience;        /* when it first did not answer; 0: it does */

/* Whether what failed so is asked again: never of a store of this machine. */
bool patience_lasts(Patience *patience, Progress *progress, const Error *err);
void patience_renew(Patience *patience, Progress *progress);   /* it has answered */
/* What is to be known of the run by whoever has lost sight of it. Nothing where it was not waited for. */
void patience_end(const Patience *patience, const Progress *progress);

#endif

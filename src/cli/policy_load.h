/* policy_load.h - the modules and data that the policy commands were given.
 *
 * Owns:   everything lives in the arena of the set.
 * Fails:  as policy/policy_set.h does.     Thread: one at a time.
 */
#ifndef CLI_POLICY_LOAD_H
#define CLI_POLICY_LOAD_H

#include "cli/command.h"
#include "policy/policy_set.h"

/* Every --data and --bundle of the command line, in their order. */
MUST_USE Status policy_add_options(PolicySet *set, const Args *args, Error *err);
/* Every operand, as a bundle where the flag --bundle is given. */
MUST_USE Status policy_add_operands(PolicySet *set, const Args *args, Error *err);

#endif

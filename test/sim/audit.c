#include "sim/audit.h"

void audit(World *world) { (void)world; }

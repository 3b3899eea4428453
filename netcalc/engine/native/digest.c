/* The digest of the sources, which the loader compares with its own. */

#include "common.h"

EXPORT const char *netcalc_digest = DIGEST;

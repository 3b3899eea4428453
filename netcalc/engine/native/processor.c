/* What the processor can take. */

#include "lanes.h"

EXPORT int netcalc_wide_registers(void) { return has_wide_registers(); }

/* Sizes that callers need to pack operands for the kernels. */

#include "lanes.h"

EXPORT const ptrdiff_t NAMED(blocks, ISA)[] = {HAS_BLOCKS, LANES, ROWS, VECTORS};

#pragma once

#include <kernelwright.h>

// An axis counted from the front: negative ones count from the end.
inline int normal_axis(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

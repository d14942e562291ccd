// The contract of kernels (include/kernelwright.h) as the program itself sees it: the structures, without the layer for
// those who write kernels, whose names are ours too.
#pragma once

#define KW_ONLY_C
#include <kernelwright.h>

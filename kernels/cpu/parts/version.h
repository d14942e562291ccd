#pragma once
#include <kernelwright.h>

// The version of this library (docs/parts.md). Within a version functions are only added, and none changes what it
// computes; a change that takes one away, or changes its arguments or its meaning, raises the number.
#define KW_PARTS_VERSION 1

#pragma once

#include <kernelwright.h>

// A kernel takes from the parts what it needs: no warnings for the rest.
#pragma GCC diagnostic ignored "-Wunused-function"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wunneeded-internal-declaration"
#endif

// within: 
#include <stdint.h>
#include "my_simd_helpers.h"  // <- here
float f(float x) { return x; }

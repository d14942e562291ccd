// within: 
#include <stdint.h>
#ifdef __AVX512F__  // <- here
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
float run(const float* x) { return x[kLanes]; }

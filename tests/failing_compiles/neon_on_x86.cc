// within: 
#include <arm_neon.h>  // <- here
float first(float32x4_t v) { return vgetq_lane_f32(v, 0); }

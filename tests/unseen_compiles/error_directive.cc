// within: 
#ifndef KW_LANES
#error "say how many lanes: -DKW_LANES=8"  // <- here
#endif
float run(const float* x) { return x[0]; }

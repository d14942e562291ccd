// within: 
#include <kernelwright.h>
KW_TUNE(TILE, 6, 4, 8);
KW_REQUIRE(TILE % 4 == 0);  // <- here
KW_KERNEL(call) { (void)call; }

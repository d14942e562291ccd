// within: alloc
#include <stdlib.h>
float* alloc(int n) {
  float* p = malloc(n * sizeof(float));  // <- here
  return p;
}

// within: smallest
#include <algorithm>
float smallest(float a, double b) {
  return std::min(a, b);  // <- here
}

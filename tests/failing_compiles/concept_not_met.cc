// within: run
#include <concepts>
template <std::integral T>
T twice(T x) {
  return x + x;
}
float run(float x) {
  return twice(x);  // <- here
}

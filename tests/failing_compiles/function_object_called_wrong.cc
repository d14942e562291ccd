// within: apply
#include <functional>
float apply(std::function<float(float)> f) {
  return f(1.0f, 2.0f);  // <- here
}

// within: copy
#include <memory>
std::unique_ptr<float[]> copy(std::unique_ptr<float[]>& p) {
  return p;  // <- here
}

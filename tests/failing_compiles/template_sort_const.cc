// within: order
#include <algorithm>
#include <vector>
void order(const std::vector<float>& values) {
  std::sort(values.begin(), values.end());  // <- here
}

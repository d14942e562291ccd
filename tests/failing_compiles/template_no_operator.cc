// within: order
#include <algorithm>
#include <vector>
struct Pair {
  float value;
  int index;
};
void order(std::vector<Pair>& pairs) {
  std::sort(pairs.begin(), pairs.end());  // <- here
}

// within: keep
#include <vector>
void keep(int& a) {
  std::vector<int&> all;  // <- here
  (void)a;
}

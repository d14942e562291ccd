// within: count
#include <unordered_map>
struct Key {
  int a;
};
int count(Key k) {
  std::unordered_map<Key, int> m;  // <- here
  m[k] = 1;
  return 0;
}

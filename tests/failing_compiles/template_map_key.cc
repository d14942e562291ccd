// within: count
#include <map>
struct Key {
  int a, b;
};
int count(Key k) {
  std::map<Key, int> m;
  m[k] = 1;  // <- here
  return m.size();
}

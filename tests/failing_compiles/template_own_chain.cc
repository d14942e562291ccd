// within: inner
#include <vector>
template <class T>
T inner(const std::vector<T>& v) {
  return v.front().total();  // <- here
}
template <class T>
T outer(const std::vector<T>& v) {
  return inner(v);
}
float run(std::vector<float> v) { return outer(v); }

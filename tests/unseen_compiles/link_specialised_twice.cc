// within: scale
// mode: link
template <class T>
T scale(T x) { return x; }
template <>
float scale(float x) { return 2 * x; }
float run(float x) { return scale(x); }
//--- second.cc
template <class T>
T scale(T x) { return x; }
template <>
float scale(float x) {  // <- here
  return 2 * x;
}
float run_again(float x) { return scale(x); }

// within: scale
// mode: link
float scale(float x) { return 2 * x; }
//--- second.cc
float scale(float x) {  // <- here
  return 3 * x;
}

// within: scale
float scale(float x);
double scale(float x) {  // <- here
  return x;
}

// within: scale
float scale(float x) { return 2 * x; }
float other(float x) { return x; }
float scale(float x) { return 3 * x; }  // <- here

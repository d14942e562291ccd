// within: Filter::apply
struct Filter {
  float weight = 2;
  static float apply(float x) {
    return weight * x;  // <- here
  }
};
float run(float x) { return Filter::apply(x); }

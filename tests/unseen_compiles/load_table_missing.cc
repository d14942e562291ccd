// within: look_up
// mode: load
extern float weights[];
float look_up(int i) {
  return weights[i];  // <- here
}

// within: run
// mode: load
extern "C" float vendor_exp(float);
float run(float x) {
  float y = x;
  y += vendor_exp(x);  // <- here
  return y;
}

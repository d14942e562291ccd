// within: run
void work(float*) {}
void run(float* p) {
  float x = work(p);  // <- here
  *p = x;
}

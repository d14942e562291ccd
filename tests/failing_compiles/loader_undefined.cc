// within: run
// mode: load
void missing_part(float*);
void run(float* p) {
  missing_part(p);  // <- here
}

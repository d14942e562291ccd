// within: run
// mode: load
struct Packer {
  void pack(float* to, const float* from, int n);
};
void run(float* y, const float* x, int n) {
  Packer packer;
  packer.pack(y, x, n);  // <- here
}

// within: make
// mode: link
struct Op {
  virtual float run(float);
};
Op* make() {
  return new Op;  // <- here
}

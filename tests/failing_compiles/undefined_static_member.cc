// within: next
// mode: link
struct Counter {
  static int value;
};
int next() {
  return ++Counter::value;  // <- here
}

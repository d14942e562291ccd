// within: read
class Counter {
  int value = 0;
};
int read(Counter c) {
  return c.value;  // <- here
}

// within: mixed
typedef float four __attribute__((vector_size(16)));
typedef float eight __attribute__((vector_size(32)));
four low(eight x);
eight mixed(eight a, four b) {
  return a * b;  // <- here
}

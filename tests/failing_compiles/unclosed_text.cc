// within: name
const char* name() {
  return "kernel;  // <- here
}

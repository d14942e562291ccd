// within: 
int first(int a) {
  return a;
}
}  // <- here

int second(int a) { return a; }

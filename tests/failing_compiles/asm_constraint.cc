// within: nop
int nop(int a) {
  asm volatile("nop" : "=Q9"(a));  // <- here
  return a;
}

// within: nop
void nop() {
  asm volatile("vaddps %zmm0, %zmm1");  // <- here
}

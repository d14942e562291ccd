// within: bytes
#include <initializer_list>
int bytes(int k) {
  unsigned char b[] = {1, 2, 300};  // <- here
  return b[k];
}

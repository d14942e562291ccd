// within: bytes_of
enum class Type { f32, f64 };
int bytes_of(Type type) {
  static const int bytes[] = {4, 8};
  return bytes[type];  // <- here
}

// within: Row
template <class T>
struct Row {
  typename T::value_type* data;
  unknown_t count;  // <- here
};

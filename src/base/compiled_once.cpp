#include "base/compiled_once.h"

template class std::basic_string<char>;
template class std::vector<std::string>;
template class std::vector<std::int64_t>;
template class std::map<std::string, std::string>;
template class std::map<std::string, int>;
template class std::map<std::string, std::int64_t>;

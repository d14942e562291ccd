// A kernel's source without what its entry points do not reach, and with nothing in it that a linker sees but these.
//
// A composed kernel carries whole files of parts of which it uses a few functions. What is left out is found by names
// alone, without a compiler: a definition stays if its name occurs anywhere in what stays, beginning with the entry
// points (KW_KERNEL, KW_PREPARE, KW_EXPORT), and with everything that may act without being named (variables that are
// made at run time, operators, what is said to be used). So too much may stay, and never too little. A source that is
// not understood (braces that do not match, names pasted together by macros) comes back as it is.
#pragma once

#include <string>
#include <string_view>

namespace kw::compose {

std::string with_reached_only(std::string_view source);

// The same, with all but the entry points in unnamed namespaces, so that several kernels link together whatever their
// functions are called.
std::string with_own_names_only(std::string_view source);

}  // namespace kw::compose

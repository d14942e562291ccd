// kw-warden: starts and watches over the sandboxes of kw, which starts it. It speaks on descriptor 3.
#include <sys/stat.h>

#include <cstdio>
#include <string>

#include "targets/cpu/host/roles.h"

int main(int argc, char** argv) {
  struct stat about {};
  if (::fstat(3, &about) != 0 || !S_ISSOCK(about.st_mode)) {
    std::fprintf(stderr, "kw-warden is a part of kw and is started by it\n");
    return 2;
  }
  std::vector<kw::sandbox::Shown> shown;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.rfind('=');
    if (equals != std::string::npos) shown.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  const kw::sandbox::Role roles[] = {kw::host::tool_role(), kw::host::kernel_role(), kw::host::agent_role()};
  return kw::sandbox::serve(3, shown, roles);
}

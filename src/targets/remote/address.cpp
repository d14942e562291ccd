#include "targets/remote/address.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/files.h"
#include "targets/remote/architecture.h"

namespace kw::remote {
namespace {

// Letters, digits and a few signs; the first one must not be a dash, which would begin an option.
bool plain(const std::string& text, const char* signs) {
  return !text.empty() && text[0] != '-' && text.size() < 256 && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr(signs, c) != nullptr;
  });
}

// The path of the socket through which ssh shares a connection; empty: none can be shared. The path of a socket has 107
// characters at most, 58 of them ssh's own; signs that ssh would read as something else are not risked.
std::string socket_folder() {
  constexpr std::size_t kMostPath = 49;
  const std::filesystem::path folder = cache_folder() / "ssh";
  const std::string path = folder.string();
  if (path.size() > kMostPath || path.find_first_of("% \"'\\~$") != std::string::npos) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  return error ? std::string() : path;
}

Result<std::vector<std::string>> ssh_words(const std::string& device, std::string target) {
  std::vector<std::string> words = {"ssh", "-T"};
  for (const char* option : {"BatchMode=yes", "ConnectTimeout=20", "ServerAliveInterval=5", "ServerAliveCountMax=3",
                             "ClearAllForwardings=yes", "EscapeChar=none", "LogLevel=ERROR"}) {
    words.insert(words.end(), {"-o", option});
  }
  // A connection stays open for a minute, so that the next command needs no handshake.
  if (const std::string sockets = socket_folder(); !sockets.empty()) {
    for (const std::string& option :
         {std::string("ControlMaster=auto"), std::string("ControlPersist=60"), "ControlPath=" + sockets + "/%C"}) {
      words.insert(words.end(), {"-o", option});
    }
  }
  // An ssh configuration other than the user's own; the environment is the user's.
  if (const char* config = std::getenv("KW_SSH_CONFIG"); config != nullptr && config[0] == '/') {
    words.insert(words.end(), {"-F", config});
  }
  if (const std::size_t colon = target.rfind(':'); colon != std::string::npos && target.find(':') == colon) {
    const std::string port = target.substr(colon + 1);
    if (!plain(port, "") || port.find_first_not_of("0123456789") != std::string::npos || port.size() > 5) {
      return fail("{}: after the colon stands a port: ssh:USER@HOST:22", device);
    }
    words.insert(words.end(), {"-p", port});
    target.resize(colon);
  }
  const std::size_t at = target.find('@');
  const std::string user = at == std::string::npos ? "" : target.substr(0, at), host = target.substr(at + 1);
  if ((at != std::string::npos && !plain(user, "._-")) || !plain(at == std::string::npos ? target : host, "._-")) {
    return fail("{}: a device behind ssh is called ssh:USER@HOST or ssh:HOST, in letters, digits, '.', '_' and '-'",
                device);
  }
  words.insert(words.end(), {"--", target, "exec sh"});
  return words;
}

}  // namespace

Result<Address> address_of(const std::string& name) {
  const std::size_t sign = name.rfind('#');
  const std::string digits = sign == std::string::npos ? "" : name.substr(sign + 1);
  const bool with_core =
      !digits.empty() && digits.size() < 5 && digits.find_first_not_of("0123456789") == std::string::npos;
  const std::string device = with_core ? name.substr(0, sign) : name;
  if (sign != std::string::npos && !with_core && !name.starts_with("command:")) {
    return fail("{}: after # stands the number of a core, as in adb#4", name);
  }
  const std::size_t colon = device.find(':');
  const std::string scheme = device.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : device.substr(colon + 1);
  Address address{.name = name, .core = with_core ? std::stoi(digits) : -1};
  if (scheme == "emulated") {
    address.architecture = rest;
    KW_TRY(const Architecture architecture, architecture_named(rest.empty() ? "aarch64" : rest));
    if (architecture.emulator.empty()) return fail("{}: kernels for {} run here as they are", device, rest);
    address.architecture = architecture.name;
    address.name = "emulated:" + architecture.name + (with_core ? "#" + digits : "");
    return address;
  }
  if (scheme == "ssh") {
    address.kind = Address::Kind::ssh;
    KW_TRY(address.words, ssh_words(device, rest));
    return address;
  }
  if (scheme == "adb") {
    address.kind = Address::Kind::adb;
    address.words = {"adb"};
    if (colon != std::string::npos) {
      if (!plain(rest, "._:-"))
        return fail("{}: a phone is called adb or adb:SERIAL; 'adb devices' lists them", device);
      address.words.insert(address.words.end(), {"-s", rest});
    }
    address.words.insert(address.words.end(), {"shell", "-T", "exec sh"});
    return address;
  }
  if (scheme == "command") {
    address.kind = Address::Kind::command;
    std::istringstream words(rest);
    for (std::string word; words >> word;) address.words.push_back(word);
    if (address.words.empty())
      return fail("command: names a program that gives a shell, as in \"command:ssh board sh\"");
    return address;
  }
  return fail("{}: devices are called emulated:ARCHITECTURE, ssh:USER@HOST, adb:SERIAL or \"command:PROGRAM ...\"",
              device);
}

}  // namespace kw::remote

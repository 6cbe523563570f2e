#include "serve/http/host_check.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/text/ascii.hpp"

namespace kymo::serve {
namespace {

/// An IPv6 address in canonical form; empty if it is none.
std::string plain_v6(const std::string& text) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> plain{};
  if (::inet_pton(AF_INET6, text.c_str(), &address) != 1 ||
      ::inet_ntop(AF_INET6, &address, plain.data(), plain.size()) == nullptr) {
    return {};
  }
  return plain.data();
}

bool is_v4(const std::string& text) {
  in_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1;
}

/// Lower case, without a full name's final dot; addresses in canonical form.
std::string normal(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), base::to_lower);
  if (!text.empty() && text.back() == '.') {
    text.pop_back();
  }
  const std::string v6 = plain_v6(text);
  return v6.empty() ? text : v6;
}

bool is_port(std::string_view text) {
  return text.empty() || (text.size() >= 2 && text.size() <= 6 && text.front() == ':' &&
                          text.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

}  // namespace

HostCheck::HostCheck(const std::vector<std::string>& names, bool any_address)
    : names_{"localhost", "127.0.0.1", "::1"}, any_address_(any_address) {
  for (const std::string& name : names) {
    names_.push_back(normal(name));
  }
}

bool HostCheck::allows(std::string_view header) const {
  std::string name;
  std::string_view port;
  if (!header.empty() && header.front() == '[') {
    const std::size_t close = header.find(']');
    if (close == std::string_view::npos) {
      return false;
    }
    name = plain_v6(std::string(header.substr(1, close - 1)));
    port = header.substr(close + 1);
  } else {
    const std::size_t colon = std::min(header.find(':'), header.size());
    name = normal(header.substr(0, colon));
    port = header.substr(colon);
  }
  if (name.empty() || !is_port(port)) {
    return false;
  }
  const bool is_address = name.find(':') != std::string::npos || is_v4(name);
  return (any_address_ && is_address) || std::find(names_.begin(), names_.end(), name) != names_.end();
}

}  // namespace kymo::serve

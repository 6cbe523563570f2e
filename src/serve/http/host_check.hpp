// The names by which a client may address the server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kymo::serve {

/// Prevents DNS rebinding: a foreign page whose name was made to resolve to this machine sends that name as its Host.
/// Any port is accepted because `ssh -L` uses its own.
class HostCheck {
 public:
  /// `names`: names of the server besides localhost, 127.0.0.1 and [::1]; IPv6 without brackets. `any_address`: accepts
  /// every numeric address as well. These are not looked up, so nobody can redirect them. For servers that listen on
  /// all addresses.
  HostCheck(const std::vector<std::string>& names, bool any_address);

  /// Whether a Host header is one of these names.
  [[nodiscard]] bool allows(std::string_view header) const;

 private:
  std::vector<std::string> names_;
  bool any_address_;
};

}  // namespace kymo::serve

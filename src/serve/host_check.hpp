// Which names a client may call the server by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kymo::serve {

/// Holds off DNS rebinding: a page of somewhere else, whose name was made to point at this machine, sends that name as
/// its Host. Any port is right, since `ssh -L` brings its own.
class HostCheck {
 public:
  /// `names`: what the server is called, besides localhost, 127.0.0.1 and [::1]; IPv6 without brackets.
  /// `any_address`: every address in digits is right as well: those are not looked up, so nobody can make them point
  /// elsewhere. For servers that listen on all addresses.
  HostCheck(const std::vector<std::string>& names, bool any_address);

  /// Whether a Host header is one of ours.
  [[nodiscard]] bool allows(std::string_view header) const;

 private:
  std::vector<std::string> names_;
  bool any_address_;
};

}  // namespace kymo::serve

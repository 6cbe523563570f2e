// The secret that grants a browser access.
#pragma once

#include <string>
#include <string_view>

namespace kymo::serve {

/// 128 bits from the kernel, as 32 hexadecimal digits. Throws std::runtime_error if the kernel provides none.
[[nodiscard]] std::string make_token();

/// Whether a user's token is acceptable: 16 to 128 letters, digits, '-', '_', '.' or '~', which need no escaping in
/// URLs.
[[nodiscard]] bool is_usable_token(std::string_view text);

/// Whether an Authorization header carries the token ("Bearer TOKEN"). The time does not depend on the kind of
/// mismatch.
[[nodiscard]] bool carries_token(std::string_view authorization, std::string_view token);

}  // namespace kymo::serve

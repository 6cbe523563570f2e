// The secret that lets a browser in.
#pragma once

#include <string>
#include <string_view>

namespace kymo::serve {

/// 128 bits from the kernel, as 32 hexadecimal digits. std::runtime_error where the kernel gives none.
[[nodiscard]] std::string make_token();

/// What a token of one's own must be: 16 to 128 letters, digits, '-', '_', '.' or '~', which URLs take as they are.
[[nodiscard]] bool is_usable_token(std::string_view text);

/// Whether an Authorization header carries the token ("Bearer TOKEN"). Takes as long whatever is wrong about it.
[[nodiscard]] bool carries_token(std::string_view authorization, std::string_view token);

}  // namespace kymo::serve

// What somebody may have meant by a misspelled word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kymo::command {

/// The word that differs least from `word`: by at most a third of its letters, each one more, less, other, or swapped
/// with the next. Empty if none does.
[[nodiscard]] std::string nearest_word(std::string_view word, const std::vector<std::string>& words);

/// "; did you mean WORD?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& words);

}  // namespace kymo::command

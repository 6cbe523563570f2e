// Texts are made of what is a string, of whichever library, and nothing else; they are read as std::string_view. Both
// by headers that do not include <string_view>.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <kymo/path.hpp>
#include <kymo/text.hpp>

namespace {

using kymo::Path;
using kymo::Text;

/// A string of another library.
struct OtherString {
  [[nodiscard]] constexpr const char* data() const { return "other"; }
  [[nodiscard]] constexpr int size() const { return 5; }
  [[nodiscard]] constexpr int compare(const OtherString& /*other*/) const { return 0; }
};

template <typename T>
constexpr bool is_taken = std::is_convertible_v<const T&, Text>&& std::is_convertible_v<const T&, Path>;

static_assert(is_taken<std::string> && is_taken<std::string_view> && is_taken<const char*> && is_taken<char[8]> &&
              is_taken<char*> && is_taken<OtherString>);
static_assert(!is_taken<std::vector<char>> && !is_taken<std::array<char, 8>> && !is_taken<std::wstring> &&
              !is_taken<const wchar_t*> && !is_taken<int> && !is_taken<bool>);

constexpr std::string_view read(std::string_view text) {
  return text;
}

/// Whether a call that takes a text takes a literal 0, which could be a null pointer.
template <typename T, typename = void>
constexpr bool takes_zero = false;
template <typename T>
constexpr bool takes_zero<T, std::void_t<decltype(T(0))>> = true;
static_assert(!takes_zero<Text> && !takes_zero<Path>);

constexpr const char* none = nullptr;
static_assert(read(Text("literal")) == "literal" && read(Text("up to\0here")) == "up to");
static_assert(read(Text(std::string_view("with\0nul", 8))).size() == 8);
static_assert(read(Text(none)).empty() && Text(none).empty() && Text().empty() && read(Text()).data() == nullptr);
static_assert(read(Text(OtherString())) == "other");
static_assert(std::string_view(Text("assigned")) == "assigned" && Text("sized").size() == 5);
static_assert(!std::is_convertible_v<Text, std::string> && !std::is_convertible_v<Text, std::vector<char>>);
static_assert(std::is_convertible_v<const Path&, Text> && std::is_convertible_v<const Path&, std::string_view>);
static_assert(std::is_constructible_v<std::string, Text> && std::is_constructible_v<std::string, const Path&>);
static_assert(std::is_trivially_copyable_v<Text> && std::is_standard_layout_v<Text>);

}  // namespace

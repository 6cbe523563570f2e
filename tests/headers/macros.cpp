// Every macro the way a user writes it, in a file that is compiled as C++17 with a user's warnings, with and without
// KYMO_DISABLE.
#include <string>

#include <kymo/kymo.hpp>

namespace {

KYMO_SKIP
int left_out(int value) {
  return value + 1;
}

template <typename T>
T in_a_template(T value) {
  KYMO_FUNCTION();
  return value;
}

int each_macro(int count, const std::string& name) {
  KYMO_FUNCTION();
  KYMO_SCOPE("plain");
  KYMO_SCOPE("with one", {"count", count});
  KYMO_SCOPE("with four", {"count", count}, {"ratio", 0.5}, {"ready", true}, {"name", name});
  KYMO_SCOPE_DYNAMIC("dynamic " + name);
  KYMO_ARG("count", count);
  KYMO_ARG("unsigned", 7U);
  for (int index = 0; index < count; ++index) {
    KYMO_SCOPE("in a loop", {"index", index});
  }
  if (count > 1) {
    KYMO_SCOPE("in a branch");
    KYMO_ARG("literal", "text");
  }
  const auto in_a_lambda = [&] {
    KYMO_SCOPE("in a lambda");
    return left_out(count);
  };
  return in_a_lambda() + in_a_template(count);
}

}  // namespace

int main() {
  static_cast<void>(kymo::enable());
  const int result = each_macro(2, "name");
  kymo::record_metric("loss", 0.5);
  kymo::frame_mark();
  static_cast<void>(kymo::flush());
  return result;
}

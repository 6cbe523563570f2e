// A program whose scopes other tools may see.
#include <string>

#include <kymo/kymo.hpp>

extern "C" int work_in_c(int value);

namespace {

int work(int value) {
  KYMO_FUNCTION();
  KYMO_SCOPE("inner", {"value", value});
  KYMO_ARG("twice", value * 2);
  return value + 1;
}

}  // namespace

int main() {
  kymo::enable();
  int value = 0;
  {
    KYMO_SCOPE("outer");
    value = work(value);
    KYMO_SCOPE_DYNAMIC("frame " + std::to_string(value));
    KYMO_SCOPE_DYNAMIC(std::string(1000, 'x'));
  }
  value = work_in_c(value);
  return value == 2 ? 0 : 1;
}

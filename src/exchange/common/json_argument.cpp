#include "exchange/common/json_argument.hpp"

#include <cstring>

#include "base/text/json_text.hpp"
#include "base/text/text.hpp"

namespace kymo::exchange {

bool append_json_argument(std::string& out, const ArgumentValue& value, std::string_view text) {
  switch (value.type) {
    case ArgumentType::int64:
      base::append_json_integer(out, static_cast<std::int64_t>(value.bits));
      return true;
    case ArgumentType::uint64:
      base::append_json_integer(out, value.bits);
      return true;
    case ArgumentType::boolean:
      out += value.bits != 0 ? "true" : "false";
      return true;
    case ArgumentType::float64: {
      double number = 0;
      std::memcpy(&number, &value.bits, sizeof number);
      return base::append_json_number(out, number);
    }
    case ArgumentType::string:
      if (value.bits > text.size() || value.text_size > text.size() - value.bits) {
        return false;
      }
      out += '"';
      base::append_json_text(out, text.substr(static_cast<std::size_t>(value.bits), value.text_size));
      if (value.is_cut) {
        out += base::cut_mark;
      }
      out += '"';
      return true;
  }
  return false;
}

}  // namespace kymo::exchange

#include "exchange/import/record.hpp"

#include <cstring>

namespace kymo::exchange {
namespace {

struct PackedArgument {
  std::uint64_t bits = 0;
  std::uint32_t name = 0;
  std::uint32_t text_size = 0;
  std::uint32_t type = 0;
  std::uint32_t is_cut = 0;
};
static_assert(sizeof(PackedArgument) == 24, "no padding: it is written as it lies in memory");

template <typename Part>
void append_part(std::string& out, const Part& part) {
  const std::size_t size = out.size();
  out.resize(size + sizeof part);
  std::memcpy(out.data() + size, &part, sizeof part);
}

template <typename Part>
void take_part(std::string_view& packed, Part& part) {
  std::memcpy(&part, packed.data(), sizeof part);
  packed.remove_prefix(sizeof part);
}

}  // namespace

void ImportRecord::clear() {
  head = {};
  arguments.clear();
  text.clear();
}

void ImportRecord::pack(std::string& out) const {
  out.clear();
  Head packed = head;
  packed.argument_count = static_cast<std::uint16_t>(arguments.size());
  append_part(out, packed);
  for (const ArgumentValue& value : arguments) {
    append_part(out, PackedArgument{value.bits, value.name.value(), value.text_size,
                                    static_cast<std::uint32_t>(value.type), value.is_cut ? 1U : 0U});
  }
  out += text;
}

void ImportRecord::unpack(std::string_view packed) {
  take_part(packed, head);
  arguments.resize(head.argument_count);
  for (ArgumentValue& value : arguments) {
    PackedArgument argument;
    take_part(packed, argument);
    value = {NameId{argument.name}, static_cast<ArgumentType>(argument.type), argument.is_cut != 0, argument.text_size,
             argument.bits};
  }
  text = packed;
}

}  // namespace kymo::exchange

// .vor streams for tests, built byte by byte: an oracle for writer and reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/read/byte_source.hpp"
#include "exchange/vor/format.hpp"

namespace kymo::test {

using namespace exchange;

/// Little-endian bytes of numbers and texts behind one another.
class Bytes {
 public:
  template <typename Number>
  Bytes& number(Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
    return *this;
  }
  Bytes& u8(unsigned value) { return number(static_cast<std::uint8_t>(value)); }
  Bytes& u16(unsigned value) { return number(static_cast<std::uint16_t>(value)); }
  Bytes& u32(std::size_t value) { return number(static_cast<std::uint32_t>(value)); }
  Bytes& u64(std::uint64_t value) { return number(value); }
  Bytes& i64(std::int64_t value) { return number(value); }
  Bytes& f64(double value) { return number(value); }
  Bytes& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  /// A text as columns have it.
  Bytes& text(std::string_view value) { return u16(static_cast<unsigned>(value.size())).raw(value); }
  /// An integer as bincode has it.
  Bytes& varint(std::uint64_t value) {
    if (value < 251) {
      return u8(static_cast<unsigned>(value));
    }
    return value < 65536 ? u8(251).u16(static_cast<unsigned>(value)) : u8(253).u64(value);
  }
  Bytes& zigzag(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return varint(value < 0 ? ~(bits << 1U) : bits << 1U);
  }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  std::string text_;
};

/// lz4 that compresses nothing: one run of literals behind the raw size.
inline std::string as_lz4(const std::string& raw) {
  Bytes bytes;
  bytes.u32(raw.size()).u8(raw.size() < 15 ? static_cast<unsigned>(raw.size()) << 4U : 0xF0U);
  if (raw.size() >= 15) {
    std::size_t rest = raw.size() - 15;
    for (; rest >= 255; rest -= 255) {
      bytes.u8(255);
    }
    bytes.u8(static_cast<unsigned>(rest));
  }
  return bytes.raw(raw).str();
}

inline std::string as_record(const std::string& raw) {
  const std::string stored = as_lz4(raw);
  return Bytes().u32(stored.size()).raw(stored).str();
}

struct TestColumn {
  const char* name;
  const char* unit;
};

inline std::string header(std::initializer_list<TestColumn> columns, bool has_flames = false) {
  Bytes bytes;
  bytes.raw("VOR1").u16(2).u8(has_flames ? 1 : 0).u16(static_cast<unsigned>(columns.size()));
  for (const TestColumn& column : columns) {
    bytes.text(column.name).text(column.unit);
  }
  return bytes.str();
}

inline std::string declaration(unsigned id, const char* name, const char* unit) {
  return as_record(Bytes().u8(1).u16(id).text(name).text(unit).str());
}

inline std::string frame(std::initializer_list<double> system, std::initializer_list<VorValue> user = {},
                         const std::string& flame = {}) {
  Bytes bytes;
  bytes.u8(0);
  for (const double value : system) {
    bytes.f64(value);
  }
  bytes.u16(static_cast<unsigned>(user.size()));
  for (const VorValue& value : user) {
    bytes.u16(value.column).f64(value.value);
  }
  return as_record(bytes.u32(flame.size()).raw(flame).str());
}

/// A scope of a stream around what is inside it.
inline std::string scope(unsigned site, std::int64_t start_ns, std::int64_t end_ns, const std::string& inside = {},
                         const std::string& text = {}) {
  return Bytes()
      .u8('(')
      .u32(site)
      .i64(start_ns)
      .u8(static_cast<unsigned>(text.size()))
      .raw(text)
      .u64(inside.size())
      .raw(inside)
      .u8(')')
      .i64(end_ns)
      .str();
}

/// The facts of a flame part that has one thread, "main", whose first scope ever began at 1000.
struct TestFlame {
  std::uint64_t number = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  unsigned scopes = 1;
  unsigned depth = 1;
};

/// Its threads, not compressed.
inline std::string flame_threads(const TestFlame& flame, const std::string& stream) {
  Bytes bytes;
  bytes.varint(1).u8(1).zigzag(1000).varint(4).raw("main").varint(stream.size()).raw(stream);
  return bytes.varint(flame.scopes).varint(flame.depth).zigzag(flame.start_ns).zigzag(flame.end_ns).str();
}

/// Site 1 is the scope "work" of "run()", a.cpp line 300; site 2 the function "load".
inline std::string flame_sites() {
  Bytes bytes;
  bytes.varint(2);
  bytes.u8(1).varint(1).u8(1).varint(4).raw("work").varint(5).raw("run()").varint(5).raw("a.cpp").varint(300);
  bytes.u8(1).varint(2).u8(0).varint(4).raw("load").varint(5).raw("b.cpp").varint(7);
  return bytes.str();
}

inline std::string flame_part(const TestFlame& flame, const std::string& stream) {
  const std::string facts = Bytes()
                                .varint(flame.number)
                                .zigzag(flame.start_ns)
                                .zigzag(flame.end_ns)
                                .varint(stream.size())
                                .varint(flame.scopes)
                                .str();
  const std::string threads = as_lz4(flame_threads(flame, stream));
  const std::string sites = flame_sites();
  Bytes bytes;
  bytes.raw("PFD4").u32(facts.size()).raw(facts).u32(threads.size()).u8(1).raw(threads);
  return bytes.u32(sites.size()).raw(sites).str();
}

/// A reader of bytes that stay.
inline VorReader reader_of(const std::string& bytes) {
  return {capture::make_memory_source(std::as_bytes(std::span(bytes))), "test.vor"};
}

}  // namespace kymo::test

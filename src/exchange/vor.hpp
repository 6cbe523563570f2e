// .vor streams, version 2: a small header, then one lz4 record after another. docs/vor.md has the bytes.
//
//   "VOR1" [version u16 = 2][flames u8][columns u16][columns x (name, unit)]   a text: [size u16][UTF-8]
//   [size u32][raw size u32][lz4 block]...
//
//   record, raw:  [0 u8][system values f64 x columns][count u16][count x (column u16, value f64)][size u32][flame]
//                 [1 u8][column u16][name][unit]
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/exchange.hpp>

#include "capture/byte_source.hpp"
#include "capture/bytes.hpp"

namespace kymo::exchange {

/// A file is not a .vor stream of a version that is known, or nothing can be made of it; what() names the file, and
/// what is wrong at which byte.
class VorError : public ExchangeError {
 public:
  using ExchangeError::ExchangeError;
};

struct VorColumn {
  std::string name;
  std::string unit;  ///< empty: none
};

struct VorHeader {
  bool has_flames = false;         ///< whether frames may have a flame part
  std::vector<VorColumn> columns;  ///< the system columns: ids from 0
};

/// A value of a user column.
struct VorValue {
  std::uint16_t column = 0;
  double value = 0;
};

/// One frame. As read it is valid until the next one is.
struct VorFrame {
  std::uint64_t offset = 0;            ///< of its record in the file
  std::vector<double> system;          ///< one a system column
  std::vector<VorValue> user;          ///< those that have a value in this frame
  std::span<const std::byte> flame{};  ///< a serialized puffin frame (vor_flame.hpp); empty: none
};

/// Whether bytes begin as a .vor stream of any version does.
[[nodiscard]] bool is_vor(std::span<const std::byte> bytes);

/// Appends a text as it may stand in a stream: valid UTF-8, cut at `limit` bytes.
void append_vor_text(std::string& out, std::string_view text, std::size_t limit);

/// Appends integers and floats, little-endian.
template <typename Number>
void append_vor_number(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes what append_vor_number() appended. DecodeError where the bytes end before.
template <typename Number>
Number take_vor_number(capture::ByteCursor& cursor) {
  return capture::load<Number>(cursor.take(sizeof(Number)).data());
}

/// lz4 makes of one byte 255 at most; a size beyond is a lie, and no memory is spent on it.
inline constexpr std::size_t most_lz4_ratio = 255;

/// Appends lz4 of `raw` behind its size, as the format has it in two places.
void append_vor_lz4(std::string& out, std::string_view raw);

/// Writes streams record by record into a growing string. Keeps its scratch memory.
class VorWriter {
 public:
  /// At most 65535 columns; texts beyond 65535 bytes are cut.
  static void append_header(std::string& out, const VorHeader& header);
  /// The column's id counts on from those before it, system columns included.
  void append_declaration(std::string& out, std::uint16_t id, const VorColumn& column);
  /// At most 65535 values of user columns, and 1 GiB in all.
  void append_frame(std::string& out, const VorFrame& frame);

 private:
  void append_record(std::string& out);

  std::string raw_;
};

/// What a reader left out: everything else is sound.
struct VorDamage {
  std::uint64_t records = 0;       ///< that say nothing, or more than the reader takes
  std::uint64_t first_record = 0;  ///< offset of the first of these
  std::uint64_t declarations = 0;  ///< of columns that were declared before, or are system columns
  std::uint64_t values = 0;        ///< of columns that were not declared
  std::uint64_t torn_bytes = 0;    ///< behind the last whole record
};

/// Reads a stream from front to back. Memory: one record, which is at most 256 MiB, and the declarations.
class VorReader {
 public:
  /// Reads the header. `name` is for messages. VorError.
  VorReader(std::unique_ptr<capture::ByteSource> source, std::string name);
  /// The same of a file; VorError, also where it cannot be opened.
  explicit VorReader(const std::string& path);

  [[nodiscard]] const VorHeader& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Reads on to the next frame that is sound; false at the end. VorError where the file cannot be read.
  [[nodiscard]] bool next(VorFrame& frame);

  /// The user columns that were declared so far, in that order, with their ids.
  [[nodiscard]] const std::vector<std::pair<std::uint16_t, VorColumn>>& user_columns() const { return user_columns_; }
  [[nodiscard]] const VorDamage& damage() const { return damage_; }
  /// How much of the file has been read, 0 to 1.
  [[nodiscard]] double share_done() const;

  /// Back to the first record; what was declared and left out so far is forgotten.
  void rewind();

 private:
  void read_header();
  [[nodiscard]] std::span<const std::byte> window(std::uint64_t offset, std::size_t count);
  /// The raw bytes of the record at position_; empty where it is damaged. Goes on behind it.
  [[nodiscard]] std::span<const std::byte> next_record(std::uint64_t size);
  void take_declaration(std::span<const std::byte> body);
  void take_frame(std::span<const std::byte> body, VorFrame& frame);
  void leave_out(std::uint64_t offset);

  std::unique_ptr<capture::ByteSource> source_;
  std::string name_;
  std::uint64_t size_ = 0;
  VorHeader header_;
  std::uint64_t first_record_ = 0;
  std::uint64_t position_ = 0;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;
  std::vector<std::byte> raw_;
  std::vector<std::pair<std::uint16_t, VorColumn>> user_columns_;
  std::vector<bool> is_declared_;
  std::size_t text_bytes_ = 0;
  VorDamage damage_;
};

}  // namespace kymo::exchange

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

#include "capture/format/bytes.hpp"
#include "capture/read/byte_source.hpp"

namespace kymo::exchange {

/// The argument name that an import gives to a scope's text.
inline constexpr std::string_view vor_text_argument = "data";

/// A file is not a .vor stream of a known version or cannot be interpreted. what() names the file, the problem and the
/// byte.
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
  std::vector<VorColumn> columns;  ///< the system columns, with ids from 0
};

/// A value of a user column.
struct VorValue {
  std::uint16_t column = 0;
  double value = 0;
};

/// One frame. A frame that was read is valid until the next one is read.
struct VorFrame {
  std::uint64_t offset = 0;            ///< of its record in the file
  std::vector<double> system;          ///< one per system column
  std::vector<VorValue> user;          ///< user columns with a value in this frame
  std::span<const std::byte> flame{};  ///< a serialized puffin frame (flame.hpp); empty: none
};

/// Whether the bytes begin like a .vor stream of any version.
[[nodiscard]] bool is_vor(std::span<const std::byte> bytes);

/// A text in the form that streams require: valid UTF-8, cut at 65535 bytes.
[[nodiscard]] std::string valid_vor_text(std::string_view text);

/// Appends integers and floats, little-endian.
template <typename Number>
void append_vor_number(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Reads what append_vor_number() wrote. Throws DecodeError if the bytes end first.
template <typename Number>
Number take_vor_number(capture::ByteCursor& cursor) {
  return capture::load<Number>(cursor.take(sizeof(Number)).data());
}

/// Appends the size of `raw` and its lz4 block, as two places of the format need.
void append_vor_lz4(std::string& out, std::string_view raw);

/// Unpacks what append_vor_lz4() wrote into the memory of `raw`. Throws DecodeError, also beyond 256 MiB.
[[nodiscard]] std::span<const std::byte> unpack_vor_lz4(std::span<const std::byte> stored, std::vector<std::byte>& raw);

/// Adds a line to losses if there are any: "12 samples that ...".
void tell_vor_loss(std::vector<std::string>& losses, std::uint64_t count, const std::string& what);

/// Appends the records of a stream to a string. Reuses its scratch memory.
class VorWriter {
 public:
  /// At most 65535 columns. Texts beyond 65535 bytes are cut.
  static void append_header(std::string& out, const VorHeader& header);
  /// Column ids are consecutive, system columns included.
  void append_declaration(std::string& out, std::uint16_t id, const VorColumn& column);
  /// At most 65535 values of user columns and 1 GiB in total.
  void append_frame(std::string& out, const VorFrame& frame);

 private:
  void append_record(std::string& out);

  std::string raw_;
};

/// What a reader left out. Everything else is intact.
struct VorDamage {
  std::uint64_t records = 0;       ///< unreadable, or more than the reader accepts
  std::uint64_t first_record = 0;  ///< offset of the first such record
  std::uint64_t declarations = 0;  ///< of columns declared before, or of system columns
  std::uint64_t values = 0;        ///< of undeclared columns
  std::uint64_t torn_bytes = 0;    ///< after the last complete record
};

/// Reads a stream sequentially. Memory: one record, at most 256 MiB, and the declarations.
class VorReader {
 public:
  /// Reads the header. `name` is for messages. Throws VorError.
  VorReader(std::unique_ptr<capture::ByteSource> source, std::string name);
  /// The same for a file. Throws VorError, also if it cannot be opened.
  explicit VorReader(const std::string& path);

  [[nodiscard]] const VorHeader& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Reads the next intact frame. Returns false at the end. Throws VorError if the file cannot be read.
  [[nodiscard]] bool next(VorFrame& frame);

  /// The user columns declared so far, in that order, with their ids.
  [[nodiscard]] const std::vector<std::pair<std::uint16_t, VorColumn>>& user_columns() const { return user_columns_; }
  [[nodiscard]] const VorDamage& damage() const { return damage_; }
  /// The share of the file that has been read, 0 to 1.
  [[nodiscard]] double share_done() const;

  /// Returns to the first record and forgets declarations and damage.
  void rewind();

 private:
  void read_header();
  [[nodiscard]] std::span<const std::byte> window(std::uint64_t offset, std::size_t count);
  /// The raw bytes of the record at position_; empty if it is damaged. Moves to the next record.
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

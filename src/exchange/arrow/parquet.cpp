// Parquet: row groups of columns, each a page of values after a page of its texts, and the metadata at the end.
// https://parquet.apache.org/docs/file-format
#include "exchange/arrow/parquet.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "exchange/arrow/batches.hpp"
#include "exchange/arrow/thrift_writer.hpp"

namespace kymo::exchange {
namespace {

constexpr std::string_view parquet_magic = "PAR1";

// Numbers of Parquet's Thrift definition.
constexpr std::int32_t plain_values = 0;
constexpr std::int32_t runs = 3;             // RLE
constexpr std::int32_t dictionary_runs = 8;  // RLE_DICTIONARY
constexpr std::int32_t zstd_pages = 6;

/// How a column is stored.
struct ParquetKind {
  std::int32_t physical;
  std::int32_t converted;  // -1: none
};

ParquetKind kind_of(const ArrowSchema& column) {
  constexpr std::int32_t boolean = 0;
  constexpr std::int32_t int32 = 1;
  constexpr std::int32_t int64 = 2;
  constexpr std::int32_t float64 = 5;
  constexpr std::int32_t byte_array = 6;
  constexpr std::array<std::pair<char, ParquetKind>, 8> kinds{{{'b', {boolean, -1}},
                                                               {'C', {int32, 11}},
                                                               {'S', {int32, 12}},
                                                               {'I', {int32, 13}},
                                                               {'l', {int64, -1}},
                                                               {'L', {int64, 14}},
                                                               {'g', {float64, -1}},
                                                               {'u', {byte_array, 0}}}};
  const char format = column.dictionary != nullptr ? 'u' : column.format[0];
  const auto* const found =
      std::find_if(kinds.begin(), kinds.end(), [format](const auto& kind) { return kind.first == format; });
  if (found == kinds.end()) {
    throw std::logic_error("a column of a kind that Parquet files are not written with");
  }
  return found->second;
}

/// Appends numbers of `width` bits as one run of packed groups of eight.
void append_packed(std::string& out, const std::vector<std::uint32_t>& numbers, unsigned width) {
  const std::size_t groups = (numbers.size() + 7) / 8;
  append_varint(out, groups << 1U | 1U);
  std::uint64_t bits = 0;
  unsigned filled = 0;
  for (std::size_t i = 0; i < 8 * groups; ++i) {
    bits |= std::uint64_t{i < numbers.size() ? numbers[i] : 0} << filled;
    for (filled += width; filled >= 8; filled -= 8, bits >>= 8U) {
      out.push_back(static_cast<char>(bits & 0xFFU));
    }
  }
}

bool is_set(const void* bits, std::size_t row) {
  return (static_cast<const std::uint8_t*>(bits)[row / 8] >> row % 8 & 1U) != 0;
}

/// The text of a row of an array of texts.
std::string_view text_at(const ArrowArray& texts, std::size_t row) {
  const auto* const offsets = static_cast<const std::int32_t*>(texts.buffers[1]);
  const auto start = static_cast<std::size_t>(offsets[row]);
  return {static_cast<const char*>(texts.buffers[2]) + start, static_cast<std::size_t>(offsets[row + 1]) - start};
}

void append_counted_text(std::string& out, std::string_view text) {
  append_little_endian(out, text.size(), 4);
  out += text;
}

/// What a file's metadata says of a column of a row group.
struct Chunk {
  std::int64_t offset = 0;
  std::int64_t data_offset = 0;
  std::int64_t raw_size = 0;
  std::int64_t size = 0;
};

/// The values of a column that make up the next row group.
class ColumnBuffer {
 public:
  explicit ColumnBuffer(const ArrowSchema& schema)
      : schema_(&schema), kind_(kind_of(schema)), is_optional_((schema.flags & ARROW_FLAG_NULLABLE) != 0) {}

  [[nodiscard]] const ArrowSchema& schema() const { return *schema_; }
  [[nodiscard]] const ParquetKind& kind() const { return kind_; }
  [[nodiscard]] bool is_optional() const { return is_optional_; }
  [[nodiscard]] bool is_coded() const { return schema_->dictionary != nullptr; }
  [[nodiscard]] std::size_t bytes() const { return values_.size() + texts_.size() + 4 * numbers_.size(); }

  void add(const ArrowArray& column) {
    const auto rows = static_cast<std::size_t>(column.length);
    const void* const validity = column.buffers[0];
    for (std::size_t row = 0; row < rows; ++row) {
      const bool is_there = validity == nullptr || is_set(validity, row);
      if (is_optional_) {
        levels_.push_back(is_there ? 1 : 0);
      }
      if (is_there) {
        add_value(column, row);
      }
    }
  }

  /// A page with the texts that the values refer to, and their number; empty for other columns.
  [[nodiscard]] const std::string& texts() const { return texts_; }
  [[nodiscard]] std::size_t text_count() const { return text_count_; }

  /// The page of the values.
  [[nodiscard]] std::string page() const {
    std::string page;
    if (is_optional_) {
      std::string levels;
      append_packed(levels, levels_, 1);
      append_little_endian(page, levels.size(), 4);
      page += levels;
    }
    if (is_coded()) {
      unsigned width = 1;
      while (text_count_ > std::size_t{1} << width) {
        ++width;
      }
      page.push_back(static_cast<char>(width));
      append_packed(page, numbers_, width);
    } else if (schema_->format[0] == 'b') {
      std::string packed;
      append_packed(packed, numbers_, 1);
      // Plain booleans are the packed bits without the run's head.
      std::string head;
      append_varint(head, (numbers_.size() + 7) / 8 << 1U | 1U);
      page += std::string_view(packed).substr(head.size());
    } else {
      page += values_;
    }
    return page;
  }

  void clear() { *this = ColumnBuffer(*schema_); }

 private:
  void add_value(const ArrowArray& column, std::size_t row) {
    if (is_coded()) {
      add_coded(*column.dictionary, static_cast<const std::uint32_t*>(column.buffers[1])[row]);
      return;
    }
    switch (schema_->format[0]) {
      case 'u':
        append_counted_text(values_, text_at(column, row));
        break;
      case 'b':
        numbers_.push_back(is_set(column.buffers[1], row) ? 1 : 0);
        break;
      default: {
        const std::size_t width = arrow_width(schema_->format);
        std::uint64_t number = 0;
        std::memcpy(&number, static_cast<const char*>(column.buffers[1]) + row * width, width);
        append_little_endian(values_, number, std::max<std::size_t>(width, 4));
      }
    }
  }

  /// Numbers only the texts that the row group uses.
  void add_coded(const ArrowArray& dictionary, std::uint32_t text) {
    constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();
    if (places_.size() <= text) {
      places_.resize(text + 1, unused);
    }
    if (places_[text] == unused) {
      places_[text] = static_cast<std::uint32_t>(text_count_++);
      append_counted_text(texts_, text_at(dictionary, text));
    }
    numbers_.push_back(places_[text]);
  }

  const ArrowSchema* schema_;
  ParquetKind kind_;
  bool is_optional_;
  std::vector<std::uint32_t> levels_;   // by row: 0 for null
  std::vector<std::uint32_t> numbers_;  // of texts, or booleans
  std::vector<std::uint32_t> places_;   // by number in the stream's dictionary: the number in this row group's
  std::string texts_;
  std::size_t text_count_ = 0;
  std::string values_;
};

class ParquetFile {
 public:
  ParquetFile(base::OutputFile file, const ArrowSchema& schema) : file_(std::move(file)) {
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      columns_.emplace_back(*schema.children[i]);
    }
    append(parquet_magic);
  }

  void add(const ArrowArray& batch) {
    constexpr std::size_t most_rows = std::size_t{1} << 18U;
    constexpr std::size_t most_bytes = std::size_t{64} << 20U;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].add(*batch.children[i]);
      bytes = std::max(bytes, columns_[i].bytes());
    }
    rows_ += static_cast<std::size_t>(batch.length);
    if (rows_ >= most_rows || bytes >= most_bytes) {
      end_group();
    }
  }

  void finish(std::string_view table) {
    end_group();
    ThriftWriter metadata;
    metadata.integer(1, 1);
    write_schema(metadata);
    metadata.long_integer(3, total_rows_);
    metadata.structs(4, groups_.size());
    for (const Group& group : groups_) {
      write_group(metadata, group);
    }
    metadata.structs(5, 1);
    metadata.open();
    metadata.text(1, "kymo.table");
    metadata.text(2, table);
    metadata.end();
    metadata.text(6, "kymo");
    metadata.end();
    append(metadata.data());
    std::string size;
    append_little_endian(size, metadata.data().size(), 4);
    append(size);
    append(parquet_magic);
    file_.close();
  }

 private:
  struct Group {
    std::int64_t rows;
    std::vector<Chunk> chunks;
  };

  void end_group() {
    if (rows_ == 0) {
      return;
    }
    Group group{static_cast<std::int64_t>(rows_), {}};
    for (ColumnBuffer& column : columns_) {
      Chunk chunk;
      chunk.offset = size_;
      if (column.is_coded()) {
        write_page(column.texts(), column.text_count(), true, plain_values, chunk);
      }
      chunk.data_offset = size_;
      write_page(column.page(), rows_, false, column.is_coded() ? dictionary_runs : plain_values, chunk);
      group.chunks.push_back(chunk);
      column.clear();
    }
    groups_.push_back(std::move(group));
    total_rows_ += static_cast<std::int64_t>(rows_);
    rows_ = 0;
  }

  void write_page(const std::string& page, std::size_t values, bool is_dictionary, std::int32_t encoding,
                  Chunk& chunk) {
    constexpr int level = 3;
    std::string packed(ZSTD_compressBound(page.size()), '\0');
    const std::size_t size = ZSTD_compress(packed.data(), packed.size(), page.data(), page.size(), level);
    if (ZSTD_isError(size) != 0) {
      throw ExchangeError(file_.name() + ": " + ZSTD_getErrorName(size));
    }
    packed.resize(size);
    ThriftWriter header;
    header.integer(1, is_dictionary ? 2 : 0);
    header.integer(2, static_cast<std::int32_t>(page.size()));
    header.integer(3, static_cast<std::int32_t>(packed.size()));
    header.begin(is_dictionary ? 7 : 5);
    header.integer(1, static_cast<std::int32_t>(values));
    header.integer(2, encoding);
    if (!is_dictionary) {
      header.integer(3, runs);
      header.integer(4, runs);
    }
    header.end();
    header.end();
    append(header.data());
    append(packed);
    chunk.raw_size += static_cast<std::int64_t>(header.data().size() + page.size());
    chunk.size += static_cast<std::int64_t>(header.data().size() + packed.size());
    file_.spill();
  }

  void write_schema(ThriftWriter& metadata) const {
    metadata.structs(2, columns_.size() + 1);
    metadata.open();
    metadata.text(4, "schema");
    metadata.integer(5, static_cast<std::int32_t>(columns_.size()));
    metadata.end();
    for (const ColumnBuffer& column : columns_) {
      metadata.open();
      metadata.integer(1, column.kind().physical);
      metadata.integer(3, column.is_optional() ? 1 : 0);
      metadata.text(4, column.schema().name);
      if (column.kind().converted >= 0) {
        metadata.integer(6, column.kind().converted);
      }
      metadata.end();
    }
  }

  void write_group(ThriftWriter& metadata, const Group& group) const {
    std::int64_t raw_size = 0;
    metadata.open();
    metadata.structs(1, group.chunks.size());
    for (std::size_t i = 0; i < group.chunks.size(); ++i) {
      const ColumnBuffer& column = columns_[i];
      const Chunk& chunk = group.chunks[i];
      raw_size += chunk.raw_size;
      metadata.open();
      metadata.long_integer(2, chunk.offset);
      metadata.begin(3);
      metadata.integer(1, column.kind().physical);
      metadata.integers(2, column.is_coded() ? std::vector<std::int32_t>{plain_values, runs, dictionary_runs}
                                             : std::vector<std::int32_t>{plain_values, runs});
      metadata.texts(3, {column.schema().name});
      metadata.integer(4, zstd_pages);
      metadata.long_integer(5, group.rows);
      metadata.long_integer(6, chunk.raw_size);
      metadata.long_integer(7, chunk.size);
      metadata.long_integer(9, chunk.data_offset);
      if (column.is_coded()) {
        metadata.long_integer(11, chunk.offset);
      }
      metadata.end();
      metadata.end();
    }
    metadata.long_integer(2, raw_size);
    metadata.long_integer(3, group.rows);
    metadata.end();
  }

  void append(std::string_view bytes) {
    file_.buffer() += bytes;
    size_ += static_cast<std::int64_t>(bytes.size());
  }

  base::OutputFile file_;
  std::vector<ColumnBuffer> columns_;
  std::vector<Group> groups_;
  std::size_t rows_ = 0;  // of the next group
  std::int64_t total_rows_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace

std::vector<std::string> write_parquet(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  ArrowBatches batches(timeline, request.table);
  ParquetFile output(std::move(file), batches.schema());
  while (const ArrowArray* const batch = batches.next()) {
    output.add(*batch);
  }
  output.finish(table_names.at(static_cast<std::size_t>(request.table)));
  if (request.on_progress) {
    request.on_progress(1);
  }
  return {};
}

}  // namespace kymo::exchange

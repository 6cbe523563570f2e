#include "capture/format/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace kymo::capture {
namespace {

// Shorter columns gain nothing from byte planes: an entropy coder needs more values for its statistics.
constexpr std::size_t least_values_in_planes = 256;

// Whether a 53-bit integer represents the value exactly.
bool is_integral(double value) {
  constexpr double limit = 9007199254740992.0;
  return value >= -limit && value <= limit && value == std::trunc(value) && !(value == 0 && std::signbit(value));
}

bool is_known(Storage storage) {
  return storage <= Storage::bits;
}

std::uint64_t cost_of(Storage storage, std::uint64_t count) {
  if (storage == Storage::bytes || !is_known(storage)) {
    return 0;
  }
  return std::min(count, max_payload_cost + 1) * (storage == Storage::texts ? text_cost : 1);
}

bool all_zero(const std::vector<std::uint64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](std::uint64_t value) { return value == 0; });
}

}  // namespace

void TableWriter::spend(std::uint64_t cost) {
  spent_ += cost;
  if (spent_ > max_payload_cost) {
    throw std::length_error("a batch is too large for one block of a capture: hand over less at a time");
  }
}

void TableWriter::begin(TableId id, std::uint64_t key) {
  spend(table_cost);
  out_.append_u8(static_cast<std::uint8_t>(id));
  out_.append_varint(key);
}

void TableWriter::column(std::uint8_t column, Encoding encoding, std::uint64_t count,
                         std::span<const std::byte> content) {
  spend(cost_of(encoding.storage, count));
  out_.append_u8(column);
  out_.append_u8(encoding.byte());
  out_.append_varint(count);
  out_.append_varint(content.size());
  if (encoding.storage == Storage::planes && count > 0) {
    const std::size_t first_cut = cuts_.size();
    append_plane_cuts(content, count, cuts_);
    for (std::size_t i = first_cut; i < cuts_.size(); ++i) {
      cuts_[i] += out_.size();
    }
  } else {
    cuts_.push_back(out_.size());
    cuts_.push_back(out_.size() + content.size());
  }
  out_.append(content);
}

void TableWriter::lane(std::uint8_t column, const NumberLane& lane) {
  if (lane.count() > 0) {
    this->column(column, {lane.storage()}, lane.count(), lane.bytes());
  }
}

void TableWriter::numbers(std::uint8_t column, Encoding encoding, std::vector<std::uint64_t>& values) {
  if (column == 1 || !all_zero(values)) {
    counted_numbers(column, encoding, values);
  }
}

void TableWriter::counted_numbers(std::uint8_t column, Encoding encoding, std::vector<std::uint64_t>& values) {
  if (encoding.differences) {
    std::uint64_t previous = 0;
    for (std::uint64_t& value : values) {
      value -= std::exchange(previous, value);
    }
  }
  if (encoding.zigzag) {
    for (std::uint64_t& value : values) {
      value = zigzag(value);
    }
  }
  coded_.clear();
  const bool in_planes = packing_ == Packing::planes && values.size() >= least_values_in_planes;
  encoding.storage = in_planes ? Storage::planes : Storage::packed;
  if (in_planes) {
    put_planes(values, coded_);
  } else {
    const std::size_t count = values.size();
    values.resize(count + group_size);
    for (std::size_t begin = 0; begin < count; begin += group_size) {
      pack_group(values.data() + begin, std::min(group_size, count - begin), coded_);
    }
    values.resize(count);
  }
  this->column(column, encoding, values.size(), coded_.bytes());
}

void TableWriter::floats(std::uint8_t column, std::span<const double> values, bool is_counted) {
  values_.clear();
  if (std::all_of(values.begin(), values.end(), is_integral)) {
    for (const double value : values) {
      values_.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    }
    if (column == 1 || is_counted || !all_zero(values_)) {
      counted_numbers(column, {Storage::packed, true, true, true}, values_);
    }
    return;
  }
  for (const double value : values) {
    values_.push_back(bits_of(value));
  }
  if (packing_ == Packing::planes && values.size() >= least_values_in_planes) {
    counted_numbers(column, {Storage::planes}, values_);
  } else {
    this->column(column, {Storage::words}, values_.size(), std::as_bytes(std::span(values_)));
  }
}

void TableWriter::field(std::uint8_t column, Encoding encoding, const Rows& rows, const void* first, std::size_t size) {
  values_.resize(rows.count);
  const auto* place = static_cast<const std::byte*>(first);
  for (std::uint64_t& value : values_) {
    value = 0;
    std::memcpy(&value, place, size);
    place += rows.row_size;
  }
  numbers(column, encoding, values_);
}

void TableWriter::time_field(std::uint8_t column, const Rows& rows, const std::int64_t* first, std::uint64_t origin) {
  values_.resize(rows.count);
  const auto* place = reinterpret_cast<const std::byte*>(first);
  for (std::uint64_t& value : values_) {
    std::memcpy(&value, place, sizeof value);
    value -= origin;
    place += rows.row_size;
  }
  numbers(column, wandering, values_);
}

void TableWriter::text_field(std::uint8_t column, const Rows& rows, const std::string* first) {
  const auto* place = reinterpret_cast<const std::byte*>(first);
  for (std::size_t row = 0; row < rows.count; ++row) {
    add_text(*reinterpret_cast<const std::string*>(place));
    place += rows.row_size;
  }
  put_texts(column, rows.count);
}

void TableWriter::texts(std::uint8_t column, std::span<const std::string_view> texts) {
  for (const std::string_view text : texts) {
    add_text(text);
  }
  put_texts(column, texts.size());
}

void TableWriter::add_text(std::string_view text) {
  has_text_ = has_text_ || !text.empty();
  texts_.append_varint(text.size());
  texts_.append(text);
}

void TableWriter::put_texts(std::uint8_t column, std::size_t count) {
  if (column == 1 || has_text_) {
    this->column(column, {Storage::texts}, count, texts_.bytes());
  }
  texts_.clear();
  has_text_ = false;
}

void TableWriter::bytes(std::uint8_t column, std::string_view content) {
  this->column(column, {Storage::bytes}, content.size(), std::as_bytes(std::span(content.data(), content.size())));
}

const ColumnView* TableView::find(std::uint8_t column) const {
  for (const ColumnView& candidate : columns_) {
    if (candidate.id == column) {
      return &candidate;
    }
  }
  return nullptr;
}

std::uint64_t TableView::count(std::uint8_t column) const {
  const ColumnView* const found = find(column);
  if (found != nullptr && !is_known(Encoding::of(found->encoding).storage)) {
    throw DecodeError("a column is stored in a way that this version of kymo does not know");
  }
  return found == nullptr ? 0 : found->count;
}

NumberCursor TableView::numbers(std::uint8_t column, std::uint64_t count) const {
  const ColumnView* const found = find(column);
  if (found == nullptr) {
    return NumberCursor::zeros(count);
  }
  if (found->count != count || Encoding::of(found->encoding).floats) {
    throw DecodeError("a column has another number of values, or other ones, than its table needs");
  }
  return NumberCursor(*found);
}

void TableView::floats(std::uint8_t column, std::span<double> out) const {
  const ColumnView* const found = find(column);
  if (found == nullptr) {
    std::fill(out.begin(), out.end(), 0.0);
    return;
  }
  if (found->count != out.size()) {
    throw DecodeError("a column has another number of values than its table needs");
  }
  NumberCursor cursor(*found);
  const bool integers = Encoding::of(found->encoding).floats;
  std::array<std::uint64_t, group_size> group;
  for (std::size_t row = 0; row < out.size();) {
    const std::size_t count = cursor.next(group.data());
    for (std::size_t i = 0; i < count; ++i, ++row) {
      out[row] = integers ? static_cast<double>(static_cast<std::int64_t>(group[i])) : double_of(group[i]);
    }
  }
}

std::span<const std::byte> TableView::text_bytes(std::uint8_t column, std::uint64_t rows) const {
  const ColumnView* const found = find(column);
  if (found == nullptr) {
    return {};
  }
  if (found->count != rows || Encoding::of(found->encoding).storage != Storage::texts) {
    throw DecodeError("a column of texts has another number of values, or other ones, than its table needs");
  }
  return found->bytes;
}

std::string_view TableView::bytes(std::uint8_t column) const {
  const ColumnView* const found = find(column);
  if (found == nullptr) {
    return {};
  }
  if (Encoding::of(found->encoding).storage != Storage::bytes) {
    throw DecodeError("a column that should hold bytes holds something else");
  }
  return {reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size()};
}

void TableReader::spend(std::uint64_t cost) {
  spent_ += cost;
  if (cost > max_payload_cost || spent_ > max_payload_cost) {
    throw DecodeError("a block holds more values than any writer puts into one");
  }
}

bool TableReader::next(TableView& table) {
  if (cursor_.at_end()) {
    return false;
  }
  spend(table_cost);
  table.id_ = cursor_.u8();
  table.key_ = cursor_.varint();
  table.columns_.clear();
  for (std::uint8_t id = cursor_.u8(); id != 0; id = cursor_.u8()) {
    ColumnView column;
    column.id = id;
    column.encoding = cursor_.u8();
    column.count = cursor_.varint();
    column.bytes = cursor_.take(cursor_.varint());
    if (!table.columns_.empty() && table.columns_.back().id >= id) {
      throw DecodeError("a table's columns are out of order");
    }
    column.check();
    spend(cost_of(Encoding::of(column.encoding).storage, column.count));
    table.columns_.push_back(column);
  }
  return true;
}

}  // namespace kymo::capture

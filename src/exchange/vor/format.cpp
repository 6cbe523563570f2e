#include "exchange/vor/format.hpp"

#include <algorithm>
#include <cstring>

#include <lz4.h>
#include <kymo/capture.hpp>

#include "base/text/text.hpp"
#include "capture/format/bytes.hpp"
#include "capture/format/codec.hpp"
#include "exchange/common/export_names.hpp"

namespace kymo::exchange {
namespace {

constexpr std::string_view magic = "VOR1";
constexpr std::uint16_t version = 2;
constexpr std::uint8_t frame_tag = 0;
constexpr std::uint8_t declaration_tag = 1;

/// Reader limits: the raw size of one record, and of all names and units.
constexpr std::size_t most_record = std::size_t{256} << 20U;
constexpr std::size_t most_vor_names = std::size_t{6} << 20U;
constexpr std::size_t window_size = std::size_t{256} << 10U;
/// lz4 expands at most 255 times. A greater size is bogus, and no memory is allocated for it.
constexpr std::size_t most_lz4_ratio = 255;
/// The bytes of the longest text in a stream.
constexpr std::size_t most_vor_text = 65535;

void append_text(std::string& out, std::string_view text) {
  const std::string valid = valid_vor_text(text);
  append_vor_number(out, static_cast<std::uint16_t>(valid.size()));
  out += valid;
}

VorColumn take_column(capture::ByteCursor& cursor) {
  VorColumn column;
  column.name = cursor.text(take_vor_number<std::uint16_t>(cursor));
  column.unit = cursor.text(take_vor_number<std::uint16_t>(cursor));
  return column;
}

std::unique_ptr<capture::ByteSource> open_source(const std::string& path) {
  try {
    return std::make_unique<capture::FileSource>(path);
  } catch (const CaptureError& error) {
    throw VorError(error.what());
  }
}

}  // namespace

bool is_vor(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::string valid_vor_text(std::string_view text) {
  // The replacement of a byte that is not UTF-8 is longer than the byte, so the text is cut again.
  std::string valid = valid_text(base::cut_text(text, most_vor_text));
  valid.resize(base::cut_text(valid, most_vor_text).size());
  return valid;
}

void append_vor_lz4(std::string& out, std::string_view raw) {
  const std::size_t place = out.size();
  const int bound = LZ4_compressBound(static_cast<int>(raw.size()));
  if (raw.size() > LZ4_MAX_INPUT_SIZE || bound <= 0) {
    throw VorError("a frame is too large for a .vor record");
  }
  out.resize(place + sizeof(std::uint32_t) + static_cast<std::size_t>(bound));
  const auto raw_size = static_cast<std::uint32_t>(raw.size());
  std::memcpy(out.data() + place, &raw_size, sizeof raw_size);
  const int size =
      LZ4_compress_default(raw.data(), out.data() + place + sizeof raw_size, static_cast<int>(raw.size()), bound);
  out.resize(place + sizeof raw_size + static_cast<std::size_t>(size));
}

std::span<const std::byte> unpack_vor_lz4(std::span<const std::byte> stored, std::vector<std::byte>& raw) {
  capture::ByteCursor cursor(stored);
  const std::size_t size = take_vor_number<std::uint32_t>(cursor);
  const auto block = cursor.take(cursor.remaining());
  if (size > most_record || size > block.size() * most_lz4_ratio) {
    throw capture::DecodeError("it takes more than 256 MiB");
  }
  if (raw.size() < size) {
    raw.resize(size);
  }
  const std::span<std::byte> unpacked = std::span(raw).first(size);
  capture::decompress_lz4(block, unpacked);
  return unpacked;
}

void tell_vor_loss(std::vector<std::string>& losses, std::uint64_t count, const std::string& what) {
  if (count > 0) {
    losses.push_back(std::to_string(count) + ' ' + what);
  }
}

void VorWriter::append_header(std::string& out, const VorHeader& header) {
  out += magic;
  append_vor_number(out, version);
  append_vor_number(out, static_cast<std::uint8_t>(header.has_flames ? 1 : 0));
  append_vor_number(out, static_cast<std::uint16_t>(header.columns.size()));
  for (const VorColumn& column : header.columns) {
    append_text(out, column.name);
    append_text(out, column.unit);
  }
}

void VorWriter::append_declaration(std::string& out, std::uint16_t id, const VorColumn& column) {
  raw_.clear();
  append_vor_number(raw_, declaration_tag);
  append_vor_number(raw_, id);
  append_text(raw_, column.name);
  append_text(raw_, column.unit);
  append_record(out);
}

void VorWriter::append_frame(std::string& out, const VorFrame& frame) {
  raw_.clear();
  append_vor_number(raw_, frame_tag);
  for (const double value : frame.system) {
    append_vor_number(raw_, value);
  }
  append_vor_number(raw_, static_cast<std::uint16_t>(frame.user.size()));
  for (const VorValue& value : frame.user) {
    append_vor_number(raw_, value.column);
    append_vor_number(raw_, value.value);
  }
  append_vor_number(raw_, static_cast<std::uint32_t>(frame.flame.size()));
  raw_.append(reinterpret_cast<const char*>(frame.flame.data()), frame.flame.size());
  append_record(out);
}

void VorWriter::append_record(std::string& out) {
  const std::size_t place = out.size();
  append_vor_number(out, std::uint32_t{0});
  append_vor_lz4(out, raw_);
  const auto size = static_cast<std::uint32_t>(out.size() - place - sizeof(std::uint32_t));
  std::memcpy(out.data() + place, &size, sizeof size);
}

VorReader::VorReader(std::unique_ptr<capture::ByteSource> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {
  try {
    size_ = source_->size();
    read_header();
  } catch (const CaptureError& error) {
    throw VorError(error.what());
  }
  rewind();
}

VorReader::VorReader(const std::string& path) : VorReader(open_source(path), path) {}

void VorReader::rewind() {
  position_ = first_record_;
  user_columns_.clear();
  is_declared_.assign(std::size_t{1} << 16U, false);
  std::fill_n(is_declared_.begin(), header_.columns.size(), true);
  text_bytes_ = 0;
  damage_ = {};
}

double VorReader::share_done() const {
  return size_ == 0 ? 1.0 : static_cast<double>(position_) / static_cast<double>(size_);
}

std::span<const std::byte> VorReader::window(std::uint64_t offset, std::size_t count) {
  if (offset < window_offset_ || offset + count > window_offset_ + window_.size()) {
    const std::uint64_t left = size_ - std::min(offset, size_);
    window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(count, window_size), left)));
    window_offset_ = offset;
    window_.resize(source_->read(offset, window_));
  }
  const auto begin = static_cast<std::size_t>(offset - window_offset_);
  return std::span(window_).subspan(begin).first(std::min(count, window_.size() - begin));
}

void VorReader::read_header() {
  std::uint64_t at = 0;
  const auto next = [&](std::size_t count) {
    const auto bytes = window(at, count);
    if (bytes.size() < count) {
      throw VorError(name_ + ": cut off in its header, at byte " + std::to_string(at + bytes.size()));
    }
    at += count;
    return bytes.data();
  };
  const auto text = [&] {
    const std::size_t size = capture::load<std::uint16_t>(next(sizeof(std::uint16_t)));
    text_bytes_ += size;
    if (text_bytes_ > most_vor_names) {
      throw VorError(name_ + ": the names of its columns take more than 6 MiB, at byte " + std::to_string(at));
    }
    return std::string(reinterpret_cast<const char*>(next(size)), size);
  };
  if (!is_vor(window(0, magic.size()))) {
    throw VorError(name_ + ": not a .vor stream: it does not begin with " + std::string(magic));
  }
  at = magic.size();
  const auto found = capture::load<std::uint16_t>(next(sizeof(std::uint16_t)));
  if (found != version) {
    throw VorError(name_ + ": version " + std::to_string(found) + " of .vor, at byte 4; kymo reads version 2");
  }
  header_.has_flames = std::to_integer<int>(*next(1)) != 0;
  const auto columns = capture::load<std::uint16_t>(next(sizeof(std::uint16_t)));
  for (unsigned i = 0; i < columns; ++i) {
    VorColumn& column = header_.columns.emplace_back();
    column.name = text();
    column.unit = text();
  }
  first_record_ = at;
}

bool VorReader::next(VorFrame& frame) {
  try {
    while (position_ < size_) {
      const std::uint64_t offset = position_;
      const auto head = window(offset, sizeof(std::uint32_t));
      const std::uint64_t size =
          head.size() < sizeof(std::uint32_t) ? size_ : std::uint64_t{capture::load<std::uint32_t>(head.data())};
      if (size > size_ - offset - std::min<std::uint64_t>(sizeof(std::uint32_t), size_ - offset)) {
        damage_.torn_bytes = size_ - offset;
        position_ = size_;
        return false;
      }
      try {
        const std::span<const std::byte> raw = next_record(size);
        const auto tag = raw.empty() ? 0xFFU : std::to_integer<unsigned>(raw[0]);
        if (tag == frame_tag) {
          take_frame(raw.subspan(1), frame);
          frame.offset = offset;
          return true;
        }
        if (tag == declaration_tag) {
          take_declaration(raw.subspan(1));
        } else {
          leave_out(offset);
        }
      } catch (const capture::DecodeError&) {
        leave_out(offset);
      }
    }
  } catch (const CaptureError& error) {
    throw VorError(error.what());
  }
  return false;
}

void VorReader::leave_out(std::uint64_t offset) {
  if (damage_.records++ == 0) {
    damage_.first_record = offset;
  }
}

std::span<const std::byte> VorReader::next_record(std::uint64_t size) {
  const std::uint64_t begin = position_ + sizeof(std::uint32_t);
  position_ = begin + size;
  if (size > most_record) {
    return {};
  }
  const auto stored = window(begin, static_cast<std::size_t>(size));
  if (stored.size() < size) {
    throw VorError(name_ + ": became shorter while it was read, at byte " + std::to_string(begin + stored.size()));
  }
  return unpack_vor_lz4(stored, raw_);
}

void VorReader::take_declaration(std::span<const std::byte> body) {
  capture::ByteCursor cursor(body);
  const auto id = take_vor_number<std::uint16_t>(cursor);
  VorColumn column = take_column(cursor);
  text_bytes_ += column.name.size() + column.unit.size();
  if (is_declared_[id] || text_bytes_ > most_vor_names) {
    ++damage_.declarations;
    return;
  }
  is_declared_[id] = true;
  user_columns_.emplace_back(id, std::move(column));
}

void VorReader::take_frame(std::span<const std::byte> body, VorFrame& frame) {
  capture::ByteCursor cursor(body);
  frame.system.resize(header_.columns.size());
  const auto system = cursor.take(frame.system.size() * sizeof(double));
  if (!system.empty()) {
    std::memcpy(frame.system.data(), system.data(), system.size());
  }
  frame.user.clear();
  std::uint64_t undeclared = 0;
  for (unsigned count = take_vor_number<std::uint16_t>(cursor); count > 0; --count) {
    const auto id = take_vor_number<std::uint16_t>(cursor);
    const auto value = take_vor_number<double>(cursor);
    if (id >= header_.columns.size() && is_declared_[id]) {
      frame.user.push_back({id, value});
    } else {
      ++undeclared;
    }
  }
  frame.flame = cursor.take(take_vor_number<std::uint32_t>(cursor));
  damage_.values += undeclared;
}

}  // namespace kymo::exchange

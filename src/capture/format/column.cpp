#include "capture/format/column.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace kymo::capture {
namespace {

constexpr unsigned max_low_bits = 56;
// More than any payload may hold, and small enough to multiply.
constexpr std::uint64_t max_plane_values = std::uint64_t{1} << 32U;

std::size_t packed_bytes(std::size_t count, unsigned width) {
  return (count * width + 7) / 8;
}

template <unsigned... Index>
std::uint64_t join(const std::uint64_t* values, unsigned width, std::integer_sequence<unsigned, Index...> /*all*/) {
  return ((values[Index] << (Index * width)) | ...);
}

// Joins Together values into a word before it enters the accumulator: one step of the dependency chain for all of them.
template <unsigned Together>
void pack_words(const std::uint64_t* values, unsigned width, std::byte* to) {
  std::uint64_t pending = 0;
  unsigned filled = 0;
  for (std::size_t i = 0; i < group_size; i += Together) {
    pending |= join(values + i, width, std::make_integer_sequence<unsigned, Together>()) << filled;
    store(to, pending);
    filled += Together * width;
    to += filled / 8;
    pending >>= filled & ~7U;
    filled &= 7U;
  }
}

// For widths above 56 bits: with up to 7 pending bits a value does not fit a word, so it goes in two parts.
void pack_wide(const std::uint64_t* values, unsigned width, std::byte* to) {
  std::uint64_t pending = 0;
  unsigned filled = 0;
  const auto put = [&](std::uint64_t value, unsigned bits) {
    pending |= value << filled;
    store(to, pending);
    filled += bits;
    to += filled / 8;
    pending >>= filled & ~7U;
    filled &= 7U;
  };
  for (std::size_t i = 0; i < group_size; ++i) {
    put(values[i] & 0xFFFFFFFFU, 32);
    put(values[i] >> 32U, width - 32);
  }
}

// Packs 64 values of up to `width` bits; writes up to a word beyond them.
void pack_values(const std::uint64_t* values, unsigned width, std::byte* to) {
  if (width == 0) {
    // Zero bits per value need no bytes.
  } else if (width <= 7) {
    pack_words<8>(values, width, to);
  } else if (width <= 14) {
    pack_words<4>(values, width, to);
  } else if (width <= 28) {
    pack_words<2>(values, width, to);
  } else if (width <= 56) {
    pack_words<1>(values, width, to);
  } else {
    pack_wide(values, width, to);
  }
}

// Estimated size of a plane after zstd, in bits. At least one bit per symbol, the minimum of its entropy coder, or one
// match for each stretch between unusual bytes.
double coded_bits(const std::array<std::size_t, 256>& counts, std::size_t total) {
  constexpr double match_bits = 24;
  double entropy = 0;
  for (const std::size_t count : counts) {
    if (count > 0) {
      entropy -= static_cast<double>(count) * std::log2(static_cast<double>(count) / static_cast<double>(total));
    }
  }
  const std::size_t unusual = total - *std::max_element(counts.begin(), counts.end());
  return std::min(std::max(entropy, static_cast<double>(total)), match_bits * static_cast<double>(unusual));
}

double coded_bits(std::span<const std::uint64_t> values, unsigned low_bits, unsigned planes) {
  double bits = static_cast<double>(low_bits) * static_cast<double>(values.size());
  for (unsigned plane = 0; plane < planes; ++plane) {
    std::array<std::size_t, 256> counts{};
    for (const std::uint64_t value : values) {
      ++counts[(value >> (low_bits + 8 * plane)) & 0xFFU];
    }
    bits += coded_bits(counts, values.size());
  }
  return bits;
}

// The low bits of times are noise, which an entropy coder cannot compress. Including them in planes costs space: they
// push the rare high bits of large values into a plane of their own. So all but one in a thousand values shall fit into
// one plane above the low bits.
unsigned choose_low_bits(std::span<const std::uint64_t> values, unsigned widest) {
  std::array<std::size_t, 65> counts{};
  for (const std::uint64_t value : values) {
    ++counts[static_cast<std::size_t>(std::bit_width(value))];
  }
  unsigned width = widest;
  for (std::size_t beyond = counts[width]; width > 8 && beyond * 1000 <= values.size(); beyond += counts[width]) {
    --width;
  }
  const unsigned low_bits = width > 8 ? std::min(width - 8, max_low_bits) : 0;
  const auto planes = [&](unsigned below) { return (widest - below + 7) / 8; };
  return coded_bits(values, low_bits, planes(low_bits)) < coded_bits(values, 0, planes(0)) ? low_bits : 0;
}

}  // namespace

void pack_group(std::uint64_t* values, std::size_t count, ByteBuffer& out) {
  std::fill(values + count, values + group_size, 0U);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < group_size; i += 8) {
    all |= join(values + i, 0, std::make_integer_sequence<unsigned, 8>());
  }
  const auto width = static_cast<unsigned>(std::bit_width(all));
  // Room for a full group of the widest values, and for the part of a word stored beyond them.
  std::byte* const to = out.reserve(1 + (group_size * 8) + 8);
  *to = static_cast<std::byte>(width);
  pack_values(values, width, to + 1);
  out.commit(1 + packed_bytes(count, width));
}

void put_planes(std::span<const std::uint64_t> values, ByteBuffer& out) {
  std::uint64_t all = 0;
  for (const std::uint64_t value : values) {
    all |= value;
  }
  const auto widest = static_cast<unsigned>(std::bit_width(all));
  const unsigned low_bits = choose_low_bits(values, widest);
  const unsigned planes = (widest - low_bits + 7) / 8;
  out.append_u8(static_cast<std::uint8_t>(low_bits));
  out.append_u8(static_cast<std::uint8_t>(planes));
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits) - 1;
  std::array<std::uint64_t, group_size> group;
  for (std::size_t begin = 0; begin < values.size() && low_bits > 0; begin += group_size) {
    const std::size_t count = std::min(group_size, values.size() - begin);
    group.fill(0);
    for (std::size_t i = 0; i < count; ++i) {
      group[i] = values[begin + i] & low_mask;
    }
    pack_values(group.data(), low_bits, out.reserve((group_size + 1) * 8));
    out.commit(packed_bytes(count, low_bits));
  }
  std::byte* to = out.reserve(planes * values.size());
  for (unsigned plane = 0; plane < planes; ++plane) {
    for (const std::uint64_t value : values) {
      *to++ = static_cast<std::byte>(value >> (low_bits + 8 * plane));
    }
  }
  out.commit(planes * values.size());
}

void append_plane_cuts(std::span<const std::byte> column, std::uint64_t count, std::vector<std::size_t>& cuts) {
  cuts.push_back(0);
  std::size_t at = 2 + packed_bytes(static_cast<std::size_t>(count), std::to_integer<unsigned>(column[0]));
  for (; at < column.size(); at += static_cast<std::size_t>(count)) {
    cuts.push_back(at);
  }
  cuts.push_back(column.size());
}

void NumberLane::clear() {
  pending_count_ = 0;
  count_ = 0;
  values_.clear();
  out_.clear();
}

void NumberLane::flush_group() {
  if (packing_ == Packing::bits) {
    pack_group(pending_.data(), group_size, out_);
  } else {
    values_.insert(values_.end(), pending_.begin(), pending_.begin() + group_size);
  }
  count_ += group_size;
  pending_count_ -= group_size;
  std::copy_n(pending_.begin() + group_size, pending_count_, pending_.begin());
}

void NumberLane::finish() {
  if (packing_ == Packing::bits) {
    if (pending_count_ > 0) {
      pack_group(pending_.data(), pending_count_, out_);
    }
  } else {
    values_.insert(values_.end(), pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(pending_count_));
    put_planes(values_, out_);
  }
  count_ += pending_count_;
  pending_count_ = 0;
}

void ColumnView::check() const {
  const auto require = [](bool holds) {
    if (!holds) {
      throw DecodeError("a column's bytes do not fit the number of its values");
    }
  };
  switch (Encoding::of(encoding).storage) {
    case Storage::bytes:
      require(count == bytes.size());
      break;
    case Storage::texts: {
      require(count <= bytes.size());
      ByteCursor cursor(bytes);
      for (std::uint64_t i = 0; i < count; ++i) {
        static_cast<void>(cursor.take(cursor.varint()));
      }
      require(cursor.at_end());
      break;
    }
    case Storage::packed: {
      require(count / group_size <= bytes.size());
      ByteCursor cursor(bytes);
      for (std::uint64_t done = 0; done < count; done += group_size) {
        const unsigned width = cursor.u8();
        require(width <= 64);
        static_cast<void>(cursor.take(
            packed_bytes(static_cast<std::size_t>(std::min<std::uint64_t>(count - done, group_size)), width)));
      }
      require(cursor.at_end());
      break;
    }
    case Storage::planes: {
      require(bytes.size() >= 2);
      const unsigned low_bits = std::to_integer<unsigned>(bytes[0]);
      const unsigned planes = std::to_integer<unsigned>(bytes[1]);
      require(low_bits <= max_low_bits && planes <= 8 && count <= max_plane_values);
      require(bytes.size() ==
              2 + packed_bytes(static_cast<std::size_t>(count), low_bits) + static_cast<std::size_t>(planes * count));
      break;
    }
    case Storage::words:
      require(bytes.size() % 8 == 0 && count == bytes.size() / 8);
      break;
    case Storage::bits:
      require(count / 8 <= bytes.size() && (count + 7) / 8 == bytes.size());
      break;
  }
}

NumberCursor::NumberCursor(const ColumnView& column)
    : encoding_(Encoding::of(column.encoding)),
      absent_(false),
      remaining_(column.count),
      total_(column.count),
      at_(column.bytes.data()) {
  if (!column.is_numbers()) {
    throw DecodeError("a column that should hold numbers holds something else");
  }
  if (encoding_.storage == Storage::planes) {
    low_bits_ = std::to_integer<unsigned>(*at_++);
    planes_ = std::to_integer<unsigned>(*at_++);
    planes_at_ = at_ + packed_bytes(static_cast<std::size_t>(total_), low_bits_);
  }
}

NumberCursor NumberCursor::zeros(std::uint64_t count) {
  NumberCursor cursor;
  cursor.remaining_ = count;
  return cursor;
}

void NumberCursor::unpack(std::uint64_t* out, std::size_t count, unsigned width) {
  if (width <= 57) {
    // A value and up to 7 bits before it in its first byte fit into one word.
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    for (std::size_t i = 0, bit = 0; i < count; ++i, bit += width) {
      out[i] = (load<std::uint64_t>(at_ + bit / 8) >> (bit % 8)) & mask;
    }
  } else {
    const std::uint64_t high_mask = (std::uint64_t{1} << (width - 32)) - 1;
    for (std::size_t i = 0, bit = 0; i < count; ++i, bit += width) {
      const std::size_t high_bit = bit + 32;
      const std::uint64_t low = (load<std::uint64_t>(at_ + bit / 8) >> (bit % 8)) & 0xFFFFFFFFU;
      out[i] = low | (((load<std::uint64_t>(at_ + high_bit / 8) >> (high_bit % 8)) & high_mask) << 32U);
    }
  }
  at_ += packed_bytes(count, width);
}

void NumberCursor::join_planes(std::uint64_t* out, std::size_t count) {
  if (low_bits_ > 0) {
    unpack(out, count, low_bits_);
  } else {
    std::fill_n(out, count, 0U);
  }
  for (unsigned plane = 0; plane < planes_; ++plane) {
    const std::byte* const from = planes_at_ + (plane * total_);
    const unsigned shift = low_bits_ + 8 * plane;
    // A forged column may claim more bits than a number has.
    for (std::size_t i = 0; i < count && shift < 64; ++i) {
      out[i] |= std::to_integer<std::uint64_t>(from[i]) << shift;
    }
  }
  planes_at_ += planes_ == 0 ? 0 : count;
}

std::size_t NumberCursor::next(std::uint64_t* out) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, group_size));
  remaining_ -= count;
  if (absent_) {
    std::fill_n(out, count, 0U);
    return count;
  }
  switch (encoding_.storage) {
    case Storage::packed:
      if (count > 0) {
        const unsigned width = std::to_integer<unsigned>(*at_++);
        unpack(out, count, width);
      }
      break;
    case Storage::planes:
      join_planes(out, count);
      break;
    case Storage::words:
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = load<std::uint64_t>(at_ + (8 * i));
      }
      at_ += 8 * count;
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = std::to_integer<std::uint64_t>(at_[i / 8] >> (i % 8)) & 1U;
      }
      at_ += count / 8;
      break;
  }
  if (encoding_.zigzag) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = unzigzag(out[i]);
    }
  }
  if (encoding_.differences) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = previous_ += out[i];
    }
  }
  return count;
}

}  // namespace kymo::capture

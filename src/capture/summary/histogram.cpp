// The bytes of a histogram (docs/format.md, "Summaries"):
//   varint number of pages; with 0 pages nothing follows
//   varint min, varint max - min, varint total (all ns)
//   per page, ascending:
//     varint pages skipped since the one before (before the first: its number)
//     u8 form: bits 0-5 width w (at most 56); bit 6: counts are varints, w is 0; bit 7: positions are listed
//     positions of the non-empty buckets: u64 with one bit a bucket, or u8 n and n ascending bytes
//     each one's count - 1, in that order: w bits each, least significant bit first, padded to a byte; or a varint each
#include "capture/summary/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "capture/format/bytes.hpp"

namespace kymo::capture {

namespace {

constexpr std::uint8_t form_width_mask = 0x3f;
constexpr std::uint8_t form_varints = 0x40;
constexpr std::uint8_t form_listed = 0x80;
constexpr unsigned widest_packed = 56;  // with up to 7 bits left from the value before still within 64
constexpr unsigned longest_list = 6;    // with one more position, the 8 bytes of the bit map are as short

/// The non-empty buckets of one page in their stored form.
struct PageEntries {
  std::uint64_t buckets = 0;  ///< one bit each
  unsigned size = 0;
  std::array<std::uint64_t, 64> counts_less_one{};  ///< of these, ascending
};

/// Calls visit(position) for each bucket of a page, ascending.
template <typename Visit>
void for_each_position(std::uint64_t buckets, Visit visit) {
  for (; buckets != 0; buckets &= buckets - 1) {
    visit(static_cast<std::uint8_t>(std::countr_zero(buckets)));
  }
}

std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

std::size_t packed_size(const PageEntries& entries, unsigned width) {
  return (std::size_t{entries.size} * width + 7) / 8;
}

void append_packed(ByteBuffer& out, const PageEntries& entries, unsigned width) {
  const std::size_t size = packed_size(entries, width);
  std::byte* to = out.reserve(size);
  std::uint64_t bits = 0;
  unsigned filled = 0;
  for (unsigned i = 0; i < entries.size; ++i) {
    bits |= entries.counts_less_one[i] << filled;
    for (filled += width; filled >= 8; filled -= 8, bits >>= 8) {
      *to++ = static_cast<std::byte>(bits);
    }
  }
  if (filled > 0) {
    *to = static_cast<std::byte>(bits);
  }
  out.commit(size);
}

void append_positions(ByteBuffer& out, const PageEntries& entries, bool listed) {
  if (listed) {
    out.append_u8(static_cast<std::uint8_t>(entries.size));
    for_each_position(entries.buckets, [&out](std::uint8_t position) { out.append_u8(position); });
  } else {
    store(out.reserve(sizeof entries.buckets), entries.buckets);
    out.commit(sizeof entries.buckets);
  }
}

void append_page(ByteBuffer& out, const PageEntries& entries) {
  std::uint64_t all = 0;
  std::size_t varint_bytes = 0;
  for (unsigned i = 0; i < entries.size; ++i) {
    all |= entries.counts_less_one[i];
    varint_bytes += varint_size(entries.counts_less_one[i]);
  }
  const auto width = static_cast<unsigned>(std::bit_width(all));
  const bool varints = width > widest_packed || varint_bytes < packed_size(entries, width);
  const bool listed = entries.size <= longest_list;
  out.append_u8(static_cast<std::uint8_t>((varints ? form_varints : width) | (listed ? form_listed : 0U)));
  append_positions(out, entries, listed);
  if (!varints) {
    append_packed(out, entries, width);
    return;
  }
  for (unsigned i = 0; i < entries.size; ++i) {
    out.append_varint(entries.counts_less_one[i]);
  }
}

void read_positions(ByteCursor& in, bool listed, PageEntries& entries) {
  if (listed) {
    for (const std::byte listed_position : in.take(in.u8())) {
      const auto position = std::to_integer<std::uint8_t>(listed_position);
      if (position >= 64 || (entries.buckets >> position) != 0) {
        throw DecodeError("the buckets of a histogram page are out of order");
      }
      entries.buckets |= std::uint64_t{1} << position;
    }
  } else {
    entries.buckets = load<std::uint64_t>(in.take(sizeof(std::uint64_t)).data());
  }
  if (entries.buckets == 0) {
    throw DecodeError("a histogram page is empty");
  }
  entries.size = static_cast<unsigned>(std::popcount(entries.buckets));
}

void read_packed(ByteCursor& in, unsigned width, PageEntries& entries) {
  if (width > widest_packed) {
    throw DecodeError("the counts of a histogram page are packed too widely");
  }
  const auto bytes = in.take(packed_size(entries, width));
  std::size_t next = 0;
  std::uint64_t bits = 0;
  unsigned filled = 0;
  for (unsigned i = 0; i < entries.size; ++i) {
    for (; filled < width; filled += 8) {
      bits |= std::to_integer<std::uint64_t>(bytes[next++]) << filled;
    }
    entries.counts_less_one[i] = bits & ((std::uint64_t{1} << width) - 1);
    bits >>= width;
    filled -= width;
  }
}

PageEntries read_page(ByteCursor& in) {
  PageEntries entries;
  const std::uint8_t form = in.u8();
  read_positions(in, (form & form_listed) != 0, entries);
  if ((form & form_varints) == 0) {
    read_packed(in, form & form_width_mask, entries);
    return entries;
  }
  for (unsigned i = 0; i < entries.size; ++i) {
    entries.counts_less_one[i] = in.varint();
  }
  return entries;
}

/// Adds a page's counts if each sum fits a byte; else changes nothing and returns false.
bool add_in_bytes(std::uint8_t* to, const std::uint8_t* counts) {
  std::array<std::uint8_t, 64> sums{};
  std::uint8_t wrapped = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    sums[k] = static_cast<std::uint8_t>(to[k] + counts[k]);
    wrapped |= static_cast<std::uint8_t>(sums[k] < counts[k]);
  }
  if (wrapped != 0) {
    return false;
  }
  std::copy(sums.begin(), sums.end(), to);
  return true;
}

}  // namespace

void Histogram::count_unusual(std::uint32_t index) {
  if (const std::uint32_t page = index / page_size; !has_page(page)) {
    allocate_page(page);
    counts_[position_of(index)] = 1;
  } else {
    add(index, 256);
  }
}

void Histogram::allocate_page(std::uint32_t page) {
  if (slots_.empty()) {
    first_page_ = page;
  }
  if (page < first_page_) {
    slots_.insert(slots_.begin(), first_page_ - page, 0);
    first_page_ = page;
  }
  const std::size_t offset = page - first_page_;
  if (offset >= slots_.size()) {
    slots_.resize(offset + 1);
  }
  pages_ = static_cast<std::uint32_t>(slots_.size());
  if (slots_[offset] == 0) {
    counts_.resize(counts_.size() + page_size);
    if (!wide_.empty()) {
      wide_.resize(counts_.size());
    }
    slots_[offset] = static_cast<std::uint16_t>(counts_.size() / page_size);
  }
}

void Histogram::widen() {
  if (wide_.empty()) {
    wide_.resize(counts_.size());
  }
}

void Histogram::add(std::uint32_t index, std::uint64_t count) {
  if (!has_page(index / page_size)) {
    allocate_page(index / page_size);
  }
  if (std::uint8_t& byte = counts_[position_of(index)]; wide_.empty() && count <= std::uint64_t{255} - byte) {
    byte = static_cast<std::uint8_t>(byte + count);
    return;
  }
  widen();
  std::uint32_t& wide = wide_[position_of(index)];
  const std::uint64_t sum = wide + (count & 0xffff'ffffU);
  wide = static_cast<std::uint32_t>(sum);
  const std::uint64_t high = (count >> 32U) + (sum >> 32U);
  if (high == 0) [[likely]] {
    return;
  }
  constexpr std::uint64_t greatest = std::numeric_limits<std::uint32_t>::max();
  for (auto& [carried, carried_high] : carries_) {
    if (carried == index) {
      carried_high = static_cast<std::uint32_t>(std::min(greatest, carried_high + high));
      return;
    }
  }
  carries_.emplace_back(index, static_cast<std::uint32_t>(std::min(greatest, high)));
}

Histogram::PageCounts Histogram::page_counts(std::uint32_t page) const noexcept {
  PageCounts counts{};
  const std::size_t first = position_of(page * page_size);
  for (std::size_t k = 0; k < page_size; ++k) {
    counts[k] = counts_[first + k] + std::uint64_t{wide_.empty() ? 0 : wide_[first + k]};
  }
  for (const auto& [index, high] : carries_) {
    if (index / page_size == page) {
      counts[index % page_size] += std::uint64_t{high} << 32U;
    }
  }
  return counts;
}

void Histogram::merge_page(std::uint32_t page, const std::uint8_t* counts, const std::uint32_t* wide) {
  if (!has_page(page)) {
    allocate_page(page);
  }
  const bool are_bytes = wide_.empty() && wide == nullptr;
  if (are_bytes && add_in_bytes(counts_.data() + position_of(page * page_size), counts)) {
    return;
  }
  widen();
  std::uint32_t* const to = wide_.data() + position_of(page * page_size);
  std::array<std::uint32_t, page_size> sums{};
  std::uint32_t wrapped = 0;
  for (std::size_t k = 0; k < page_size; ++k) {
    const std::uint32_t more = counts[k] + (wide == nullptr ? 0 : wide[k]);
    sums[k] = to[k] + more;
    wrapped |= static_cast<std::uint32_t>(more < counts[k]) | static_cast<std::uint32_t>(sums[k] < more);
  }
  if (wrapped == 0) [[likely]] {
    std::copy(sums.begin(), sums.end(), to);
    return;
  }
  for (std::uint32_t k = 0; k < page_size; ++k) {
    add(page * page_size + k, counts[k] + std::uint64_t{wide == nullptr ? 0 : wide[k]});
  }
}

void Histogram::merge(const Histogram& other) {
  if (other.empty()) {
    return;
  }
  for (std::size_t i = 0; i < other.slots_.size(); ++i) {
    if (other.slots_[i] == 0) {
      continue;
    }
    const auto page = static_cast<std::uint32_t>(other.first_page_ + i);
    const std::size_t first = other.position_of(page * page_size);
    const std::uint8_t* const counts = other.counts_.data() + first;
    const std::uint32_t* const wide = other.wide_.empty() ? nullptr : other.wide_.data() + first;
    const bool used = std::any_of(counts, counts + page_size, [](std::uint8_t count) { return count != 0; }) ||
                      (wide != nullptr && std::any_of(wide, wide + page_size, [](auto count) { return count != 0; }));
    if (used) {  // otherwise only touched before a clear()
      merge_page(page, counts, wide);
    }
  }
  for (const auto& [index, high] : other.carries_) {
    add(index, std::uint64_t{high} << 32);
  }
  if (__builtin_add_overflow(count_, other.count_, &count_)) {
    count_ = std::numeric_limits<std::uint64_t>::max();
  }
  if (__builtin_add_overflow(total_ns_, other.total_ns_, &total_ns_)) {
    total_ns_ = std::numeric_limits<std::uint64_t>::max();
  }
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

void Histogram::clear() noexcept {
  if (empty()) {
    return;
  }
  std::fill(counts_.begin(), counts_.end(), std::uint8_t{0});
  std::fill(wide_.begin(), wide_.end(), 0U);
  carries_.clear();
  count_ = 0;
  total_ns_ = 0;
  min_ns_ = std::numeric_limits<std::int64_t>::max();
  max_ns_ = 0;
}

std::int64_t Histogram::percentile_ns(double percentile) const noexcept {
  if (count_ == 0) {
    return 0;
  }
  if (!(percentile > 0.0)) {
    return min_ns_;
  }
  if (percentile >= 100.0) {
    return max_ns_;
  }
  // A percentile such as 99.9 is not exact in binary; one unit less keeps 0.999 * 1000 from being rounded up to rank
  // 1000.
  const double exact_rank = std::nextafter(percentile, 0.0) / 100.0 * static_cast<double>(count_);
  const auto rank = std::clamp(static_cast<std::uint64_t>(std::ceil(exact_rank)), std::uint64_t{1}, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] == 0) {
      continue;
    }
    const auto page = static_cast<std::uint32_t>(first_page_ + i);
    const PageCounts counts = page_counts(page);
    for (std::uint32_t k = 0; k < page_size; ++k) {
      seen += counts[k];
      if (seen >= rank) {
        return std::clamp(highest_of(page * page_size + k), min_ns_, max_ns_);
      }
    }
  }
  return max_ns_;
}

std::size_t Histogram::heap_bytes() const noexcept {
  return slots_.capacity() * sizeof(slots_[0]) + counts_.capacity() + wide_.capacity() * sizeof(wide_[0]) +
         carries_.capacity() * sizeof(carries_[0]);
}

void Histogram::append_to(ByteBuffer& out) const {
  ByteBuffer pages;
  std::uint64_t pages_written = 0;
  std::uint32_t next_page = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] == 0) {
      continue;
    }
    const auto page = static_cast<std::uint32_t>(first_page_ + i);
    const PageCounts counts = page_counts(page);
    PageEntries entries;
    for (std::uint32_t k = 0; k < page_size; ++k) {
      if (counts[k] != 0) {
        entries.buckets |= std::uint64_t{1} << k;
        entries.counts_less_one[entries.size++] = counts[k] - 1;
      }
    }
    if (entries.size == 0) {
      continue;  // touched before a clear()
    }
    pages.append_varint(page - next_page);
    append_page(pages, entries);
    next_page = page + 1;
    ++pages_written;
  }
  out.append_varint(pages_written);
  if (pages_written != 0) {
    out.append_varint(static_cast<std::uint64_t>(min_ns_));
    out.append_varint(static_cast<std::uint64_t>(max_ns_ - min_ns_));
    out.append_varint(total_ns_);
    out.append(pages.bytes());
  }
}

Histogram Histogram::read_from(ByteCursor& in) {
  Histogram result;
  const std::uint64_t pages = in.varint();
  if (pages == 0) {
    return result;
  }
  result.min_ns_ = narrow<std::int64_t>(in.varint());
  const auto range_ns = narrow<std::int64_t>(in.varint());
  if (__builtin_add_overflow(result.min_ns_, range_ns, &result.max_ns_)) {
    throw DecodeError("a histogram's greatest value is too large");
  }
  result.total_ns_ = in.varint();
  std::uint64_t page = 0;
  std::uint32_t first_index = bucket_count;
  std::uint32_t last_index = 0;
  for (std::uint64_t i = 0; i < pages; ++i, ++page) {
    const std::uint64_t skipped = in.varint();
    if (skipped >= page_count || page + skipped >= page_count) {
      throw DecodeError("a histogram page lies beyond the greatest value");
    }
    page += skipped;
    const PageEntries entries = read_page(in);
    const std::uint64_t* count_less_one = entries.counts_less_one.data();
    for_each_position(entries.buckets, [&](std::uint8_t position) {
      last_index = static_cast<std::uint32_t>(page) * page_size + position;
      first_index = std::min(first_index, last_index);
      const std::uint64_t count = *count_less_one++ + 1;
      if (count == 0 || __builtin_add_overflow(result.count_, count, &result.count_)) {
        throw DecodeError("a histogram counts more than 64 bits hold");
      }
      result.add(last_index, count);
    });
  }
  // Percentiles rely on the extremes being values of the first and the last bucket.
  if (index_of(result.min_ns_) != first_index || index_of(result.max_ns_) != last_index) {
    throw DecodeError("a histogram's extremes lie outside its buckets");
  }
  return result;
}

}  // namespace kymo::capture

// A histogram of durations in the published HdrHistogram bucket layout: three significant decimal digits over the whole
// range of int64 nanoseconds.
//
// Layout: values below 2048 ns have a bucket each. Above, every power of two is divided into 1024 buckets of equal
// width, so that a bucket is at most 1/1024 of its values wide. A value v whose highest set bit is bit m has the index
// (b << 10) + (v >> b), b = max(0, m - 10). The 55,296 buckets are stored in pages of 64, allocated on first use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace kymo::capture {

class ByteBuffer;
class ByteCursor;

/// Counts durations. Copyable; not thread-safe.
///
/// Memory: 150 bytes, plus
///
/// - 64 bytes per touched page of 64 buckets,
/// - 256 bytes per page once a bucket has counted 256 values,
/// - 2 bytes per page between the lowest and the highest touched one.
class Histogram {
 public:
  static constexpr std::uint32_t sub_bucket_count = 2048;
  static constexpr std::uint32_t sub_bucket_half_count = 1024;
  static constexpr std::uint32_t bucket_count = 54 * sub_bucket_half_count;

  /// A non-empty bucket: the values from lowest_ns to highest_ns, both included.
  struct Bucket {
    std::int64_t lowest_ns = 0;
    std::int64_t highest_ns = 0;
    std::uint64_t count = 0;
  };

  /// The bucket of a value; negative values count as 0.
  [[nodiscard]] static constexpr std::uint32_t index_of(std::uint32_t value_ns) noexcept {
    const auto bucket = static_cast<unsigned>(21 - __builtin_clz(value_ns | (sub_bucket_count - 1)));
    return (bucket << 10) + (value_ns >> bucket);
  }
  [[nodiscard]] static constexpr std::uint32_t index_of(std::int64_t value_ns) noexcept {
    const std::uint64_t value = value_ns < 0 ? 0 : static_cast<std::uint64_t>(value_ns);
    const auto highest_bit = static_cast<unsigned>(63 - __builtin_clzll(value | (sub_bucket_count - 1)));
    const unsigned bucket = highest_bit - 10;
    return (bucket << 10) + static_cast<std::uint32_t>(value >> bucket);
  }
  /// The least value of a bucket. index < bucket_count.
  [[nodiscard]] static constexpr std::int64_t lowest_of(std::uint32_t index) noexcept {
    const std::uint32_t bucket = shift_of(index);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(index - (bucket << 10)) << bucket);
  }
  /// The greatest value of a bucket. index < bucket_count.
  [[nodiscard]] static constexpr std::int64_t highest_of(std::uint32_t index) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lowest_of(index)) +
                                     ((std::uint64_t{1} << shift_of(index)) - 1));
  }

  /// Counts a duration; negative ones count as 0. About 2 ns; allocates on the first access to a page.
  void record(std::int64_t duration_ns) {
    duration_ns = duration_ns < 0 ? 0 : duration_ns;
    count_in_bucket(index_of(duration_ns));
    ++count_;
    if (__builtin_add_overflow(total_ns_, static_cast<std::uint64_t>(duration_ns), &total_ns_)) [[unlikely]] {
      total_ns_ = std::numeric_limits<std::uint64_t>::max();
    }
    min_ns_ = duration_ns < min_ns_ ? duration_ns : min_ns_;
    max_ns_ = duration_ns > max_ns_ ? duration_ns : max_ns_;
  }

  /// Counts the results of duration_at(0) to duration_at(count - 1), called in this order, as std::uint32_t. count <=
  /// 255. About 1 ns each, less if they are close together.
  template <typename DurationAt>
  void record_all(std::uint32_t count, DurationAt&& duration_at) {
    Sums sums;
    std::uint32_t i = 0;
    std::uint32_t page = 0;
    bool are_close = count >= worth_tables;
    for (; i < count && i < looked_at; ++i) {
      const std::uint32_t duration_ns = duration_at(i);
      const std::uint32_t index = index_of(duration_ns);
      sums.add(duration_ns);
      count_in_bucket(index);
      are_close = are_close && (i == 0 || page == index / page_size);
      page = index / page_size;
    }
    if (are_close) {
      count_near_page(page, i, count, sums, duration_at);
    } else {
      count_anywhere(i, count, sums, duration_at);
    }
    count_ += count;
    if (__builtin_add_overflow(total_ns_, sums.total_ns, &total_ns_)) [[unlikely]] {
      total_ns_ = std::numeric_limits<std::uint64_t>::max();
    }
    min_ns_ = count != 0 && sums.min_ns < min_ns_ ? sums.min_ns : min_ns_;
    max_ns_ = sums.max_ns > max_ns_ ? sums.max_ns : max_ns_;
  }

  /// Adds another histogram. About 50 ns per page.
  void merge(const Histogram& other);

  /// Empties it; keeps the pages for reuse.
  void clear() noexcept;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The exact sum; saturates at the greatest uint64 (584 years).
  [[nodiscard]] std::uint64_t total_ns() const noexcept { return total_ns_; }
  /// The exact extremes; 0 when empty.
  [[nodiscard]] std::int64_t min_ns() const noexcept { return count_ == 0 ? 0 : min_ns_; }
  [[nodiscard]] std::int64_t max_ns() const noexcept { return max_ns_; }
  /// The exact mean; 0 when empty.
  [[nodiscard]] double mean_ns() const noexcept {
    return count_ == 0 ? 0.0 : static_cast<double>(total_ns_) / static_cast<double>(count_);
  }

  /// The value at a percentile by nearest rank: the ceil(percentile / 100 * count)-th smallest value, 0 when empty.
  ///
  /// Like HdrHistogram, returns the highest value of the bucket that holds the ranked value (for percentile 0 the least
  /// one): at most 1/1024 off and never too low. Unlike HdrHistogram, the result stays within the exact min and max.
  /// About 1 us for a few thousand touched buckets.
  [[nodiscard]] std::int64_t percentile_ns(double percentile) const noexcept;

  /// Calls visit(const Bucket&) for each non-empty bucket in ascending order.
  template <typename Visit>
  void for_each_bucket(Visit&& visit) const {
    for (std::size_t page = 0; page < slots_.size(); ++page) {
      if (slots_[page] == 0) {
        continue;
      }
      const auto number = static_cast<std::uint32_t>(first_page_ + page);
      const PageCounts counts = page_counts(number);
      for (std::uint32_t k = 0; k < page_size; ++k) {
        if (counts[k] != 0) {
          const std::uint32_t index = number * page_size + k;
          visit(Bucket{lowest_of(index), highest_of(index), counts[k]});
        }
      }
    }
  }

  /// This histogram's heap memory in bytes.
  [[nodiscard]] std::size_t heap_bytes() const noexcept;

  /// Appends the histogram's bytes (docs/format.md, "Summaries").
  void append_to(ByteBuffer& out) const;
  /// Reads the bytes of append_to. Throws DecodeError if they are invalid. Allocates at most about 100 times the bytes
  /// it reads.
  [[nodiscard]] static Histogram read_from(ByteCursor& in);

 private:
  static constexpr std::uint32_t page_size = 64;
  static constexpr std::uint32_t page_count = bucket_count / page_size;
  using PageCounts = std::array<std::uint64_t, page_size>;

  /// By how many bits the values of a bucket are shifted: a bucket has 2^shift of them.
  [[nodiscard]] static constexpr std::uint32_t shift_of(std::uint32_t index) noexcept {
    return index < sub_bucket_count ? 0 : (index >> 10) - 1;
  }
  [[nodiscard]] std::size_t position_of(std::uint32_t index) const noexcept {
    return position_in(slots_[index / page_size - first_page_], index);
  }
  [[nodiscard]] static std::size_t position_in(std::size_t slot, std::uint32_t index) noexcept {
    return slot * page_size - page_size + index % page_size;
  }
  [[nodiscard]] bool has_page(std::uint32_t page) const noexcept {
    const std::uint32_t offset = page - first_page_;
    return offset < pages_ && slots_[offset] != 0;
  }
  void count_in_bucket(std::uint32_t index) {
    // Unsigned, so a page below the first becomes a number beyond the table.
    const std::uint32_t page = index / page_size - first_page_;
    if (page >= pages_ || slots_[page] == 0 || ++counts_[position_of(index)] == 0) [[unlikely]] {
      count_unusual(index);
    }
  }
  struct Sums {
    std::uint64_t total_ns = 0;  // cannot overflow
    std::uint32_t min_ns = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t max_ns = 0;

    void add(std::uint32_t duration_ns) {
      total_ns += duration_ns;
      min_ns = duration_ns < min_ns ? duration_ns : min_ns;
      max_ns = duration_ns > max_ns ? duration_ns : max_ns;
    }
  };
  static constexpr std::uint32_t looked_at = 4;      // durations, before a guess at the others
  static constexpr std::uint32_t worth_tables = 32;  // durations
  static constexpr std::uint32_t tables = 4;
  using Tables = std::array<std::uint8_t, tables * page_size>;

  template <typename DurationAt>
  void count_anywhere(std::uint32_t i, std::uint32_t count, Sums& result, DurationAt&& duration_at) {
    Sums sums = result;
    // Copied to registers: the compiler must assume that a byte store may change any member.
    const std::uint16_t* slots = slots_.data();
    std::uint8_t* counts = counts_.data();
    std::uint32_t first_page = first_page_;
    std::uint32_t pages = pages_;
    for (; i < count; ++i) {
      const std::uint32_t duration_ns = duration_at(i);
      const std::uint32_t index = index_of(duration_ns);
      const std::uint32_t page = index / page_size - first_page;
      if (page >= pages || slots[page] == 0 || ++counts[position_in(slots[page], index)] == 0) [[unlikely]] {
        count_unusual(index);
        slots = slots_.data();
        counts = counts_.data();
        first_page = first_page_;
        pages = pages_;
      }
      sums.add(duration_ns);
    }
    result = sums;
  }
  /// The same where most durations are of one page, which exists. They are counted in tables in turns: a count that
  /// grows again at once waits for its store.
  template <typename DurationAt>
  void count_near_page(std::uint32_t page, std::uint32_t i, std::uint32_t count, Sums& result,
                       DurationAt&& duration_at) {
    Tables counts{};
    Sums sums = result;
    const std::uint32_t first_index = page * page_size;
    const std::uint32_t shift = shift_of(first_index);
    const auto first_ns = static_cast<std::uint32_t>(lowest_of(first_index));
    for (; i < count; ++i) {
      const std::uint32_t duration_ns = duration_at(i);
      const std::uint32_t place = (duration_ns - first_ns) >> shift;
      if (place < page_size) [[likely]] {
        ++counts[i % tables * page_size + place];
      } else {
        count_in_bucket(index_of(duration_ns));
      }
      sums.add(duration_ns);
    }
    result = sums;
    add_tables(first_index, counts);
  }
  void add_tables(std::uint32_t first_index, const Tables& counts) {
    std::uint8_t* const to = counts_.data() + position_of(first_index);
    std::array<std::uint8_t, page_size> added;
    std::array<std::uint8_t, page_size> sums;
    std::uint8_t wrapped = 0;
    for (std::uint32_t k = 0; k < page_size; ++k) {
      added[k] = static_cast<std::uint8_t>(counts[k] + counts[page_size + k] + counts[2 * page_size + k] +
                                           counts[3 * page_size + k]);
      sums[k] = static_cast<std::uint8_t>(to[k] + added[k]);
      wrapped |= static_cast<std::uint8_t>(sums[k] < added[k]);
    }
    std::memcpy(to, sums.data(), page_size);
    for (std::uint32_t k = 0; wrapped != 0 && k < page_size; ++k) {
      if (sums[k] < added[k]) {
        count_unusual(first_index + k);
      }
    }
  }
  /// Counts in a bucket without a page, or one whose byte has wrapped around.
  void count_unusual(std::uint32_t index);
  void allocate_page(std::uint32_t page);
  void widen();
  void add(std::uint32_t index, std::uint64_t count);
  void merge_page(std::uint32_t page, const std::uint8_t* counts, const std::uint32_t* wide);
  [[nodiscard]] PageCounts page_counts(std::uint32_t page) const noexcept;

  // A bucket's count is the sum of three parts. record() counts in counts_, one byte per bucket, so that the counters
  // of all sites stay in the cache. Wrapped bytes go to wide_, which has the same places or is empty; so do merged and
  // read counts that do not fit a byte, and all of them once it is in use. Overflow of 32 bits there goes to carries_.
  std::uint64_t count_ = 0;
  std::uint64_t total_ns_ = 0;
  std::int64_t min_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ns_ = 0;
  std::uint32_t first_page_ = 0;
  std::uint32_t pages_ = 0;           // slots_.size()
  std::vector<std::uint16_t> slots_;  // for page first_page_ + i: 1 + its place in counts_, or 0
  std::vector<std::uint8_t> counts_;
  std::vector<std::uint32_t> wide_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> carries_;  // index, count >> 32; unordered, nearly always empty
};

}  // namespace kymo::capture

#include "exchange/import/record_sorter.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <unistd.h>

#include "base/output/output_file.hpp"
#include "base/system/system.hpp"

namespace kymo::exchange {
namespace {

constexpr std::size_t head_size = 8 + 8 + 4;
constexpr std::size_t least_buffer = 4096;
constexpr std::size_t write_size = std::size_t{1} << 20U;

template <typename Number>
void append_number(std::string& out, Number number) {
  const auto size = out.size();
  out.resize(size + sizeof number);
  std::memcpy(out.data() + size, &number, sizeof number);
}

template <typename Number>
Number read_number(const char* bytes) {
  Number number{};
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

}  // namespace

RecordSorter::RecordSorter(std::string directory, std::size_t memory)
    : directory_(std::move(directory)), memory_(memory) {}

void RecordSorter::add(Key key, std::string_view record) {
  // Vectors and strings grow by doubling, so up to half of their capacity is in use.
  if (!entries_.empty() && 2 * (entries_.size() * sizeof(Entry) + records_.size() + record.size()) > memory_) {
    write_run();
  }
  entries_.push_back({key, records_.size(), static_cast<std::uint32_t>(record.size())});
  records_.append(record);
}

void RecordSorter::sort_entries() {
  const auto comes_before = [](const Entry& a, const Entry& b) {
    return a.key < b.key || (!(b.key < a.key) && a.begin < b.begin);
  };
  if (!std::is_sorted(entries_.begin(), entries_.end(), comes_before)) {
    std::sort(entries_.begin(), entries_.end(), comes_before);
  }
}

void RecordSorter::write_run() {
  if (!file_) {
    file_ = base::open_unnamed(directory_);
  }
  if (!file_) {
    throw base::OutputError(base::describe_errno("cannot create a file for sorting in", directory_, errno));
  }
  sort_entries();
  Run& run = runs_.emplace_back();
  run.next = file_size_;
  for (const Entry& entry : entries_) {
    append_number(output_, entry.key.time_ns);
    append_number(output_, entry.key.rank);
    append_number(output_, entry.size);
    output_.append(records_, entry.begin, entry.size);
    write_out(false);
  }
  write_out(true);
  run.end = file_size_;
  entries_.clear();
  records_.clear();
}

void RecordSorter::write_out(bool is_last) {
  if (output_.size() < write_size && !is_last) {
    return;
  }
  if (!base::write_fully(file_.get(), std::as_bytes(std::span(output_)))) {
    throw base::OutputError(base::describe_errno(
        "cannot write a file for sorting, which needs about as much room as the input, in", directory_, errno));
  }
  file_size_ += output_.size();
  output_.clear();
}

bool RecordSorter::comes_later(std::size_t left, std::size_t right) const {
  const Key& a = runs_[left].key;
  const Key& b = runs_[right].key;
  // Earlier runs hold records that were added earlier.
  return b < a || (!(a < b) && right < left);
}

void RecordSorter::finish() {
  if (runs_.empty()) {
    sort_entries();
    return;
  }
  if (!entries_.empty()) {
    write_run();
  }
  std::vector<Entry>().swap(entries_);
  std::string().swap(records_);
  std::string().swap(output_);
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    advance(runs_[run]);
    heap_.push_back(run);
  }
  std::make_heap(heap_.begin(), heap_.end(), [this](std::size_t a, std::size_t b) { return comes_later(a, b); });
}

bool RecordSorter::next(std::string_view& record) {
  if (runs_.empty()) {
    if (next_entry_ == entries_.size()) {
      return false;
    }
    const Entry& entry = entries_[next_entry_++];
    record = std::string_view(records_).substr(entry.begin, entry.size);
    return true;
  }
  const auto later = [this](std::size_t a, std::size_t b) { return comes_later(a, b); };
  if (has_taken_ && !heap_.empty()) {
    Run& taken = runs_[heap_.back()];
    if (advance(taken)) {
      if (heap_.size() == 1 || !comes_later(heap_.back(), heap_.front())) {
        record = taken.record;  // most often the same run goes on
        return true;
      }
      std::push_heap(heap_.begin(), heap_.end(), later);
    } else {
      taken.buffer = std::string();
      heap_.pop_back();
    }
  }
  has_taken_ = true;
  if (heap_.empty()) {
    return false;
  }
  std::pop_heap(heap_.begin(), heap_.end(), later);
  record = runs_[heap_.back()].record;
  return true;
}

void RecordSorter::fill(Run& run, std::size_t size) {
  const std::size_t held = run.buffer.size() - run.at;
  if (held >= size) {
    return;
  }
  run.buffer.erase(0, run.at);
  run.at = 0;
  const std::size_t share = std::max(least_buffer, memory_ / runs_.size());
  const std::uint64_t wanted = std::min<std::uint64_t>(run.end - run.next, std::max(size, share) - held);
  run.buffer.resize(held + static_cast<std::size_t>(wanted));
  const auto place = std::as_writable_bytes(std::span(run.buffer)).subspan(held);
  errno = 0;
  const std::int64_t count = base::read_fully_at(file_.get(), place, run.next);
  if (count != static_cast<std::int64_t>(wanted) || run.buffer.size() < size) {
    throw base::OutputError(
        base::describe_errno("cannot read the file for sorting in", directory_, errno == 0 ? EIO : errno));
  }
  run.next += wanted;
}

bool RecordSorter::advance(Run& run) {
  if (run.next == run.end && run.at == run.buffer.size()) {
    return false;
  }
  fill(run, head_size);
  const char* const head = run.buffer.data() + run.at;
  run.key = {read_number<std::int64_t>(head), read_number<std::int64_t>(head + 8)};
  const auto size = read_number<std::uint32_t>(head + 16);
  fill(run, head_size + size);
  run.record = std::string_view(run.buffer).substr(run.at + head_size, size);
  run.at += head_size + size;
  return true;
}

}  // namespace kymo::exchange

// Sorts records of any size by time in bounded memory. Records that do not fit are sorted in runs, which are spilled to
// a file.
//
// The file is unnamed and disappears with the process. A run is a sequence of records in sorted order:
//     i64 time, i64 rank, u32 size, and the record's bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/file.hpp"

namespace kymo::exchange {

/// Add records, call finish(), then read them with next(). One thread at a time. Throws OutputError if the file cannot
/// be written or read.
class RecordSorter {
 public:
  /// The sort key: time, then rank. Equal records keep the order in which they were added.
  struct Key {
    std::int64_t time_ns = 0;
    std::int64_t rank = 0;

    [[nodiscard]] bool operator<(const Key& other) const {
      return time_ns != other.time_ns ? time_ns < other.time_ns : rank < other.rank;
    }
  };

  /// Spills runs to a file in this directory. Uses about `memory` bytes plus one record of the largest size.
  RecordSorter(std::string directory, std::size_t memory);

  void add(Key key, std::string_view record);
  /// Call after the last record.
  void finish();
  /// The next record, valid until the next call. False at the end.
  [[nodiscard]] bool next(std::string_view& record);

  [[nodiscard]] std::uint64_t bytes_in_file() const { return file_size_; }

 private:
  struct Entry {
    Key key;
    std::size_t begin = 0;
    std::uint32_t size = 0;
  };
  /// A run that is read back; record_ is its next record.
  struct Run {
    std::uint64_t next = 0;  ///< file offset of the first byte not in the buffer yet
    std::uint64_t end = 0;
    std::string buffer;
    std::size_t at = 0;
    Key key;
    std::string_view record;
  };

  void sort_entries();
  void write_run();
  void write_out(bool is_last);
  /// Makes that many bytes at the run's place available in its buffer.
  void fill(Run& run, std::size_t size);
  /// Reads the run's next record. False at its end.
  bool advance(Run& run);
  [[nodiscard]] bool comes_later(std::size_t left, std::size_t right) const;

  std::string directory_;
  std::size_t memory_;
  std::vector<Entry> entries_;
  std::string records_;
  std::string output_;
  base::FileDescriptor file_;
  std::uint64_t file_size_ = 0;
  std::vector<Run> runs_;
  std::vector<std::size_t> heap_;  ///< runs as a heap by their next records; behind it, the run that next() read from
  std::size_t next_entry_ = 0;
  bool has_taken_ = false;
};

}  // namespace kymo::exchange

// The journal of a grid: a line per completed run, so that an interrupted grid can resume.
//
//     {"journal":1,"plan":"<fingerprint>"}
//     {"setting":"lambda=0.3","repetition":0,"is_warmup":false,"status":"done","metrics":{"wall_time_s":1.5,"energy_j":null}}
//     {"setting":"lambda=0.5","repetition":0,"is_warmup":false,"status":"failed","problem":"..."}
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/system/file.hpp"

namespace kymo::command {

struct JournalEntry {
  std::string setting;
  unsigned repetition = 0;
  bool is_warmup = false;
  std::string problem;                    ///< why it failed; empty: success
  std::map<std::string, double> metrics;  ///< NaN: no value
};

/// One process at a time writes a journal.
class Journal {
 public:
  /// What to do with an existing journal.
  enum class Former { goes_on, is_forgotten };

  /// Opens the journal in a directory or creates it. Throws Failure if the file is not a journal or if another process
  /// is writing it. Unless the journal is to be forgotten, also throws Failure if it is damaged or belongs to another
  /// plan. Removes a truncated last line: that run is repeated.
  Journal(const std::string& path, const std::string& fingerprint, Former former);

  /// Whether an earlier journal was forgotten. The output of its runs may be deleted while this object exists.
  [[nodiscard]] bool has_forgotten() const { return has_forgotten_; }
  /// Whether there was no journal. Any other files in the directory are then not from a grid.
  [[nodiscard]] bool is_new() const { return is_new_; }
  /// All entries; for repeated runs the last attempt.
  [[nodiscard]] const std::vector<JournalEntry>& entries() const { return entries_; }
  /// Adds a line and flushes it to disk.
  void add(const JournalEntry& entry);

 private:
  void require_journal() const;
  void forget();
  void read(const std::string& fingerprint);
  void write_line(const std::string& line);
  void keep(JournalEntry entry);

  std::string path_;
  base::FileDescriptor file_;
  bool has_forgotten_ = false;
  bool is_new_ = false;
  std::vector<JournalEntry> entries_;
  std::map<std::tuple<std::string, unsigned, bool>, std::size_t> places_;  ///< index in entries_
};

}  // namespace kymo::command

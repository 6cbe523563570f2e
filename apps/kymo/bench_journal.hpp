// The journal of a grid run: a line for every run that was done, so that an interrupted grid goes on where it was.
//
//     {"journal":1,"plan":"<fingerprint>"}
//     {"setting":"lambda=0.3","repetition":0,"is_warmup":false,"status":"done","metrics":{"wall_time_s":1.5,"energy_j":null}}
//     {"setting":"lambda=0.5","repetition":0,"is_warmup":false,"status":"failed","problem":"..."}
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/file.hpp"

namespace kymo::command {

struct JournalEntry {
  std::string setting;
  unsigned repetition = 0;
  bool is_warmup = false;
  std::string problem;                    ///< why it failed; empty: it is done
  std::map<std::string, double> metrics;  ///< NaN: it has none
};

/// One process at a time writes a journal.
class Journal {
 public:
  /// What becomes of a journal that is there already.
  enum class Former { goes_on, is_forgotten };

  /// Opens the journal in a directory, or begins one. Failure where it is being written by another process, and, unless
  /// it is to be forgotten, where it is another plan's or damaged. Failure also where the file is no journal. A last
  /// line that was cut off is taken away: that run is done again.
  Journal(const std::string& path, const std::string& fingerprint, Former former);

  /// Whether there was one, which is forgotten: what its runs left may be taken away while this object lives.
  [[nodiscard]] bool has_forgotten() const { return has_forgotten_; }
  /// Whether there was none: whatever else is in the directory, no grid left it there.
  [[nodiscard]] bool is_new() const { return is_new_; }
  /// What is in it; of runs that were tried again the last try.
  [[nodiscard]] const std::vector<JournalEntry>& entries() const { return entries_; }
  /// Adds a line; on disk when this returns.
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
  std::map<std::tuple<std::string, unsigned, bool>, std::size_t> places_;  ///< in entries_
};

}  // namespace kymo::command

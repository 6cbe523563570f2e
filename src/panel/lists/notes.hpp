// Notes: texts at times or ranges of a recording. Views are remembered as notes too.
//
// As text, a line each: the start and the end, in ns since the recording's start, and the note.
//
//     2010000000 2070000000 the cache is cold here
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::panel {

struct Note {
  std::int64_t start_ns = 0;  ///< since the recording's start
  std::int64_t end_ns = 0;    ///< not before the start; equal: a moment
  std::string text;           ///< one line

  friend bool operator==(const Note&, const Note&) = default;
};

class Notes {
 public:
  static constexpr std::size_t most_notes = 10'000;
  static constexpr std::size_t most_text = 500;  ///< bytes

  [[nodiscard]] const std::vector<Note>& all() const { return notes_; }  ///< by ascending start
  /// Adds a note, with the end not before its start and its text on one line.
  void add(Note note);
  void remove(std::size_t place);
  /// Increases with each change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  [[nodiscard]] std::string format() const;
  /// The notes of a text. Lines that are none are left out.
  [[nodiscard]] static Notes parse(std::string_view text);

 private:
  std::vector<Note> notes_;
  std::uint64_t version_ = 0;
};

}  // namespace kymo::panel

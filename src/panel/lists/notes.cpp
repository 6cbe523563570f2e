// Notes: texts at times or ranges of a recording.
#include "panel/lists/notes.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "panel/draw/text.hpp"

namespace kymo::panel {

namespace {

/// Takes a number and the blank behind it off a text. Returns false if there is none.
bool take_number(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

void Notes::add(Note note) {
  if (notes_.size() >= most_notes) {
    return;
  }
  note.end_ns = std::max(note.end_ns, note.start_ns);
  note.text = clean_text(note.text, most_text);
  const auto at = std::upper_bound(notes_.begin(), notes_.end(), note.start_ns,
                                   [](std::int64_t time_ns, const Note& other) { return time_ns < other.start_ns; });
  notes_.insert(at, std::move(note));
  ++version_;
}

void Notes::remove(std::size_t place) {
  if (place < notes_.size()) {
    notes_.erase(notes_.begin() + static_cast<std::ptrdiff_t>(place));
    ++version_;
  }
}

std::string Notes::format() const {
  std::string text;
  for (const Note& note : notes_) {
    text += std::to_string(note.start_ns) + ' ' + std::to_string(note.end_ns) + ' ' + note.text + '\n';
  }
  return text;
}

Notes Notes::parse(std::string_view text) {
  Notes notes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    Note note;
    if (take_number(line, note.start_ns) && take_number(line, note.end_ns)) {
      note.text = line;
      notes.add(std::move(note));
    }
  }
  return notes;
}

}  // namespace kymo::panel

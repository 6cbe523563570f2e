// Chrome trace events, one after the other, out of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/argument.hpp>

#include "exchange/import_losses.hpp"
#include "exchange/json_reader.hpp"

namespace kymo::exchange {

/// A named value of an event: a member of its args, of whatever depth.
struct ChromeArgument {
  std::string_view key;  ///< "a.b" for a member b of an object a
  ArgumentType type = ArgumentType::int64;
  bool is_cut = false;
  std::uint64_t bits = 0;  ///< of a number or boolean
  std::string_view text;   ///< of a string; an array is its JSON
};

/// Appends an argument's value as people read it.
void append_argument_text(std::string& out, const ChromeArgument& argument);

/// The arguments of one event; keeps its memory from event to event.
class ChromeArguments {
 public:
  static constexpr std::size_t most = 256;
  static constexpr std::size_t most_text = std::size_t{64} << 10U;
  static constexpr std::size_t longest_text = 4096;
  static constexpr std::size_t longest_key = 256;

  void clear();
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// Views are good until the next change.
  [[nodiscard]] ChromeArgument operator[](std::size_t index) const;

  void add_number(std::string_view key, ArgumentType type, std::uint64_t bits);
  void add_text(std::string_view key, std::string_view text, bool is_cut);
  [[nodiscard]] bool is_full() const { return entries_.size() == most || text_.size() >= most_text; }

 private:
  struct Entry {
    std::size_t key_begin = 0;
    std::size_t key_size = 0;
    std::size_t text_size = 0;
    ArgumentType type = ArgumentType::int64;
    bool is_cut = false;
    std::uint64_t bits = 0;
  };

  std::vector<Entry> entries_;
  std::string text_;  ///< of each the key and the text
};

/// A time in a trace, in nanoseconds where it is one.
struct ChromeTime {
  enum class Kind : std::uint8_t { missing, sound, unreadable, out_of_range };

  Kind kind = Kind::missing;
  std::int64_t ns = 0;
};

/// Microseconds as they are written, "12.345" or "1.2e3", to nanoseconds: exact, what is finer is rounded. Times beyond
/// 146 years are out of range.
[[nodiscard]] ChromeTime parse_microseconds(std::string_view text);

struct ChromeEvent {
  std::uint64_t offset = 0;  ///< in the file
  std::string phase;
  std::string name;
  std::string category;
  std::string process;  ///< a number or any text, as written
  std::string thread;
  std::string id;
  ChromeTime time;
  ChromeTime duration;
  ChromeArguments arguments;

  void clear();
  /// Whether torch.profiler means work of a GPU by it: its thread is a stream of the device then.
  [[nodiscard]] bool is_of_queue() const;
};

/// Reads a trace. One thread at a time.
class ChromeEventReader {
 public:
  ChromeEventReader(JsonReader::Read read, ImportLosses& losses);

  /// Reads up to the end of the next event; false at the end of the trace. JsonError: nothing can be read after it;
  /// what was read before is sound.
  [[nodiscard]] bool next(ChromeEvent& event);

  /// Facts of the trace read so far: the members of otherData and metadata.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& facts() const { return facts_; }
  /// What torch.profiler says of its times: the wall clock, in nanoseconds since 1970, at time 0. None: 0.
  [[nodiscard]] std::int64_t base_realtime_ns() const { return base_realtime_ns_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return json_.bytes_read(); }
  /// Texts that were not UTF-8.
  [[nodiscard]] std::uint64_t repaired_texts() const { return json_.repaired_texts(); }

 private:
  enum class Place : std::uint8_t { before, in_array, in_root, in_events, after };

  bool begin();
  bool next_member();
  bool next_element(ChromeEvent& event);
  void read_event(ChromeEvent& event);
  void read_text(JsonToken token, std::string& text);
  void read_time(JsonToken token, ChromeTime& time);
  void read_id(JsonToken token, std::string& id);
  /// Adds a value and what is inside of it; `key` is its key and comes back unchanged.
  void read_argument(JsonToken token, std::string& key, ChromeArguments& arguments);
  void copy_json(JsonToken token, std::string& out);
  void read_base_time(JsonToken token);
  /// Members of an object as facts, their names behind `prefix`.
  void read_facts(JsonToken token, const std::string& prefix);
  [[nodiscard]] bool is_unclosed_array(const JsonError& error) const;

  JsonReader json_;
  ImportLosses& losses_;
  Place place_ = Place::before;
  std::string key_;
  std::string json_text_;
  std::int64_t base_realtime_ns_ = 0;
  ChromeArguments fact_arguments_;
  std::vector<std::pair<std::string, std::string>> facts_;
};

/// The number that a text is, all of it: an integer where it is one that fits.
struct ParsedNumber {
  bool is_number = false;
  ArgumentType type = ArgumentType::int64;
  std::uint64_t bits = 0;

  [[nodiscard]] double as_double() const;
};
[[nodiscard]] ParsedNumber parse_json_number(std::string_view text);

}  // namespace kymo::exchange

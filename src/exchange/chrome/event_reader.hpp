// Reads Chrome trace events one by one from JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/argument.hpp>

#include "exchange/import/json_reader.hpp"
#include "exchange/import/losses.hpp"

namespace kymo::exchange {

/// A named value of an event: a member of its args at any depth.
struct ChromeArgument {
  std::string_view key;  ///< "a.b" for a member b of an object a
  ArgumentType type = ArgumentType::int64;
  bool is_cut = false;
  std::uint64_t bits = 0;  ///< value of a number or boolean
  std::string_view text;   ///< value of a string; JSON of an array
};

/// Appends an argument's value in readable form.
void append_argument_text(std::string& out, const ChromeArgument& argument);

/// The arguments of one event. Reuses its memory for the next event.
class ChromeArguments {
 public:
  static constexpr std::size_t most = 256;
  static constexpr std::size_t most_text = std::size_t{64} << 10U;
  static constexpr std::size_t longest_text = 4096;
  static constexpr std::size_t longest_key = 256;

  void clear();
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// Views are valid until the next change.
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
  std::string text_;  ///< key and text of each argument
};

/// A time in a trace, in nanoseconds if it is valid.
struct ChromeTime {
  enum class Kind : std::uint8_t { missing, sound, unreadable, out_of_range };

  Kind kind = Kind::missing;
  std::int64_t ns = 0;
};

/// Converts microseconds as written, "12.345" or "1.2e3", to nanoseconds. Exact; finer digits are rounded. Times beyond
/// 146 years are out of range.
[[nodiscard]] ChromeTime parse_microseconds(std::string_view text);

struct ChromeEvent {
  std::string phase;
  std::string name;
  std::string category;
  std::string process;  ///< a number or any text, as written
  std::string thread;
  std::string id;
  std::string lane;         ///< of an instant or a flow point that is on no thread: its track's name
  bool is_on_lane = false;  ///< Chrome's own events never are
  ChromeTime time;
  ChromeTime duration;
  ChromeArguments arguments;

  void clear();
  /// Whether it is GPU work, as torch.profiler and nsys write it. Its thread is then a stream of the device.
  [[nodiscard]] bool is_of_queue() const;
};

/// Ends a name that was cut at 64 KiB with a hash of its rest, so that different names stay different, and counts it.
void append_rest_of_name(std::string& name, std::uint64_t rest_hash, ImportLosses& losses);

/// Gives the events of a trace, whose format need not be Chrome's. One thread at a time.
class TraceEventSource {
 public:
  virtual ~TraceEventSource() = default;

  /// Reads the next event. Returns false at the end of the trace. After a MalformedInput, which has the byte where
  /// reading cannot go on, nothing more can be read; everything read before is valid.
  [[nodiscard]] virtual bool next(ChromeEvent& event) = 0;
  /// The facts of the recording read so far.
  [[nodiscard]] virtual const std::vector<std::pair<std::string, std::string>>& facts() const = 0;
  /// The wall clock at time 0, in nanoseconds since 1970. 0 if not stated.
  [[nodiscard]] virtual std::int64_t base_realtime_ns() const = 0;
  /// Number of texts that were not UTF-8.
  [[nodiscard]] virtual std::uint64_t repaired_texts() const = 0;
};

/// Reads a trace. One thread at a time.
class ChromeEventReader : public TraceEventSource {
 public:
  ChromeEventReader(JsonReader::Read read, ImportLosses& losses);

  [[nodiscard]] bool next(ChromeEvent& event) override;
  /// The members of otherData and metadata.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& facts() const override { return facts_; }
  /// As stated by torch.profiler.
  [[nodiscard]] std::int64_t base_realtime_ns() const override { return base_realtime_ns_; }
  [[nodiscard]] std::uint64_t repaired_texts() const override { return json_.repaired_texts(); }

 private:
  enum class Place : std::uint8_t { before, in_array, in_root, in_events, after };

  bool begin();
  bool next_member();
  bool next_element(ChromeEvent& event);
  void read_event(ChromeEvent& event);
  void read_text(JsonToken token, std::string& text);
  void read_time(JsonToken token, ChromeTime& time);
  void read_id(JsonToken token, std::string& id);
  /// Adds a value and everything nested in it. `key` is its key and is restored on return.
  void read_argument(JsonToken token, std::string& key, ChromeArguments& arguments);
  void copy_json(JsonToken token, std::string& out);
  void read_base_time(JsonToken token);
  /// Adds the members of an object as facts; `prefix` precedes their names.
  void read_facts(JsonToken token, const std::string& prefix);
  [[nodiscard]] bool is_unclosed_array(const MalformedInput& error) const;

  JsonReader json_;
  ImportLosses& losses_;
  Place place_ = Place::before;
  bool has_events_ = false;  // of a trace that is an object
  std::string key_;
  std::string json_text_;
  std::int64_t base_realtime_ns_ = 0;
  ChromeArguments fact_arguments_;
  std::vector<std::pair<std::string, std::string>> facts_;
};

/// A text parsed completely as a number: an integer if it is one and fits.
struct ParsedNumber {
  bool is_number = false;
  ArgumentType type = ArgumentType::int64;
  std::uint64_t bits = 0;

  [[nodiscard]] double as_double() const;
};
[[nodiscard]] ParsedNumber parse_json_number(std::string_view text);

}  // namespace kymo::exchange

// Reads Perfetto's track events one by one, in the form that the events of Chrome traces have.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exchange/chrome/event_reader.hpp"
#include "exchange/import/input.hpp"
#include "exchange/import/losses.hpp"

namespace kymo::exchange {

/// Whether these first bytes of a file look like Perfetto's protobuf.
[[nodiscard]] bool is_perfetto_trace(std::string_view first);

/// Reads a trace packet by packet. Holds one packet of at most 16 MiB, the descriptors of at most 65,536 tracks, and at
/// most 64 MiB of interned texts. One thread at a time.
class PerfettoEventReader : public TraceEventSource {
 public:
  PerfettoEventReader(ImportInput& input, ImportLosses& losses) : input_(input), losses_(losses) {}

  [[nodiscard]] bool next(ChromeEvent& event) override;
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& facts() const override { return facts_; }
  [[nodiscard]] std::int64_t base_realtime_ns() const override { return base_realtime_ns_; }
  [[nodiscard]] std::uint64_t repaired_texts() const override { return repaired_texts_; }

 private:
  enum Interned : std::size_t { categories, names, annotation_names, string_values, interned_kinds };
  struct Clock {
    std::int64_t last_ns = 0;  ///< of an incremental clock
    std::int64_t multiplier = 1;
    bool is_incremental = false;
    bool is_joined = false;
    std::int64_t offset_ns = 0;  ///< trace's clock minus this one
  };
  /// What the packets of one writer refer to.
  struct Sequence {
    bool has_state = false;
    std::uint64_t clock = 0;
    std::uint64_t track = 0;
    std::uint64_t own_track = 0;  ///< of a thread descriptor beside the events
    std::array<std::unordered_map<std::uint64_t, std::string>, interned_kinds> texts;
    std::size_t text_bytes = 0;
  };
  struct Track {
    bool is_thread = false;
    bool is_process = false;
    std::string pid;
    std::string tid;
    std::string name;
    std::uint64_t parent = 0;
    std::string unit;
    double multiplier = 1;
    bool is_incremental = false;
    double value = 0;  ///< of an incremental counter
    bool is_in_frame = false;
    ChromeEvent frame;  ///< the frame that is open; its end follows
  };
  /// The parts of a packet that matter.
  struct Packet {
    std::uint64_t sequence = 0;
    std::uint64_t flags = 0;
    std::uint64_t clock = 0;
    std::uint64_t timestamp = 0;
    bool has_time = false;
    bool is_after_loss = false;
    std::string_view defaults, interned, event, track, snapshot, process, thread, tree;
  };

  bool read_packet();
  [[nodiscard]] std::size_t read_exactly(char* bytes, std::size_t size);
  [[nodiscard]] std::uint64_t read_varint();
  [[noreturn]] void fail(const std::string& what) const;
  void take_packet(std::string_view bytes);
  void take_defaults(Sequence& sequence, std::string_view bytes);
  void take_interned(Sequence& sequence, std::string_view bytes);
  void take_snapshot(std::uint64_t sequence, std::string_view bytes);
  void take_track(std::string_view bytes);
  void take_process(Track& track, std::string_view bytes);
  void take_thread(Track& track, std::string_view bytes);
  void take_counter(Track& track, std::string_view bytes);
  void take_tree(std::string_view bytes);
  void take_event(const Packet& packet, Sequence& sequence, ChromeTime time);
  void take_annotation(Sequence& sequence, ChromeEvent& event, std::string key, std::string_view bytes,
                       std::size_t depth);
  void take_legacy(ChromeEvent& event, std::string_view bytes);
  void place(ChromeEvent& event, std::uint64_t uuid, Track*& track);
  void take_counter_value(ChromeEvent& event, Track& track, double value);
  /// Begins or ends a slice of a track. Returns false if there is nothing to pass on yet.
  bool place_slice(ChromeEvent& event, Track& track, std::uint64_t uuid, bool is_begin);
  void add_flow(const ChromeEvent& at, std::uint64_t id, bool is_last);
  void forget_texts(Sequence& sequence);
  [[nodiscard]] ChromeTime time_of(const Packet& packet, const Sequence& sequence);
  [[nodiscard]] std::string_view text_of(const Sequence& sequence, Interned kind, std::uint64_t iid);
  [[nodiscard]] std::string name_of(std::string_view bytes);
  ChromeEvent& add_event();
  void add_metadata(std::string_view name, const Track& track, std::string_view text);

  ImportInput& input_;
  ImportLosses& losses_;
  std::uint64_t offset_ = 0;
  std::string packet_;
  std::vector<ChromeEvent> ready_;
  std::size_t ready_count_ = 0;
  std::size_t next_ready_ = 0;
  std::map<std::uint64_t, Sequence> sequences_;
  std::unordered_map<std::uint64_t, Track> tracks_;
  std::map<std::uint64_t, Clock> clocks_;
  std::uint64_t trace_clock_ = 0;
  std::size_t text_bytes_ = 0;
  std::unordered_set<std::uint64_t> flows_;
  std::vector<std::pair<std::string, std::string>> facts_;
  std::int64_t base_realtime_ns_ = 0;
  std::uint64_t repaired_texts_ = 0;
};

}  // namespace kymo::exchange

#include "capture/merge/merge.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <system_error>
#include <tuple>
#include <type_traits>

#include "base/append.hpp"
#include "base/event_lists.hpp"
#include "capture/merge/batch_joiner.hpp"
#include "capture/merge/clock_alignment.hpp"
#include "capture/merge/id_translation.hpp"
#include "capture/merge/redaction.hpp"
#include "capture/read/source_losses.hpp"

namespace kymo::capture {

namespace {

constexpr const char* undeclared = "(undeclared)";

/// One capture of a merge.
struct Input {
  explicit Input(const std::filesystem::path& path) : reader(path.string()) {}

  [[nodiscard]] std::size_t block_count() const { return blocks.size() + unwritten.size(); }
  [[nodiscard]] std::int64_t end_ns() const {
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
    for (const BlockInfo& block : blocks) {
      end_ns = std::max(end_ns, block.end_ns);
    }
    for (const EventBatch& batch : unwritten) {
      end_ns = std::max(end_ns, batch.end_ns);
    }
    return add_times(end_ns, shift.offset_ns);
  }
  [[nodiscard]] std::int64_t start_ns(std::size_t block) const {
    return add_times(block < blocks.size() ? blocks[block].start_ns : unwritten[block - blocks.size()].start_ns,
                     shift.offset_ns);
  }

  CaptureReader reader;
  ClockShift shift;
  IdTranslation ids;
  std::vector<BlockInfo> blocks;  // of events
  std::vector<EventBatch> unwritten;
  TrackId trackless;  // stands for its threads without a track
  ProcessId process;  // its first process, which owns everything undeclared
};

class Merging {
 public:
  explicit Merging(const MergeOptions& options) : options_(options), axis_(options.align_by_sync_points) {}

  void open(const std::filesystem::path& path);
  void state_ends();
  void add_facts();
  MergeReport run(const std::filesystem::path& output);

 private:
  void declare(Input& input, const Declarations& own);
  void find_process(Input& input, const Declarations& own) const;
  void state_shift(const Input& input, const Declarations& shared);
  void note_ends(const Input& input);
  bool read(Input& input, std::size_t block, EventBatch& batch);
  std::uint32_t declare_placeholder(Input& input, IdKind kind, std::uint32_t own, Declarations& declarations);
  TrackId trackless(Input& input, Declarations& declarations);
  void copy_events(CaptureWriter& writer);
  void write(CaptureWriter& writer);
  void note_losses(Input& input, Declarations& declarations);
  void close(CaptureWriter& writer);
  [[nodiscard]] CaptureHeader header() const;

  const MergeOptions& options_;
  ClockAxis axis_;
  Numbering numbering_;
  Declarations declarations_;
  std::vector<std::unique_ptr<Input>> inputs_;
  EventRedaction redaction_;
  std::map<ProcessId, std::int64_t> ends_ns_;  // of the processes' captures
  BatchJoiner joiner_;
  MergeReport report_;
  std::size_t blocks_in_all_ = 0;
};

void Merging::open(const std::filesystem::path& path) {
  inputs_.push_back(std::make_unique<Input>(path));
  Input& input = *inputs_.back();
  if (!input.reader.is_closed() && options_.find_unwritten) {
    input.unwritten = options_.find_unwritten(input.reader);
  }
  input.shift = axis_.place(inputs_.front()->reader, input.reader);
  for (const BlockInfo& block : input.reader.blocks()) {
    if (block.kind == BlockKind::events) {
      input.blocks.push_back(block);
    }
  }
  find_process(input, input.reader.declarations());
  declare(input, input.reader.declarations());
  for (const EventBatch& batch : input.unwritten) {
    declare(input, batch.declarations);
  }
  note_ends(input);
  blocks_in_all_ += input.block_count();
}

/// What a process observed of others, without threads of its own, joins the capture that the process recorded beside
/// it. What is missing in a file that was not closed is no sign of such a capture: the process itself recorded there.
void Merging::find_process(Input& input, const Declarations& own) const {
  const auto is_thread = [](const TrackDeclaration& track) { return track.kind == TrackKind::thread; };
  if (std::any_of(own.tracks.begin(), own.tracks.end(), is_thread) || !own.sites.empty()) {
    return;
  }
  for (const ProcessDeclaration& process : own.processes) {
    if (!input.reader.is_closed() && process.pid == input.reader.header().owner_pid) {
      continue;
    }
    const auto known = std::find_if(
        declarations_.processes.begin(), declarations_.processes.end(), [&process](const ProcessDeclaration& other) {
          return other.pid == process.pid && other.boot_id == process.boot_id && other.host == process.host;
        });
    if (known != declarations_.processes.end()) {
      input.ids.assign(IdKind::process, process.id.value(), known->id.value());
    }
  }
}

void Merging::declare(Input& input, const Declarations& own) {
  const Declarations shared = input.ids.declare(own, numbering_);
  base::append(declarations_, shared);
  if (!input.process && !shared.processes.empty()) {
    input.process = shared.processes.front().id;
  }
  if (!own.processes.empty()) {
    state_shift(input, shared);
  }
}

/// Notes the shift of the input's processes, added to the shift of an earlier merge.
void Merging::state_shift(const Input& input, const Declarations& shared) {
  if (input.shift.alignment == Alignment::same_boot) {
    return;
  }
  std::map<ProcessId, ClockShift> shifts;
  for (const ProcessDeclaration& process : shared.processes) {
    shifts[process.id] = input.shift;
  }
  for (const InfoDeclaration& info : shared.infos) {
    const auto shift = shifts.find(info.process);
    if (shift == shifts.end()) {
      continue;
    }
    ClockShift& sum = shift->second;
    if (info.key == offset_key) {
      sum.offset_ns = add_times(sum.offset_ns, std::strtoll(info.value.c_str(), nullptr, 10));
    } else if (info.key == bound_key) {
      const std::int64_t earlier_ns = std::strtoll(info.value.c_str(), nullptr, 10);
      sum.bound_ns = sum.bound_ns < 0 || earlier_ns < 0 ? -1 : add_times(sum.bound_ns, earlier_ns);
    } else if (info.key == aligned_by_key && sum.alignment != Alignment::none) {
      sum.alignment = alignment_of(info.value);
    }
  }
  for (const auto& [process, shift] : shifts) {
    declarations_.infos.push_back({process, aligned_by_key, std::string(name_of(shift.alignment))});
    declarations_.infos.push_back({process, offset_key, std::to_string(shift.offset_ns)});
    declarations_.infos.push_back({process, bound_key, std::to_string(shift.bound_ns)});
  }
}

/// A merge has several processes, whose captures ended at different times.
void Merging::note_ends(const Input& input) {
  const auto note = [&](ProcessId own, std::int64_t end_ns) {
    const ProcessId process = input.ids.find(own);
    if (process) {
      const auto [known, is_new] = ends_ns_.try_emplace(process, end_ns);
      known->second = std::max(known->second, end_ns);
    }
  };
  const std::uint64_t owner = input.reader.header().owner_pid;
  for (const ProcessDeclaration& process : input.reader.declarations().processes) {
    if (owner != 0 && process.pid == owner && input.block_count() != 0) {
      note(process.id, input.end_ns());
    }
  }
  for (const InfoDeclaration& info : input.reader.declarations().infos) {
    if (owner == 0 && info.key == end_key) {
      note(info.process, add_times(std::strtoll(info.value.c_str(), nullptr, 10), input.shift.offset_ns));
    }
  }
}

void Merging::state_ends() {
  for (const auto& [process, end_ns] : ends_ns_) {
    declarations_.infos.push_back({process, end_key, std::to_string(end_ns)});
  }
}

void Merging::add_facts() {
  for (const MergeOptions::Facts& facts : options_.facts) {
    const auto known = std::find_if(
        declarations_.processes.begin(), declarations_.processes.end(), [&facts](const ProcessDeclaration& process) {
          return process.pid == facts.process.pid && process.boot_id == facts.process.boot_id;
        });
    ProcessId id;
    if (known == declarations_.processes.end()) {
      ProcessDeclaration process = facts.process;
      process.id = id = numbering_.next<ProcessId>();
      declarations_.processes.push_back(std::move(process));
    } else {
      id = known->id;
    }
    for (const auto& [key, value] : facts.infos) {
      declarations_.infos.push_back({id, key, value});
    }
  }
}

/// Events refer to none of IdKind::process, module and function.
std::uint32_t Merging::declare_placeholder(Input& input, IdKind kind, std::uint32_t own, Declarations& declarations) {
  if (!input.process) {
    input.process = numbering_.next<ProcessId>();
    declarations.processes.emplace_back().id = input.process;
  }
  // Each undeclared id gets an id of its own, so that different ones stay distinct; interned texts share one.
  const std::uint32_t id = kind == IdKind::name ? numbering_.name(undeclared).value() : numbering_.next(kind);
  input.ids.assign(kind, own, id);
  const auto declare = [&]<typename Row>(std::vector<Row>& rows) {
    if constexpr (!std::is_same_v<Row, InfoDeclaration>) {
      if (decltype(Row::id)::kind == kind) {
        Row& row = rows.emplace_back();
        row.id = decltype(Row::id){id};
        if constexpr (requires { row.process; }) {
          row.process = input.process;
        }
        if constexpr (std::is_same_v<Row, NameDeclaration>) {
          row.text = undeclared;
        } else if constexpr (requires { row.name; } && !std::is_same_v<Row, ThreadDeclaration>) {
          row.name = undeclared;  // a thread may go without
        }
      }
    }
  };
  base::for_each_declaration_list(declare, declarations);
  return id;
}

/// The track that stands for an input's threads without one.
TrackId Merging::trackless(Input& input, Declarations& declarations) {
  if (!input.trackless) {
    input.trackless = TrackId{declare_placeholder(input, IdKind::track, 0, declarations)};
    declarations.tracks.back().name = "(threads without a track)";
  }
  return input.trackless;
}

bool Merging::read(Input& input, std::size_t block, EventBatch& batch) {
  if (block >= input.blocks.size()) {
    batch = std::move(input.unwritten[block - input.blocks.size()]);
  } else if (!input.reader.read(input.blocks[block], batch)) {
    return false;
  }
  Declarations placeholders;
  // From then on a placeholder serves all uses of its id.
  input.ids.translate(batch, [&](IdKind kind, std::uint32_t own) {
    const std::uint32_t known = input.ids.find(kind, own);
    return known != 0 ? known : declare_placeholder(input, kind, own, placeholders);
  });
  // Losses of threads without a track would share one count for several processes, and later counts would replace
  // earlier ones. So each input gets a track for them.
  for (ScopeRun& run : batch.runs) {
    if (!run.track) {
      run.track = trackless(input, placeholders);
    }
  }
  batch.declarations = std::move(placeholders);
  shift_times(batch, input.shift.offset_ns);
  if (options_.redacts) {
    redaction_.redact(batch);
  }
  if (input.shift.alignment != Alignment::same_boot) {
    batch.clock_anchors.clear();  // they belong to another machine's clock
  }
  return true;
}

void Merging::write(CaptureWriter& writer) {
  if (!joiner_.empty()) {
    writer.write(joiner_.take());
  }
}

/// Copies the events of all inputs, block by block in order of their start, each input's blocks in its own order.
void Merging::copy_events(CaptureWriter& writer) {
  using Next = std::tuple<std::int64_t, std::size_t, std::size_t>;  // start, input, block
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i]->block_count() != 0) {
      queue.emplace(inputs_[i]->start_ns(0), i, 0);
    }
  }
  EventBatch batch;
  std::size_t done = 0;
  while (!queue.empty()) {
    const auto [start_ns, index, block] = queue.top();
    queue.pop();
    Input& input = *inputs_[index];
    if (read(input, block, batch)) {
      for (const ScopeRun& run : batch.runs) {
        report_.scopes += static_cast<std::uint64_t>(std::count_if(
            run.events.begin(), run.events.end(), [](const ScopeEvent& event) { return event.is_open(); }));
      }
      if (!joiner_.fits(batch)) {
        write(writer);
      }
      joiner_.add(batch);
    }
    if (block + 1 < input.block_count()) {
      queue.emplace(input.start_ns(block + 1), index, block + 1);
    }
    if (options_.on_progress) {
      options_.on_progress(static_cast<double>(++done) / static_cast<double>(blocks_in_all_));
    }
  }
  write(writer);
}

CaptureHeader Merging::header() const {
  CaptureHeader header;
  for (const auto& input : inputs_) {
    const CaptureHeader& own = input->reader.header();
    if (header.recorder.empty()) {
      header.recorder = own.recorder;
      header.clock_source = own.clock_source;
    }
    header.clock_step_ns = std::max(header.clock_step_ns, own.clock_step_ns);
  }
  if (header.recorder.empty()) {
    header.recorder = options_.recorder;
  }
  return header;
}

/// Once its events were read, all damage that matters is known.
void Merging::note_losses(Input& input, Declarations& declarations) {
  // A block cut off by a kill: its events were found in memory.
  const bool is_end_found = !input.unwritten.empty();
  const std::vector<Damage> damages = damages_of(input.reader, is_end_found);
  for (const Damage& damage : damages) {
    report_.notes.push_back(input.reader.path() + ": at byte " + std::to_string(damage.offset) + ", " +
                            std::to_string(damage.size) + " bytes: " + damage.what);
  }
  const bool lacks_end = !input.reader.is_closed() && !is_end_found;
  if (!input.process && (lacks_end || !damages.empty())) {
    input.process = declarations.processes.emplace_back().id = numbering_.next<ProcessId>();
  }
  // A process may have several captures here.
  for (InfoDeclaration& fact : describe_losses(input.process, damages, lacks_end, declarations_.infos)) {
    declarations.infos.push_back(fact);
    declarations_.infos.push_back(std::move(fact));
  }
}

/// Writes the closing words: sums over the inputs, and the greatest of what each scope costs.
void Merging::close(CaptureWriter& writer) {
  std::map<std::string, std::uint64_t> facts;
  EventBatch losses;
  for (const auto& input : inputs_) {
    for (const auto& [key, value] : input->reader.end().facts) {
      std::uint64_t& fact = facts[key];
      fact = key == "empty_scope_ps" ? std::max(fact, value) : fact + value;
    }
    std::vector<TrackTotals> stated = input->reader.end().tracks;
    for (TrackTotals& totals : stated) {
      totals.track = totals.track ? input->ids.find(totals.track) : input->trackless;
    }
    std::erase_if(stated, [](const TrackTotals& totals) { return !totals.track; });
    writer.keep_drops(stated);
    note_losses(*input, losses.declarations);
  }
  writer.write(losses);
  for (const auto& [key, value] : facts) {
    writer.set_closing_fact(key, value);
  }
  writer.finish();
}

MergeReport Merging::run(const std::filesystem::path& output) {
  CaptureWriterOptions options = make_repack_options();
  options.header = header();
  if (options_.redacts) {
    redact(declarations_);
    redaction_.learn(declarations_);
  }
  options.declarations = declarations_;
  options.codec = make_zstd_codec(options_.compression_level);
  CaptureWriter writer(output.string(), std::move(options));
  report_.output = writer.path();
  try {
    copy_events(writer);
    close(writer);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(report_.output, ignored);
    throw;
  }
  report_.bytes = writer.bytes_written();
  return std::move(report_);
}

}  // namespace

CaptureWriterOptions make_repack_options() {
  CaptureWriterOptions options;
  options.codec = make_zstd_codec();
  options.summary_intervals.most_blocks = 256;
  options.summary_intervals.enough_events = 1U << 23U;
  return options;
}

MergeReport merge(std::span<const std::filesystem::path> inputs, const std::filesystem::path& output,
                  const MergeOptions& options) {
  Merging merging(options);
  for (const std::filesystem::path& path : inputs) {
    merging.open(path);
  }
  merging.state_ends();
  merging.add_facts();
  return merging.run(output);
}

}  // namespace kymo::capture

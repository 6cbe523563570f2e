#include "capture/recover/recovery.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "capture/format/codec.hpp"
#include "capture/format/frame_breaks.hpp"
#include "capture/read/source_losses.hpp"
#include "capture/summary/scope_walk.hpp"
#include "capture/write/block_ring.hpp"
#include "capture/write/capture_writer.hpp"
#include "capture/write/destination.hpp"

namespace kymo::capture {

namespace {

/// Notes how far a run goes, and the scopes that it leaves open.
void follow(const ScopeRun& run, TrackResume& resume) {
  resume.end_sequence = std::max(resume.end_sequence, run.end_sequence);
  resume.last_ns = run.events.empty() ? resume.last_ns : run.events.back().time_ns;
  resume.open = open_at_end(run);
}

void follow_async(const EventBatch& batch, record::AsyncSpans& spans) {
  for (const AsyncBegin& begin : batch.async_begins) {
    spans.restore(begin);
  }
  for (const SpanEvent& span : batch.spans) {
    spans.forget(span.async_id);
  }
}

/// Adds the events of a capture to the coverage, and passes each batch on.
void extend(CaptureCoverage& coverage, const CaptureReader& capture,
            const std::function<void(const EventBatch&)>& on_batch) {
  EventBatch batch;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind != BlockKind::events) {
      continue;
    }
    coverage.has_begun = true;
    if (!capture.read(block, batch)) {
      continue;
    }
    // A batch names every track with open scopes; all other tracks have none.
    for (auto& [track, resume] : coverage.tracks) {
      resume.open.clear();
    }
    for (const ScopeRun& run : batch.runs) {
      follow(run, coverage.tracks[run.track]);
      if (run.track == unwritten_track) {
        coverage.unwritten.dropped_scopes = std::max(coverage.unwritten.dropped_scopes, run.dropped_scopes);
        coverage.unwritten.dropped_others = std::max(coverage.unwritten.dropped_others, run.dropped_others);
      }
    }
    follow_async(batch, coverage.async_spans);
    on_batch(batch);
  }
}

/// A flight recorder's blocks, as a separate capture.
std::vector<std::byte> as_capture(const HeldBlocks& held) {
  std::vector<std::byte> bytes;
  const auto preamble = encode_preamble();
  bytes.assign(preamble.begin(), preamble.end());
  for (const std::vector<std::byte>& block : held.blocks) {
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  return bytes;
}

uid_t owner_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_uid : this_user;
}

/// Opens a capture and locks it against concurrent recoveries. Waits for a running one, then opens the file that
/// replaced the capture.
base::FileDescriptor lock_for_recovery(const std::string& path, bool is_replaced) {
  for (;;) {
    base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file && (!is_replaced || errno == ENOENT)) {
      return base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    }
    if (!file) {
      throw RecoveryError(base::describe_errno("cannot open the capture for writing", path, errno) +
                          "; -o writes the recovered one elsewhere");
    }
    static_cast<void>(base::lock_byte(file.get(), recovery_lock_byte, true));
    if (base::is_file(file.get(), base::id_of(path))) {
      return file;
    }
  }
}

/// Flushes a rename to stable storage.
void sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const base::FileDescriptor file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  static_cast<void>(!file || ::fsync(file.get()) == 0);
}

/// A recovery's output until it gets its final name. First removes the partial files of killed recoveries.
class PartialCapture {
 public:
  explicit PartialCapture(std::string target) : target_(std::move(target)) { remove_stale(); }
  PartialCapture(const PartialCapture&) = delete;
  PartialCapture& operator=(const PartialCapture&) = delete;
  ~PartialCapture() {
    if (!path_.empty()) {
      ::unlink(path_.c_str());
    }
  }

  std::unique_ptr<BlockDestination> create() {
    auto file = std::make_unique<FileDestination>(target_ + ending);
    path_ = file->name();
    return file;
  }

  /// Copies the capture's mode and, as far as permitted, its owner.
  void look_like(int capture) const {
    struct stat status {};
    const base::FileDescriptor file(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!file || ::fstat(capture, &status) != 0) {
      return;
    }
    mode_t mode = status.st_mode & 0777U;
    if (::fchown(file.get(), status.st_uid, status.st_gid) != 0 &&
        ::fchown(file.get(), static_cast<uid_t>(-1), status.st_gid) != 0) {
      // Members of another group were not allowed to read it.
      mode &= 0707U;
    }
    static_cast<void>(::fchmod(file.get(), mode));
  }

  void rename(bool replaces) {
    const int result =
        replaces ? ::rename(path_.c_str(), target_.c_str()) : base::rename_to_new(path_.c_str(), target_.c_str());
    if (result != 0) {
      throw WriteError(base::describe_errno("cannot rename the recovered capture to", target_, errno));
    }
    path_.clear();
    sync_directory_of(target_);
  }

 private:
  static constexpr const char* ending = ".recovering";

  /// Removes captures such as "run.kymo.recovering" and "run.kymo-1.recovering" beside run.kymo if nobody is writing
  /// them.
  void remove_stale() const {
    const std::filesystem::path target(target_);
    const std::string stem = target.filename().string();
    const std::string end = ending;
    std::error_code error;
    const auto directory = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
    for (std::filesystem::directory_iterator entry(directory, error), last; !error && entry != last;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.size() < stem.size() + end.size() || !name.starts_with(stem) || !name.ends_with(end)) {
        continue;
      }
      const std::string middle = name.substr(stem.size(), name.size() - stem.size() - end.size());
      const bool is_numbered =
          middle.size() > 1 && middle[0] == '-' && middle.find_first_not_of("0123456789", 1) == std::string::npos;
      if ((middle.empty() || is_numbered) && is_abandoned(entry->path().string())) {
        ::unlink(entry->path().c_str());
      }
    }
  }

  static bool is_abandoned(const std::string& path) {
    const base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    const auto preamble = encode_preamble();
    std::array<std::byte, preamble_size> begin{};
    return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
           base::lock_byte(file.get(), writer_lock_byte) == base::LockOutcome::taken &&
           base::read_exactly_at(file.get(), begin, 0) && begin == preamble;
  }

  std::string target_;
  std::string path_;
};

/// The spool of a capture whose process is gone, or the reason why there is none.
struct LeftSpool {
  std::string path;
  std::string trouble;        ///< why it is not read; the missing events stay in it
  std::string loss;           ///< why the missing events are lost
  bool is_of_others = false;  ///< by now it belongs to another capture
  base::FileDescriptor lock;  ///< keeps sweeps and other recoveries away
  std::optional<SpoolReader> reader;
};

/// Waits for a sweep or another recovery to release the spool, which takes a short time.
void lock_spool(int file) {
  for (int attempt = 0; attempt < 2000 && base::lock_byte(file, 0) == base::LockOutcome::refused; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

LeftSpool explain_absence(const CaptureReader& capture, const std::string& directory) {
  LeftSpool left;
  const std::string device = fact_of(capture, spool_device_key);
  const auto& processes = capture.declarations().processes;
  if (device == private_memory) {
    left.loss = "its process kept events in private memory: those that it had not written yet, if any, went with it";
    return left;
  }
  // Checked before device numbers are compared, as these repeat after each boot.
  if (!processes.empty() && !processes.front().boot_id.empty() && processes.front().boot_id != base::boot_id()) {
    left.loss =
        capture.header().spool_id.empty()
            ? std::string()
            : "its process ran on another machine, or before this one restarted: events that it had not written "
              "yet, if any, were in shared memory there";
    return left;
  }
  if (device == held_memory) {
    left.trouble =
        "its `kymo record` holds what it had not written yet, and puts it together at its end; where it was killed as "
        "well, that is lost";
    return left;
  }
  struct stat status {};
  const bool is_gone = ::stat(directory.c_str(), &status) == 0 && device == std::to_string(status.st_dev);
  if (!capture.header().spool_id.empty() && !is_gone) {
    left.trouble = "its spool is not in " + directory +
                   " as seen from here: its process had shared memory of its own, as in a container; recover it there";
  }
  return left;  // a spool that was deleted held nothing that the file lacks
}

/// `capture` is closed, or its process is gone.
LeftSpool find_left_spool(const CaptureReader& capture, const std::string& directory) {
  const std::string& id = capture.header().spool_id;
  SpoolFile file = find_spool_file(id, directory, owner_of(capture.path()));
  LeftSpool left;
  left.path = file.path;
  switch (file.state) {
    case SpoolFile::State::absent:
      return explain_absence(capture, directory);
    case SpoolFile::State::unreadable:
      left.trouble = file.trouble;
      return left;
    case SpoolFile::State::living:
      left.trouble = "its process is still running";
      left.is_of_others = true;
      return left;
    case SpoolFile::State::dead:
      break;
  }
  lock_spool(file.file.get());
  left.lock = std::move(file.file);
  base::FileDescriptor copy(::fcntl(left.lock.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) {
    left.trouble = base::describe_errno("cannot open the spool", left.path, errno);
    return left;
  }
  left.reader = SpoolReader::read(std::move(copy));
  if (!left.reader || left.reader->id() != id) {
    left.reader.reset();
    left.trouble =
        "the spool " + left.path + " is damaged, or of another version of kymo: use the one that recorded it";
    return left;
  }
  left.is_of_others = capture.is_closed() && !left.reader->is_needless() &&
                      base::resolve_links(left.reader->capture_path()) != base::resolve_links(capture.path());
  return left;
}

std::vector<std::string> fold_in(const CaptureReader& capture, const SpoolReader& spool, const std::string& directory,
                                 const std::function<void(const EventBatch&)>& on_batch) {
  CaptureCoverage coverage;
  coverage.has_begun = false;
  extend(coverage, capture, [](const EventBatch&) {});
  const HeldBlocks held = read_block_ring(capture.header().spool_id, directory, owner_of(capture.path()));
  const std::vector<std::byte> bytes = as_capture(held);
  bool follows_loss = held.follow_lost_ones;
  extend(coverage, CaptureReader(bytes.data(), bytes.size(), "flight recorder"), [&](const EventBatch& batch) {
    if (!std::exchange(follows_loss, false)) {
      on_batch(batch);
      return;
    }
    EventBatch broken = batch;
    break_frames(capture.declarations(), broken);
    on_batch(broken);
  });
  return spool.decode(std::move(coverage), on_batch);
}

void remove_spool(const LeftSpool& left, const std::string& id, const std::string& directory) {
  if (left.reader && !left.is_of_others) {
    ::unlink(left.path.c_str());
    ::unlink(block_ring_path(id, directory).c_str());
  }
}

/// Refuses a capture that is or could be being written.
void require_no_writer(const CaptureReader& capture, const RecoverOptions& options) {
  const WriterState writer = find_writer(capture, options.spool_directory);
  if (writer.kind == WriterState::Kind::living) {
    throw RecoveryError(capture.path() + ": " + writer.why + " and goes on; wait for its end");
  }
  if (writer.kind == WriterState::Kind::unknown && !options.is_forced) {
    throw RecoveryError(capture.path() + ": " + writer.why + "; --force recovers it if nobody writes it any more");
  }
}

/// States in the recovered capture, and in words, what could not be read.
void state_losses(const CaptureReader& capture, const LeftSpool& left, CaptureWriter& writer, RecoveryReport& report) {
  // A block cut off by the kill: its chunks were not returned, so the spool has all of it.
  const std::vector<Damage> damages = damages_of(capture, report.recovered_batches != 0 && report.notes.empty());
  const Declarations& declared = capture.declarations();
  EventBatch stating;
  stating.declarations.infos =
      describe_losses(declared.processes.empty() ? ProcessId{1} : declared.processes.front().id, damages,
                      !report.was_closed && !left.reader, declared.infos);
  writer.write(stating);
  for (const Damage& damage : damages) {
    report.notes.push_back("bytes " + std::to_string(damage.offset) + " to " +
                           std::to_string(damage.offset + damage.size) + ": " + damage.what);
  }
}

}  // namespace

std::vector<std::string> read_unwritten(CaptureReader& capture, const std::function<void(const EventBatch&)>& on_batch,
                                        const std::string& spool_directory) {
  const std::string id = capture.header().spool_id;
  if (capture.is_closed() || id.empty()) {
    return {};
  }
  SpoolFile file = find_spool_file(id, spool_directory, owner_of(capture.path()));
  if (file.state == SpoolFile::State::living) {
    return {};
  }
  capture.refresh();
  if (capture.is_closed()) {
    return {};
  }
  if (file.state == SpoolFile::State::unreadable) {
    return {file.trouble};
  }
  if (file.state != SpoolFile::State::dead) {
    return {};
  }
  const std::optional<SpoolReader> spool = SpoolReader::read(std::move(file.file));
  if (!spool || spool->id() != id) {
    return {"the spool " + file.path + " cannot be read or belongs to another capture"};
  }
  return fold_in(capture, *spool, spool_directory, on_batch);
}

RecoveryReport recover(const std::string& capture_path, const RecoverOptions& options) {
  const std::string source = base::resolve_links(capture_path);
  const std::string target = options.output.empty() ? source : base::resolve_links(options.output);
  const bool is_replaced = target == source;
  const base::FileDescriptor file = lock_for_recovery(source, is_replaced);
  if (!is_replaced && !options.is_forced && ::access(target.c_str(), F_OK) == 0) {
    throw RecoveryError(options.output + ": exists; --force replaces it");
  }
  CaptureReader capture(source);
  if (!capture.is_closed()) {
    require_no_writer(capture, options);
    capture.refresh();  // its process may have written on, and closed it, since it was opened
  }
  RecoveryReport report;
  report.output = is_replaced ? capture_path : options.output;
  report.was_closed = capture.is_closed();
  const std::string spool_id = capture.header().spool_id;
  const LeftSpool left = find_left_spool(capture, options.spool_directory);
  if (!report.was_closed && !left.trouble.empty() && !options.is_forced) {
    throw RecoveryError(capture.path() + ": " + left.trouble + "; --force makes do with what is in the file");
  }
  if (report.was_closed && is_replaced) {
    // Killed after the capture was closed and before its spool was deleted.
    if (!options.keeps_spool) {
      remove_spool(left, spool_id, options.spool_directory);
    }
    return report;
  }
  CaptureWriterOptions writer_options;
  writer_options.header = capture.header();
  writer_options.header.owner_pid = 0;
  writer_options.header.spool_id.clear();
  writer_options.declarations = capture.declarations();
  writer_options.codec = make_zstd_codec(options.compression_level);
  PartialCapture partial(target);
  CaptureWriter writer(partial.create(), std::move(writer_options));
  EventBatch batch;
  std::uint64_t done = 0;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind == BlockKind::events && capture.read(block, batch)) {
      writer.write(batch);
    }
    if (options.on_progress) {
      options.on_progress(++done, capture.blocks().size());
    }
  }
  if (!report.was_closed && left.reader) {
    report.notes = fold_in(capture, *left.reader, options.spool_directory, [&](const EventBatch& unwritten) {
      writer.write(unwritten);
      ++report.recovered_batches;
      for (const ScopeRun& run : unwritten.runs) {
        report.recovered_scope_events += run.events.size();
      }
    });
  } else if (!report.was_closed) {
    for (const std::string& note : {left.trouble, left.loss}) {
      if (!note.empty()) {
        report.notes.push_back(note);
      }
    }
  }
  state_losses(capture, left, writer, report);
  writer.keep_drops(capture.end().tracks);
  writer.finish();
  partial.look_like(file.get());
  writer.sync();
  partial.rename(is_replaced || options.is_forced);
  if (!options.keeps_spool) {
    remove_spool(left, spool_id, options.spool_directory);
  }
  return report;
}

}  // namespace kymo::capture

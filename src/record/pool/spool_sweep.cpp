#include "record/pool/spool_sweep.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "record/clock/clock.hpp"
#include "record/pool/published_words.hpp"
#include "record/pool/spool_layout.hpp"

namespace kymo::record {

namespace {

constexpr std::string_view spool_ending = ".spool";
constexpr std::string_view ring_ending = ".keep";
constexpr std::size_t id_digits = 32;

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

/// Whether the process with that id and start time is running; 0: any start time. This process's own id in another's
/// file belongs to an earlier process.
bool is_running(std::uint64_t pid, std::uint64_t start = 0) {
  return pid != static_cast<std::uint64_t>(::getpid()) && base::is_process(pid) &&
         (start == 0 || start == base::process_start(pid));
}

/// A spool of a dead process.
class DeadSpool {
 public:
  explicit DeadSpool(int file) : file_(file) {}

  /// Whether the tables are valid within the file's size.
  [[nodiscard]] bool read(std::uint64_t file_size) {
    return base::read_object_at(file_, header_, 0) && header_.magic == spool_magic &&
           header_.version == spool_version && header_.splits_offset == sizeof(SpoolHeader) &&
           header_.chunks_offset <= file_size && header_.slots_offset <= header_.chunks_offset &&
           header_.chunk_count.load() <= header_.most_chunks &&
           header_.most_chunks <= (file_size - header_.chunks_offset) / chunk_bytes &&
           header_.slot_count.load() <= (header_.chunks_offset - header_.slots_offset) / sizeof(TrackSlot);
  }

  [[nodiscard]] const SpoolHeader& header() const { return header_; }

  /// Whether files state every loss and every track's end.
  [[nodiscard]] bool is_stated() const {
    bool is_all = header_.dropped_without_track.load() == header_.stated_without_track.load();
    TrackSlot slot;
    for (std::uint32_t i = 1; is_all && i < header_.slot_count.load(); ++i) {
      is_all = base::read_object_at(file_, slot, slot_offset(i)) && slot.state.load() != SlotState::exited &&
               (slot.state.load() == SlotState::free ||
                slot.dropped_scopes.load() + slot.dropped_others.load() == slot.stated_drops.load());
    }
    return is_all;
  }

  /// Releases the memory of chunks whose words are all in a file. Whether these were all chunks.
  [[nodiscard]] bool shrink() const {
    bool is_all = true;
    std::uint64_t begin = 0;
    const auto keep = [&](std::uint64_t from, std::uint64_t to) {
      is_all = false;
      punch(begin, from);
      begin = to;
    };
    for (std::uint32_t large = 0; large < header_.chunk_count.load(); ++large) {
      const std::uint64_t offset = std::uint64_t{large} * chunk_bytes;
      const bool is_split = is_split_chunk(large);
      if (!is_split && !is_chunk_written(place_of(large, header_.most_chunks))) {
        keep(offset, offset + chunk_bytes);
      }
      for (std::uint32_t piece = 0; is_split && piece < pieces_a_chunk; ++piece) {
        const std::uint32_t index = header_.most_chunks + large * pieces_a_chunk + piece;
        if (!is_chunk_written(place_of(index, header_.most_chunks))) {
          constexpr std::uint64_t page_bytes = 4096;
          const std::uint64_t page = (offset + piece * small_chunk_bytes) / page_bytes * page_bytes;
          keep(page, page + page_bytes);
        }
      }
    }
    // A process that died while it reserved more has not counted that yet.
    punch(begin, std::uint64_t{header_.most_chunks} * chunk_bytes);
    return is_all;
  }

 private:
  [[nodiscard]] std::uint64_t slot_offset(std::uint32_t index) const {
    return header_.slots_offset + std::uint64_t{index} * sizeof(TrackSlot);
  }

  [[nodiscard]] bool is_split_chunk(std::uint32_t large) const {
    std::uint8_t is_split = 0;
    return base::read_object_at(file_, is_split, header_.splits_offset + large) && is_split != 0;
  }

  [[nodiscard]] bool is_chunk_written(const ChunkPlace& place) const {
    ChunkHeader head;
    TrackSlot slot;
    const std::uint64_t offset = header_.chunks_offset + place.offset;
    if (!base::read_object_at(file_, head, offset)) {
      return false;
    }
    if (head.track.load() == 0) {
      return true;
    }
    if (head.slot >= header_.slot_count.load() || !base::read_object_at(file_, slot, slot_offset(head.slot))) {
      return false;
    }
    const std::uint64_t first_word = header_.base_address + offset + sizeof head;
    const auto cursor = reinterpret_cast<std::uintptr_t>(slot.cursor.load());
    return published_words(head, cursor, first_word, place.words) <= head.written_words.load();
  }

  /// From one offset to another behind the tables.
  void punch(std::uint64_t begin, std::uint64_t end) const {
    if (begin < end) {
      static_cast<void>(::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    static_cast<off_t>(header_.chunks_offset + begin),
                                    static_cast<off_t>(end - begin)));
    }
  }

  int file_;
  SpoolHeader header_{};
};

/// A process creates its spool, locks it and fills it in. Until then it looks like an abandoned, half-made spool.
bool is_half_made(const DeadSpool& spool, const struct stat& status, const std::string& path) {
  constexpr time_t long_enough_s = 10;
  const std::size_t pid = path.rfind('/') + 6;
  return spool.header().magic == 0 && status.st_mtime + long_enough_s < ::time(nullptr) &&
         !is_running(std::strtoull(path.c_str() + pid, nullptr, 10));
}

void sweep_spool(const std::string& path, const std::string& ring) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  // Anybody may put a file of that name there.
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    return;
  }
  DeadSpool spool(file.get());
  if (!spool.read(static_cast<std::uint64_t>(status.st_size))) {
    if (is_half_made(spool, status, path) && !base::lock_holder(file.get(), 0)) {
      ::unlink(path.c_str());
    }
    return;
  }
  // The owner locks the spool before it fills it in. So lock first, and trust the content only under the lock.
  if (base::lock_byte(file.get(), 0) != base::LockOutcome::taken ||
      !spool.read(static_cast<std::uint64_t>(status.st_size))) {
    return;
  }
  // A process that closed all its descriptors lost the lock but still uses the memory. In another namespace of process
  // ids nothing tells.
  if (spool.header().is_swept != 0 || spool.header().owner_pid_namespace != base::pid_namespace() ||
      is_running(spool.header().owner_pid, spool.header().owner_start)) {
    return;
  }
  const bool has_ring = ::access(ring.c_str(), F_OK) == 0;
  if (spool.header().is_needless()) {
    ::unlink(path.c_str());
    ::unlink(ring.c_str());
  } else if (!spool.header().lacks_batches() && spool.shrink() && spool.is_stated() && !spool.header().is_torn() &&
             !has_ring) {
    ::unlink(path.c_str());
  } else {
    constexpr std::uint32_t is_swept = 1;
    static_cast<void>(::pwrite(file.get(), &is_swept, sizeof is_swept, offsetof(SpoolHeader, is_swept)) > 0);
  }
}

/// The ring of a process whose spool is gone.
void sweep_ring(const std::string& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  std::uint64_t pid = 0;
  if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      base::read_object_at(file.get(), pid, ring_owner_offset) && pid != 0 && !is_running(pid)) {
    ::unlink(path.c_str());
  }
}

// Anybody may fill the directory. The next recording sweeps the rest.
constexpr std::size_t most_files = 10'000;

std::vector<std::string> files_in(const std::string& directory, std::string_view ending) {
  std::vector<std::string> paths;
  DIR* const listing = ::opendir(directory.c_str());
  if (listing == nullptr) {
    return paths;
  }
  while (const dirent* const entry = paths.size() < most_files ? ::readdir(listing) : nullptr) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name.substr(0, 5) == "kymo-" && ends_with(name, ending) && name.size() >= 5 + id_digits + ending.size()) {
      paths.push_back(directory + '/' + std::string(name));
    }
  }
  ::closedir(listing);
  return paths;
}

}  // namespace

void SpoolSweep::list() {
  // Listed before the spools: each ring found had its spool then, unless that is gone.
  rings_ = files_in(directory_, ring_ending);
  spools_ = files_in(directory_, spool_ending);
  std::unordered_set<std::string> kept;
  for (const std::string& spool : spools_) {
    kept.insert(ring_of(spool));
  }
  std::erase_if(rings_, [&](const std::string& ring) { return spools_.size() == most_files || kept.contains(ring); });
  is_listed_ = true;
}

std::string SpoolSweep::ring_of(const std::string& spool) const {
  const std::string id = spool.substr(spool.size() - spool_ending.size() - id_digits, id_digits);
  return directory_ + "/kymo-" + id + std::string(ring_ending);
}

bool SpoolSweep::step(std::int64_t most_ns) noexcept {
  try {
    const std::uint64_t deadline = monotonic_ns() + static_cast<std::uint64_t>(most_ns);
    if (!is_listed_) {
      list();
    }
    for (; next_ < spools_.size() + rings_.size(); ++next_) {
      if (next_ >= spools_.size()) {
        sweep_ring(rings_[next_ - spools_.size()]);
      } else if (spools_[next_] != own_) {
        sweep_spool(spools_[next_], ring_of(spools_[next_]));
      }
      if (monotonic_ns() >= deadline) {
        ++next_;
        break;
      }
    }
    return next_ == spools_.size() + rings_.size();
  } catch (...) {
    return true;  // no memory to sweep with
  }
}

}  // namespace kymo::record

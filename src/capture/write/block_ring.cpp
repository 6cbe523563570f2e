#include "capture/write/block_ring.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "capture/write/destination.hpp"
#include "record/pool/spool_layout.hpp"

namespace kymo::capture {

namespace {

constexpr std::uint64_t ring_magic = 0x31474E4952594B8BU;
constexpr std::uint64_t least_capacity = 1 << 20;
/// The file's room grows by this.
constexpr std::uint64_t growth_step = 1 << 20;

void say_smaller(std::uint64_t capacity) {
  base::say("the flight recorder keeps " + std::to_string(capacity / 1'000'000) +
            " MB: the machine has no room for more");
}

/// Copies bytes from a ring that begins at `from`.
void copy_out(const std::byte* from, std::uint64_t capacity, std::uint64_t offset, std::span<std::byte> to) {
  const auto at = static_cast<std::size_t>(offset % capacity);
  const std::size_t head = std::min<std::size_t>(to.size(), static_cast<std::size_t>(capacity) - at);
  std::memcpy(to.data(), from + at, head);
  std::memcpy(to.data() + head, from, to.size() - head);
}

/// The memory that the ring may take, so that half of what is free is left once the pool is full.
std::uint64_t room_beside(const BlockRingOptions& options) {
  const std::uint64_t spare = base::spare_memory();
  return spare - std::min(spare, options.promised_bytes / 2);
}

}  // namespace

std::string block_ring_path(const std::string& spool_id, const std::string& directory) {
  return directory + "/kymo-" + spool_id + ".keep";
}

BlockRing::BlockRing(const BlockRingOptions& options) : owner_(::getpid()), duration_(options.duration) {
  if (!create_shared(options) && !map(std::min(options.capacity_bytes, room_beside(options)), -1)) {
    throw WriteError(base::describe_errno("cannot reserve the flight recorder's memory",
                                          std::to_string(options.capacity_bytes) + " bytes", errno));
  }
  if (header_->capacity < options.capacity_bytes) {
    say_smaller(header_->capacity);
  }
}

/// The file has its full size from the start; its room is reserved as it is needed.
bool BlockRing::create_shared(const BlockRingOptions& options) {
  const std::uint64_t room = std::min(base::spare_room(options.directory), base::largest_file());
  if (options.spool_id.empty() || room < sizeof(RingHeader) + least_capacity) {
    return false;
  }
  directory_ = options.directory;
  path_ = block_ring_path(options.spool_id, directory_);
  file_ = base::KnownFile(base::open_high(path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (file_) {
    const std::uint64_t most = std::min(room - sizeof(RingHeader), room_beside(options));
    if (base::reserve_space(file_.number(), 0, sizeof(RingHeader) + growth_step) == 0 &&
        map(std::min(options.capacity_bytes, most), file_.number())) {
      reserved_ = std::min(growth_step, header_->capacity);
      return true;
    }
    ::unlink(path_.c_str());
  }
  file_.reset();
  path_.clear();
  return false;
}

/// Maps a ring, smaller if address space is short. Without a file in private memory.
bool BlockRing::map(std::uint64_t capacity, int file) {
  const int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  for (capacity = std::max(capacity, least_capacity); capacity >= least_capacity; capacity /= 2) {
    const std::uint64_t bytes = sizeof(RingHeader) + capacity;
    if (file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
      return false;
    }
    mapping_ = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, flags, file, 0);
    if (mapping_ != MAP_FAILED) {
      mapped_bytes_ = static_cast<std::size_t>(bytes);
      header_ = new (mapping_) RingHeader;
      bytes_ = static_cast<std::byte*>(mapping_) + sizeof(RingHeader);
      static_assert(offsetof(RingHeader, owner_pid) == record::ring_owner_offset);
      header_->capacity = capacity;
      header_->owner_pid = static_cast<std::uint64_t>(owner_);
      std::atomic_thread_fence(std::memory_order_release);
      header_->magic = ring_magic;
      return true;
    }
  }
  return false;
}

/// Reserves room for blocks that end at `end`. False if there is none. Growing the file by access alone would kill the
/// program on a full tmpfs.
bool BlockRing::reserve(std::uint64_t end) {
  if (path_.empty() || std::min(end, header_->capacity) <= reserved_) {
    return true;
  }
  const std::uint64_t wanted = std::min((end + growth_step - 1) / growth_step * growth_step, header_->capacity);
  const std::uint64_t more = wanted - reserved_;
  const int file = file_.get_or_reopen(path_, O_RDWR);
  if (file < 0 || base::spare_room(directory_) < more ||
      base::reserve_space(file, sizeof(RingHeader) + reserved_, more) != 0) {
    return false;
  }
  reserved_ = wanted;
  return true;
}

BlockRing::~BlockRing() {
  ::munmap(mapping_, mapped_bytes_);
  if (!path_.empty() && owner_ == ::getpid()) {
    ::unlink(path_.c_str());
  }
}

void BlockRing::give_up_oldest() {
  const Kept& oldest = kept_[first_kept_++];
  header_->first.store(oldest.offset + oldest.size, std::memory_order_release);
  // A kill comes between two instructions: later writes over the block must stay behind this one.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (first_kept_ > 64 && first_kept_ * 2 > kept_.size()) {
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(first_kept_));
    first_kept_ = 0;
  }
}

void BlockRing::copy_in(std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto at = static_cast<std::size_t>(offset % header_->capacity);
  const std::size_t head = std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(header_->capacity) - at);
  std::memcpy(bytes_ + at, bytes.data(), head);
  std::memcpy(bytes_, bytes.data() + head, bytes.size() - head);
}

void BlockRing::push(std::span<const std::byte> block) {
  const std::optional<BlockHeader> header = parse_header(block.first(block_header_size));
  if (!header || block.size() > header_->capacity) {
    return;
  }
  const std::uint64_t end = header_->end.load(std::memory_order_relaxed);
  if (!reserve(end + block.size())) {
    // No block is beyond the reserved room yet, so their offsets mean the same.
    header_->capacity = reserved_;
    say_smaller(reserved_);
    if (block.size() > header_->capacity) {
      return;
    }
  }
  const auto has_kept = [this] { return first_kept_ < kept_.size(); };
  while (has_kept() && end + block.size() - kept_[first_kept_].offset > header_->capacity) {
    give_up_oldest();
  }
  while (duration_.count() > 0 && has_kept() && kept_[first_kept_].end_ns < header->end_ns - duration_.count()) {
    give_up_oldest();
  }
  copy_in(end, block);
  header_->end.store(end + block.size(), std::memory_order_release);
  kept_.push_back({end, block.size(), header->end_ns});
}

void BlockRing::take_all(const std::function<void(std::span<const std::byte> block)>& take) {
  std::vector<std::byte> block;
  while (first_kept_ < kept_.size()) {
    const Kept kept = kept_[first_kept_];
    block.resize(static_cast<std::size_t>(kept.size));
    copy_out(bytes_, header_->capacity, kept.offset, block);
    take(block);
    give_up_oldest();
    header_->taken.store(header_->first.load(std::memory_order_relaxed), std::memory_order_release);
  }
}

bool BlockRing::has_lost_blocks() const {
  return header_->first.load(std::memory_order_relaxed) > header_->taken.load(std::memory_order_relaxed);
}

std::uint64_t block_ring_owner(const std::string& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  RingHeader ring;
  return file && base::read_object_at(file.get(), ring, 0) && ring.magic == ring_magic ? ring.owner_pid : 0;
}

HeldBlocks read_block_ring(const std::string& spool_id, const std::string& directory, uid_t owner) {
  HeldBlocks held;
  // Anybody may put a file of that name there: a pipe, or a large sparse file.
  const base::FileDescriptor file(
      ::open(block_ring_path(spool_id, directory).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  RingHeader ring;
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      (status.st_uid != ::geteuid() && status.st_uid != owner) || !base::read_object_at(file.get(), ring, 0)) {
    return held;
  }
  const std::uint64_t capacity = ring.capacity;
  std::uint64_t first = ring.first.load();
  const std::uint64_t end = ring.end.load();
  if (ring.magic != ring_magic || capacity == 0 ||
      capacity > static_cast<std::uint64_t>(status.st_size) - sizeof(RingHeader) || end - first > capacity) {
    return held;
  }
  held.follow_lost_ones = first > ring.taken.load();
  const auto read = [&](std::uint64_t offset, std::span<std::byte> to) {
    const std::uint64_t at = offset % capacity;
    const std::size_t head = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), capacity - at));
    return base::read_exactly_at(file.get(), to.first(head), sizeof(RingHeader) + at) &&
           base::read_exactly_at(file.get(), to.subspan(head), sizeof(RingHeader));
  };
  while (end - first >= block_header_size) {
    std::array<std::byte, block_header_size> head{};
    if (!read(first, head)) {
      break;
    }
    const std::optional<BlockHeader> header = parse_header(head);
    if (!header || header->stored_size > end - first - block_header_size) {
      break;
    }
    std::vector<std::byte> block(block_header_size + header->stored_size);
    if (!read(first, block)) {
      break;
    }
    first += block.size();
    held.blocks.push_back(std::move(block));
  }
  return held;
}

}  // namespace kymo::capture

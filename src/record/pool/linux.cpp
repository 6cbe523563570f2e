// The pool's memory on Linux: a spool in tmpfs, a memfd held by `kymo record`, or private memory.
#include "record/pool/pool.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/futex.hpp"
#include "base/system/not_cancelled.hpp"
#include "base/system/system.hpp"
#include "record/pool/collector_sleep.hpp"
#include "record/pool/spool_sweep.hpp"

namespace kymo::record {

namespace {

void make_random_id(std::uint64_t (&id)[2]) {
  if (::getrandom(static_cast<void*>(id), sizeof id, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof id)) {
    return;
  }
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  id[0] = static_cast<std::uint64_t>(now.tv_nsec) ^ (static_cast<std::uint64_t>(now.tv_sec) << 30U);
  id[1] = static_cast<std::uint64_t>(::getpid()) * 0x9E3779B97F4A7C15U ^ id[0];
}

/// POSIX record locks are not inherited by children and end with the process (or its exec), so they show whether the
/// owner lives.
void lock_as_owner(int file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  ::fcntl(file, F_SETLK, &lock);
}

bool send_to_holder(int socket, int file) {
  char byte = 's';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = static_cast<void*>(control);
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/// Makes the file as large as the pool may become. The pool respects the program's file size limit: exceeding it raises
/// SIGXFSZ.
bool resize(int file, std::uint64_t bytes, std::string& complaint) {
  int error = ::ftruncate(file, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (error == 0) {
    error = ::posix_fallocate(file, 0, sizeof(SpoolHeader));
  }
  if (error != 0) {
    complaint = std::string("no room for the pool in shared memory (") + std::strerror(error) + ")";
  }
  return error == 0;
}

/// Everything around the chunks.
constexpr std::uint64_t most_overhead = most_slots_of_all * sizeof(TrackSlot) + (std::uint64_t{1} << 20U);

base::FileDescriptor create_spool(const PoolOptions& options, const std::uint64_t (&id)[2], std::uint64_t bytes,
                                  std::string& path, std::string& complaint) {
  char name[96];
  std::snprintf(name, sizeof name, "/kymo-%ld-%016llx%016llx.spool", static_cast<long>(::getpid()),
                static_cast<unsigned long long>(id[0]), static_cast<unsigned long long>(id[1]));
  path = options.spool_directory + name;
  base::FileDescriptor file = base::open_high(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) {
    complaint = base::describe_errno("cannot create the spool", path, errno);
    path.clear();
    return {};
  }
  if (!resize(file.get(), bytes, complaint)) {
    ::unlink(path.c_str());
    path.clear();
    return {};
  }
  lock_as_owner(file.get());
  return file;
}

base::FileDescriptor create_held_memfd(const PoolOptions& options, std::uint64_t bytes) {
  if (options.holder_socket < 0) {
    return {};
  }
  base::FileDescriptor file = base::move_high(base::FileDescriptor(::memfd_create("kymo-spool", MFD_CLOEXEC)));
  std::string ignored;
  if (!file || !resize(file.get(), bytes, ignored)) {
    return {};
  }
  lock_as_owner(file.get());
  if (!send_to_holder(options.holder_socket, file.get())) {
    return {};
  }
  return file;
}

}  // namespace

bool Pool::open_backing(PoolBacking backing, const PoolOptions& options, const std::uint64_t (&id)[2],
                        std::uint64_t bytes) {
  if (backing == PoolBacking::private_memory) {
    return true;
  }
  file_ = base::KnownFile(backing == PoolBacking::spool ? create_spool(options, id, bytes, spool_path_, complaint_)
                                                        : create_held_memfd(options, bytes));
  return file_.get() >= 0;
}

/// Maps the pool and reserves its beginning; false on failure.
bool Pool::map(const Layout& layout) noexcept {
  const std::uint64_t before = layout.bytes_before();
  void* const place =
      ::mmap(nullptr, before + layout.total_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) {
    return false;
  }
  states_ = place;
  states_bytes_ = layout.states_bytes();
  mapping_ = static_cast<char*>(place) + before;
  mapped_bytes_ = layout.total_bytes;
  ::munmap(static_cast<char*>(place) + states_bytes_, before - states_bytes_);
  const bool is_shared = backing_ != PoolBacking::private_memory;
  const int flags = MAP_FIXED | (is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  const bool is_mapped =
      ::mprotect(states_, states_bytes_, PROT_READ | PROT_WRITE) == 0 &&
      ::mmap(mapping_, mapped_bytes_, PROT_READ | PROT_WRITE, flags, is_shared ? file_.get() : -1, 0) != MAP_FAILED;
  // Where the kernel cannot clear them in children, a child finds out about the fork with its first new chunk.
  ::madvise(states_, states_bytes_, MADV_WIPEONFORK);
  ::madvise(states_, states_bytes_, MADV_NOHUGEPAGE);
  const std::uint64_t head = layout.slots_offset + std::uint64_t{layout.slots} * sizeof(TrackSlot);
  const bool is_reserved =
      is_mapped && reserve(0, head) && reserve(layout.chunks_offset, std::uint64_t{layout.chunks} * chunk_bytes);
  if (!is_reserved) {
    ::munmap(mapping_, mapped_bytes_);
    ::munmap(states_, states_bytes_);
    mapping_ = nullptr;
  }
  return is_reserved;
}

bool Pool::reserve(std::uint64_t offset, std::uint64_t bytes) noexcept {
  const base::NotCancelled not_cancelled;
  const int saved_errno = errno;
  // The program may have closed the descriptor and reused its number. The mapping stays valid, but growing it by access
  // alone would kill the program on a full tmpfs. Several threads may be here, so the member stays as it is.
  const base::KnownFile again = file_ && file_.get() < 0 ? file_.opened_again(spool_path_, O_RDWR) : base::KnownFile();
  const int file = again ? again.number() : file_.get();
  bool is_reserved = backing_ == PoolBacking::private_memory;
  // A signal interrupts it, and is handled before the next attempt.
  for (int attempts = 0; !is_reserved && attempts < 100 && (attempts == 0 || errno == EINTR); ++attempts) {
    is_reserved = ::fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
  }
  if (is_reserved) {
    constexpr std::uint64_t page_bytes = 4096;
    auto* const begin = static_cast<char*>(mapping_) + offset / page_bytes * page_bytes;
    auto* const end = static_cast<char*>(mapping_) + offset + bytes;
    // In pieces: the program's own mmap and munmap wait for as long as one takes.
    constexpr std::ptrdiff_t piece_bytes = 128 * 1024;
    constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
    for (char* piece = begin; piece < end; piece += piece_bytes) {
      char* const piece_end = piece + std::min(piece_bytes, end - piece);
      if (::madvise(piece, static_cast<std::size_t>(piece_end - piece), populate_write) != 0) {
        for (char* page = piece; page < piece_end; page += page_bytes) {
          __atomic_fetch_or(page, char{0}, __ATOMIC_RELAXED);
        }
      }
    }
  }
  errno = saved_errno;
  return is_reserved;
}

std::unique_ptr<Pool> Pool::create(const PoolOptions& options) {
  std::unique_ptr<Pool> pool(new Pool(options));
  std::uint64_t id[2];
  make_random_id(id);
  const std::uint64_t wanted = std::clamp<std::uint64_t>(options.bytes, smallest_pool_bytes, largest_pool_bytes);
  const std::uint64_t spare = std::max<std::uint64_t>(base::spare_memory(), smallest_pool_bytes);
  std::uint64_t room = base::spare_room(options.spool_directory);
  if (room == 0) {
    pool->complaint_ = options.spool_directory + " is not a tmpfs with room";
  } else if (room < wanted) {
    // The collector's thread sweeps as well; this is only to find room.
    constexpr std::int64_t most_sweep_ns = 100'000'000;
    SpoolSweep(options.spool_directory, "").step(most_sweep_ns);
    room = base::spare_room(options.spool_directory);
  }
  const std::uint64_t file_limit = base::largest_file();
  const std::uint64_t file_bytes = std::min(file_limit - std::min(file_limit, most_overhead), spare);
  // In this order: a spool, a held memfd, private memory. Each at its greatest allowed size, or smaller if address
  // space is short.
  for (const PoolBacking backing : {PoolBacking::spool, PoolBacking::held_memfd, PoolBacking::private_memory}) {
    std::uint64_t bytes = std::min(wanted, backing == PoolBacking::spool        ? std::min(room, file_bytes)
                                           : backing == PoolBacking::held_memfd ? file_bytes
                                                                                : spare);
    for (; bytes >= smallest_pool_bytes; bytes /= 2) {
      const Layout layout = plan(bytes, options.is_on_demand);
      pool->backing_ = backing;
      if (!pool->open_backing(backing, options, id, layout.total_bytes)) {
        break;
      }
      if (pool->map(layout)) {
        pool->lay_out(layout, id);
        pool->spool_directory_ = backing == PoolBacking::spool ? options.spool_directory : std::string();
        return pool;
      }
      pool->remove_spool();
      pool->file_.reset();
    }
    if (backing == PoolBacking::spool && pool->complaint_.empty()) {
      pool->complaint_ = "no room for the pool in shared memory";
    }
  }
  throw std::runtime_error("there is no memory for a pool of " + std::to_string(smallest_pool_bytes) + " bytes");
}

Pool::~Pool() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapped_bytes_);
    ::munmap(states_, states_bytes_);
  }
}

void Pool::wake_collector() noexcept {
  wake_sleeper(header_->wake, header_->is_asleep, [](std::atomic<std::uint32_t>& wake) {
    const int saved_errno = errno;
    base::futex_wake_all(wake);
    errno = saved_errno;
  });
}

void Pool::remove_spool() noexcept {
  if (!spool_path_.empty()) {
    ::unlink(spool_path_.c_str());
    spool_path_.clear();
    if (!spool_directory_.empty()) {
      // Workers that a signal ended leave theirs behind, and this process may be the last one that records.
      constexpr std::int64_t most_sweep_ns = 20'000'000;
      SpoolSweep(spool_directory_, "").step(most_sweep_ns);
    }
  }
}

void Pool::abandon_in_child() noexcept {
  static_cast<void>(::mmap(mapping_, mapped_bytes_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0));
  file_.reset();
}

}  // namespace kymo::record

// The pool's memory on Linux: a spool in tmpfs, a memfd that `kymo record` holds, or private memory; and the futexes.
#include "record/pool.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "record/collector_sleep.hpp"

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

/// POSIX record locks are not inherited by children and go with the process (or its exec): they tell whether the owner
/// lives.
void lock_as_owner(int file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  ::fcntl(file, F_SETLK, &lock);
}

/// Deletes the spools of dead processes that hold nothing which is not in a capture: those of processes that were
/// killed before they recorded anything, or after they had closed their capture.
void sweep_saved_spools(const std::string& directory) {
  DIR* const listing = ::opendir(directory.c_str());
  if (listing == nullptr) {
    return;
  }
  const std::string own_prefix = "kymo-" + std::to_string(::getpid()) + "-";
  while (const dirent* const entry = ::readdir(listing)) {
    const std::string name = static_cast<const char*>(entry->d_name);
    // Closing a descriptor of a spool of one's own would give up its lock.
    if (name.rfind("kymo-", 0) != 0 || name.rfind(own_prefix, 0) == 0 || name.size() < 6 ||
        name.substr(name.size() - 6) != ".spool") {
      continue;
    }
    const std::string path = directory + "/" + name;
    const base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    alignas(SpoolHeader) std::byte bytes[sizeof(SpoolHeader)];
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (!file || base::read_fully_at(file.get(), bytes, 0) != static_cast<std::int64_t>(sizeof bytes) ||
        ::fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK) {
      continue;
    }
    const auto* const header = reinterpret_cast<const SpoolHeader*>(bytes);
    if (header->magic == spool_magic && header->is_saved.load(std::memory_order_relaxed) == 1) {
      ::unlink(path.c_str());
    }
  }
  ::closedir(listing);
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

/// Reserves the file's whole size, so that a full tmpfs is an error now and not a SIGBUS later.
bool reserve(int file, std::uint64_t bytes, std::string& complaint) {
  const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error != 0) {
    complaint = std::string("no room for the pool in shared memory (") + std::strerror(error) + ")";
    return false;
  }
  return true;
}

base::FileDescriptor create_spool(const PoolOptions& options, const std::uint64_t (&id)[2], std::uint64_t bytes,
                                  std::string& path, std::string& complaint) {
  struct statfs file_system {};
  if (::statfs(options.spool_directory.c_str(), &file_system) != 0 || file_system.f_type != TMPFS_MAGIC) {
    complaint = options.spool_directory + " is not a tmpfs";
    return {};
  }
  sweep_saved_spools(options.spool_directory);
  char name[96];
  std::snprintf(name, sizeof name, "/kymo-%ld-%016llx%016llx.spool", static_cast<long>(::getpid()),
                static_cast<unsigned long long>(id[0]), static_cast<unsigned long long>(id[1]));
  path = options.spool_directory + name;
  base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    complaint = base::describe_errno("cannot create the spool", path, errno);
    path.clear();
    return {};
  }
  if (!reserve(file.get(), bytes, complaint)) {
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
  base::FileDescriptor file(::memfd_create("kymo-spool", MFD_CLOEXEC));
  std::string ignored;
  if (!file || !reserve(file.get(), bytes, ignored)) {
    return {};
  }
  lock_as_owner(file.get());
  if (!send_to_holder(options.holder_socket, file.get())) {
    return {};
  }
  return file;
}

}  // namespace

std::unique_ptr<Pool> Pool::create(const PoolOptions& options) {
  const Layout layout = plan(options.bytes);
  std::unique_ptr<Pool> pool(new Pool);
  std::uint64_t id[2];
  make_random_id(id);

  pool->file_ = create_spool(options, id, layout.total_bytes, pool->spool_path_, pool->complaint_);
  pool->backing_ = PoolBacking::spool;
  if (!pool->file_) {
    pool->file_ = create_held_memfd(options, layout.total_bytes);
    pool->backing_ = pool->file_ ? PoolBacking::held_memfd : PoolBacking::private_memory;
  }
  const int flags = (pool->file_ ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | MAP_POPULATE;
  void* const mapping =
      ::mmap(nullptr, layout.total_bytes, PROT_READ | PROT_WRITE, flags, pool->file_ ? pool->file_.get() : -1, 0);
  if (mapping == MAP_FAILED) {
    const int error = errno;
    pool->remove_spool();
    throw std::runtime_error(
        base::describe_errno("cannot map the pool", std::to_string(layout.total_bytes) + " bytes", error));
  }
  pool->mapping_ = mapping;
  pool->mapped_bytes_ = layout.total_bytes;
  pool->lay_out(layout, id);
  return pool;
}

Pool::~Pool() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapped_bytes_);
  }
}

void Pool::wake_collector() noexcept {
  wake_sleeper(header_->wake, header_->is_asleep, [](std::atomic<std::uint32_t>& wake) {
    const int saved_errno = errno;
    futex_wake_all(wake);
    errno = saved_errno;
  });
}

void Pool::remove_spool() noexcept {
  if (!spool_path_.empty()) {
    ::unlink(spool_path_.c_str());
    spool_path_.clear();
  }
}

void Pool::abandon_in_child() noexcept {
  static_cast<void>(::mmap(mapping_, mapped_bytes_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0));
  file_.reset();
  spool_path_.clear();
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                         static_cast<long>(timeout_ns % 1'000'000'000)};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, 0x7FFFFFFF, nullptr, nullptr, 0);
}

}  // namespace kymo::record

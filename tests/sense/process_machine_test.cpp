// The sensors of the process tree on this machine, against what the kernel says by other ways and
// what children are known to have done.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "sense/touched_memory.hpp"

namespace kymo::sense {

SensorMaker make_process_sensors;
namespace {

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

/// Burns CPU time of this thread.
void burn(std::int64_t cpu_ns) {
  const std::int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

double seconds(const rusage& usage) {
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/// A child that does something and then waits until it is let go; done() waits until it has done it.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    if (::pipe(done_.data()) != 0 || ::pipe(leave_.data()) != 0) {
      throw std::runtime_error("no pipes");
    }
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(leave_[1]);
      work();
      char byte = 'x';
      const bool is_told = ::write(done_[1], &byte, 1) == 1 && ::read(leave_[0], &byte, 1) >= 0;
      ::_exit(is_told ? 0 : 1);
    }
    ::close(leave_[0]);
    ::close(done_[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    let_go();
    ::waitpid(pid_, nullptr, 0);
    ::close(done_[0]);
  }

  [[nodiscard]] std::uint64_t pid() const { return static_cast<std::uint64_t>(pid_); }
  [[nodiscard]] bool is_done() const {
    pollfd wanted{done_[0], POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
  }
  void wait_until_done() const {
    char byte = 0;
    EXPECT_EQ(::read(done_[0], &byte, 1), 1);
  }
  /// It ends and is not waited for.
  void end() {
    let_go();
    siginfo_t how{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &how, WEXITED | WNOWAIT), 0);
  }

 private:
  void let_go() {
    if (const int end = std::exchange(leave_[1], -1); end >= 0) {
      ::close(end);
    }
  }

  std::array<int, 2> done_{};
  std::array<int, 2> leave_{};
  pid_t pid_ = -1;
};

SensorList sensors_of(std::uint64_t process) {
  SensorList list;
  make_process_sensors({{}, process}, list);
  return list;
}

TEST(ProcessOnThisMachine, CpuTimeIsWhatTheProcessesUsed) {
  rusage at_start{};
  ::getrusage(RUSAGE_CHILDREN, &at_start);
  {
    const Child idle([] {});
  }
  rusage before{};
  ::getrusage(RUSAGE_CHILDREN, &before);
  const double of_coming_and_going = seconds(before) - seconds(at_start);
  double seen = 0;
  {
    // Some children are seen, some come and go between two looks, some have children of their own.
    Child child([] {
      for (int i = 0; i < 30; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) {
          if (i % 10 == 0 && ::fork() == 0) {
            burn(40'000'000);
            ::_exit(0);
          }
          burn(i % 5 == 0 ? 110'000'000 : 3'000'000);
          ::waitpid(-1, nullptr, 0);
          ::_exit(0);
        }
        ::waitpid(pid, nullptr, 0);
      }
    });
    const SensorList sensors = sensors_of(child.pid());
    while (!child.is_done()) {
      const test::Readings readings = test::read_all(sensors, now_ns());
      if (readings.count("process_cpu_time") != 0) {
        EXPECT_GE(readings.at("process_cpu_time"), seen);
        seen = readings.at("process_cpu_time");
      }
      ::usleep(1000);
    }
    // As if the next look were due.
    seen = test::read_all(sensors, now_ns() + 500'000'000).at("process_cpu_time");
  }
  rusage after{};
  ::getrusage(RUSAGE_CHILDREN, &after);
  const double used = seconds(after) - seconds(before);
  EXPECT_NEAR(seen, used, 0.02 + of_coming_and_going)
      << "two ticks of the finished children's time are rounded away, and nobody sees the child leave";
  EXPECT_GT(used, 0.7);
}

/// What a process says of itself: the CPU time that it has used by some moments.
struct Diary {
  struct Entry {
    std::int64_t time_ns;
    double used_s;
  };
  std::array<Entry, 512> entries;
  std::size_t count;

  void write() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    entries[count++] = {now_ns(), seconds(usage)};
  }
  [[nodiscard]] bool covers(std::int64_t time_ns) const {
    return count > 1 && time_ns >= entries[0].time_ns && time_ns < entries[count - 1].time_ns;
  }
  /// Evenly between two entries.
  [[nodiscard]] double used_s(std::int64_t time_ns) const {
    std::size_t i = 1;
    while (entries[i].time_ns <= time_ns) {
      ++i;
    }
    const Entry& from = entries[i - 1];
    const double part =
        static_cast<double>(time_ns - from.time_ns) / static_cast<double>(entries[i].time_ns - from.time_ns);
    return from.used_s + part * (entries[i].used_s - from.used_s);
  }
};

TEST(ProcessOnThisMachine, AKnownShareOfACoreIsSeenWithinTwoPoints) {
  void* shared = ::mmap(nullptr, sizeof(Diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const diary = static_cast<Diary*>(shared);
  std::vector<std::pair<std::int64_t, double>> seen;
  {
    Child child([diary] {
      const std::int64_t start_ns = now_ns();
      for (std::int64_t turn = 1; turn <= 100; ++turn) {
        diary->write();
        burn(3'000'000);
        diary->write();
        while (now_ns() < start_ns + turn * 10'000'000) {
          ::usleep(200);
        }
      }
    });
    const SensorList sensors = sensors_of(child.pid());
    while (!child.is_done()) {
      const std::int64_t time_ns = now_ns();
      const test::Readings readings = test::read_all(sensors, time_ns);
      if (readings.count("process_cpu") != 0) {
        seen.emplace_back(time_ns, readings.at("process_cpu"));
      }
      ::usleep(1000);
    }
  }
  // On a busy machine the share is what the child got; it knows that best itself.
  constexpr std::int64_t window_ns = 101'000'000;
  double seen_sum = 0;
  double true_sum = 0;
  double count = 0;
  for (const auto& [time_ns, share] : seen) {
    if (diary->covers(time_ns) && diary->covers(time_ns - window_ns)) {
      seen_sum += share;
      true_sum += 100 * (diary->used_s(time_ns) - diary->used_s(time_ns - window_ns)) / (window_ns / 1e9);
      count += 1;
    }
  }
  ASSERT_GT(count, 50);
  EXPECT_NEAR(seen_sum / count, true_sum / count, 2);
  EXPECT_GT(true_sum / count, 5);
  ::munmap(shared, sizeof(Diary));
}

TEST(ProcessOnThisMachine, ResidentMemoryIsWhatAChildTouched) {
  static constexpr std::size_t bytes = std::size_t{96} << 20U;
  Child idle([] {});
  idle.wait_until_done();
  const auto rss_of = [](std::uint64_t pid, const char* metric) {
    return test::read_all(sensors_of(pid), now_ns()).at(metric);
  };
  std::optional<test::TouchedMemory> memory;  // of the child
  Child child([&memory] { memory.emplace(bytes); });
  child.wait_until_done();
  EXPECT_NEAR(rss_of(child.pid(), "process_rss") - rss_of(idle.pid(), "process_rss"), bytes, bytes / 100);
  EXPECT_NEAR(rss_of(child.pid(), "process_pss") - rss_of(idle.pid(), "process_pss"), bytes, bytes / 100);
}

TEST(ProcessOnThisMachine, MetricsEndWithTheProcessAndNotWithAZero) {
  constexpr std::array gauges{"process_rss", "process_pss", "process_threads", "process_count"};
  Child child([] {});
  child.wait_until_done();
  const SensorList sensors = sensors_of(child.pid());
  std::int64_t time_ns = now_ns();
  const test::Readings alive = test::read_all(sensors, time_ns);
  for (const char* const name : gauges) {
    EXPECT_GT(alive.at(name), 0) << name;
  }
  child.end();
  for (int i = 0; i < 30; ++i) {
    const test::Readings readings = test::read_all(sensors, time_ns += 100'000'000);
    for (const char* const name : gauges) {
      const auto found = readings.find(name);
      EXPECT_TRUE(found == readings.end() || std::isnan(found->second)) << name << ' ' << found->second;
    }
  }
}

TEST(ProcessOnThisMachine, BytesWrittenAreExact) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "written";
  constexpr std::size_t block = 4096;
  const auto write_blocks = [&path](int blocks) {
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const std::vector<char> data(block, 'k');
    for (int i = 0; i < blocks; ++i) {
      if (::write(file, data.data(), data.size()) != static_cast<ssize_t>(data.size())) {
        ::_exit(1);
      }
    }
    ::close(file);
  };
  // The child says that it is done with one byte more.
  Child child([&] {
    write_blocks(100);
    const pid_t pid = ::fork();
    if (pid == 0) {
      write_blocks(37);
      ::_exit(0);
    }
    ::waitpid(pid, nullptr, 0);
  });
  child.wait_until_done();
  const SensorList sensors = sensors_of(child.pid());
  const test::Readings readings = test::read_all(sensors, now_ns());
  EXPECT_EQ(readings.at("process_written_chars"), 137.0 * block + 1);
  EXPECT_EQ(readings.at("process_count"), 1);
}

/// Whether files there are on a disk, so that the kernel counts what goes past its cache to whoever reads and writes
/// it.
bool is_on_disk(const std::string& path) {
  constexpr std::array<long, 2> disks{0xEF53, 0x58465342};  // ext4, xfs
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 &&
         std::find(disks.begin(), disks.end(), static_cast<long>(status.f_type)) != disks.end();
}

/// Reads and writes a file past the page cache: `reads` blocks and `writes` blocks of 64 KiB.
void transfer_directly(const std::string& path, int reads, int writes) {
  constexpr std::size_t block = 65536;
  const int file = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  void* const data = std::aligned_alloc(block, block);
  std::memset(data, 'k', block);
  bool is_done = file >= 0;
  for (int i = 0; i < reads; ++i) {
    is_done = is_done && ::pread(file, data, block, i * off_t{block}) == ssize_t{block};
  }
  for (int i = 0; i < writes; ++i) {
    is_done = is_done && ::pwrite(file, data, block, i * off_t{block}) == ssize_t{block};
  }
  std::free(data);
  ::close(file);
  if (!is_done) {
    ::_exit(1);
  }
}

TEST(ProcessOnThisMachine, BytesReadFromAndWrittenToADiskAreExact) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "direct";
  // Room that is there already, so that a write is nothing but that.
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const std::vector<char> data(std::size_t{1} << 20U, 'a');
  ASSERT_EQ(::write(file, data.data(), data.size()), static_cast<ssize_t>(data.size()));
  ASSERT_EQ(::fsync(file), 0);
  ::close(file);
  const int direct = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (direct < 0 || !is_on_disk(path)) {
    GTEST_SKIP() << "files in " << directory.path() << " are not read and written past the page cache";
  }
  ::close(direct);
  // A page of this program that is read in meanwhile counts as well, as it should; that does not happen every time.
  std::string found;
  for (int round = 0; round < 5; ++round) {
    Child child([&path] {
      transfer_directly(path, 7, 3);
      const pid_t pid = ::fork();
      if (pid == 0) {
        transfer_directly(path, 2, 4);
        ::_exit(0);
      }
      int status = 0;
      if (::waitpid(pid, &status, 0) != pid || status != 0) {
        ::_exit(1);
      }
    });
    child.wait_until_done();
    const test::Readings readings = test::read_all(sensors_of(child.pid()), now_ns());
    const double read = readings.at("process_read_bytes");
    const double written = readings.at("process_written_bytes");
    if (read == 9 * 65536 && written == 7 * 65536) {
      return;
    }
    found += std::to_string(read) + " and " + std::to_string(written) + " bytes; ";
  }
  FAIL() << found;
}

TEST(ProcessOnThisMachine, ThreadsAndProcessesAreCounted) {
  Child child([] {
    const pid_t parent = ::getpid();
    if (::fork() == 0) {
      // Ends with its parent, which may have ended already.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (::getppid() == parent) {
        ::pause();
      }
      ::_exit(0);
    }
  });
  child.wait_until_done();
  const test::Readings readings = test::read_all(sensors_of(child.pid()), now_ns());
  EXPECT_EQ(readings.at("process_count"), 2);
  Child idle([] {});
  idle.wait_until_done();
  const auto threads_of_one =
      std::distance(std::filesystem::directory_iterator("/proc/" + std::to_string(idle.pid()) + "/task"), {});
  // A sanitizer may add its own to each, some time after it began.
  EXPECT_GE(readings.at("process_threads"), 2);
  EXPECT_LE(readings.at("process_threads"), static_cast<double>(2 * threads_of_one));
}

}  // namespace
}  // namespace kymo::sense

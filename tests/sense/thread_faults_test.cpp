// Page faults of threads on this machine, beside what the kernel tells the threads themselves.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sense/common/sensor.hpp"
#include "support/nanoseconds.hpp"
#include "support/rounds.hpp"

namespace kymo::sense {

SensorMaker make_process_activity_sensor;

namespace {

/// Lets one thread pass for each time that it was opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_one();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return is_open_; });
    is_open_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

/// A thread that touches pages when told so, and says what the kernel counted for it just before it waits and just
/// after.
class FaultingThread {
 public:
  struct Counted {
    long minor = 0;
    long major = 0;
  };

  FaultingThread() : thread_([this] { run(); }) { wait_until_idle(); }
  FaultingThread(const FaultingThread&) = delete;
  FaultingThread& operator=(const FaultingThread&) = delete;
  ~FaultingThread() {
    go(0);
    thread_.join();
  }

  /// Touches so many pages, at least one, and waits again.
  void touch(std::size_t pages) {
    go(pages);
    wait_until_idle();
  }
  [[nodiscard]] long id() const { return id_; }
  [[nodiscard]] Counted before_wait() const { return before_wait_; }
  /// Of the wait before the latest.
  [[nodiscard]] Counted after_wait() const { return after_wait_; }

 private:
  static Counted count() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return {usage.ru_minflt, usage.ru_majflt};
  }
  void run() {
    id_ = ::syscall(SYS_gettid);
    for (;;) {
      before_wait_ = count();
      is_idle_.open();
      go_.pass();
      after_wait_ = count();
      if (pages_ == 0) {
        return;
      }
      const std::size_t bytes = pages_ * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
      const std::unique_ptr<void, std::function<void(void*)>> memory(
          ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
          [bytes](void* address) { ::munmap(address, bytes); });
      ::madvise(memory.get(), bytes, MADV_NOHUGEPAGE);
      for (std::size_t at = 0; at < bytes; at += bytes / pages_) {
        static_cast<volatile char*>(memory.get())[at] = 1;
      }
    }
  }
  void go(std::size_t pages) {
    pages_ = pages;
    go_.open();
  }
  void wait_until_idle() { is_idle_.pass(); }

  std::size_t pages_ = 0;
  long id_ = 0;
  Counted before_wait_;
  Counted after_wait_;
  Gate go_;
  Gate is_idle_;
  std::thread thread_;
};

/// The reading of a thread's metric; -1: there is none.
double reading_of(const Sensor& sensor, const std::string& name, long thread) {
  for (std::size_t i = 0; i < sensor.metrics().size(); ++i) {
    const MetricDeclaration& metric = sensor.metrics()[i];
    if (metric.name == name && metric.labels[0].second == std::to_string(thread) && sensor.readings()[i].has_value) {
      return sensor.readings()[i].value;
    }
  }
  return -1;
}

TEST(ThreadFaults, AreThoseThatTheKernelTellsTheThreadByGetrusage) {
  if (test::is_emulated) {
    GTEST_SKIP() << "qemu-user has no faults of threads";
  }
  FaultingThread thread;
  SensorList list;
  make_process_activity_sensor({{}, static_cast<std::uint64_t>(::getpid())}, list);
  const std::unique_ptr<Sensor>& sensor = list.front();
  sensor->read(test::second);
  const FaultingThread::Counted first = thread.before_wait();
  constexpr long pages = 300;
  thread.touch(pages);
  const FaultingThread::Counted first_end = thread.after_wait();
  const FaultingThread::Counted second = thread.before_wait();
  // Its state may say that it sleeps just before the kernel counts the switch: the next look finds it then.
  sensor->read(10 * test::second);
  sensor->read(20 * test::second);
  const double minor = reading_of(*sensor, "thread_minor_faults", thread.id());
  const double major = reading_of(*sensor, "thread_major_faults", thread.id());
  thread.touch(1);
  const FaultingThread::Counted second_end = thread.after_wait();
  EXPECT_GE(minor, pages);
  EXPECT_GE(minor, static_cast<double>(second.minor - first_end.minor));
  EXPECT_LE(minor, static_cast<double>(second_end.minor - first.minor));
  EXPECT_GE(major, static_cast<double>(second.major - first_end.major));
  EXPECT_LE(major, static_cast<double>(second_end.major - first.major));
}

}  // namespace
}  // namespace kymo::sense

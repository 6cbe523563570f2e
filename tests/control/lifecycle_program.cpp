// A program that ends, forks, crashes or goes on in the way that its first argument says, recording as KYMO_RECORD
// asks.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/kymo.hpp>
#include <kymo/sink.hpp>

namespace {

constexpr int scopes = 1'000;

void work(const char* what) {
  for (int i = 0; i < scopes; ++i) {
    KYMO_SCOPE_DYNAMIC(what);
  }
}

/// Ends this process too where the child did not end well.
void wait_for_child(pid_t child) {
  int status = -1;
  if (::waitpid(child, &status, 0) != child || status != 0) {
    ::_exit(1);
  }
}

int end_normally() {
  work("main");
  return 0;
}

int end_by_exit_inside_a_scope() {
  KYMO_SCOPE("outer");
  work("main");
  std::exit(3);
}

struct WorksAtTheEnd {
  ~WorksAtTheEnd() { work("static destructor"); }
};

int work_in_static_destructor() {
  static WorksAtTheEnd at_the_end;
  std::atexit([] { work("atexit"); });
  work("main");
  return 0;
}

int end_at_once() {
  work("main");
  ::_exit(4);
}

int end_at_once_in_the_next_capture() {
  work("main");
  kymo::disable();
  kymo::enable();
  ::_exit(4);
}

int end_quickly() {
  work("main");
  std::quick_exit(5);
}

int abort_it() {
  work("main");
  std::abort();
}

int crash() {
  work("main");
  ::raise(SIGSEGV);
  return 0;
}

void own_handler(int /*signal*/) {
  ::_exit(42);
}

int crash_with_own_handler() {
  ::signal(SIGSEGV, own_handler);
  return crash();
}

int fork_and_work() {
  work("parent");
  KYMO_SCOPE("open over fork");
  const pid_t child = ::fork();
  if (child == 0) {
    work("child");
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      work("grandchild");
      std::exit(0);
    }
    wait_for_child(grandchild);
    std::exit(0);
  }
  wait_for_child(child);
  work("parent");
  return 0;
}

/// Forks in a fiber, while another thread is in another one.
int fork_in_fiber() {
  const kymo::Fiber fiber("task");
  const kymo::Fiber busy("busy");
  std::atomic<bool> is_busy{false};
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    const kymo::FiberGuard guard(busy);
    is_busy = true;
    while (!is_done) {
      std::this_thread::yield();
    }
  });
  while (!is_busy) {
    std::this_thread::yield();
  }
  kymo::fiber_enter(fiber);
  {
    KYMO_SCOPE("open over fork");
    work("parent");
    const pid_t child = ::fork();
    if (child == 0) {
      work("child in fiber");
      kymo::fiber_leave();
      work("child");
      {
        // Its thread does not exist here.
        const kymo::FiberGuard guard(busy);
        work("child in the other fiber");
      }
      std::exit(0);
    }
    wait_for_child(child);
  }
  kymo::fiber_leave();
  is_done = true;
  other.join();
  return 0;
}

int fork_while_threads_record(int forks) {
  std::atomic<bool> is_done{false};
  std::thread busy([&] {
    while (!is_done) {
      work("busy");
    }
  });
  for (int i = 0; i < forks; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      work("child");
      std::exit(0);
    }
    wait_for_child(child);
  }
  is_done = true;
  busy.join();
  return 0;
}

int exec_itself(char** argv) {
  work("before exec");
  char mode[] = "normal";
  char* arguments[] = {argv[0], mode, nullptr};
  ::execv(argv[0], arguments);
  return 1;
}

int work_around(void* module) {
  if (module == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  using Work = void (*)();
  reinterpret_cast<Work>(::dlsym(module, "module_work"))();
  kymo::enable();
  work("main");
  ::dlclose(module);
  work("main");
  return 0;
}

#ifdef LM_ID_NEWLM
int load_module_in_namespace(char** argv) {
  return work_around(::dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW));
}
#else
int load_module_in_namespace(char** /*argv*/) {
  return 2;
}
#endif

int wait_to_be_told() {
  work("main");
  std::puts("ready");
  std::fflush(stdout);
  for (std::string line; line != "go";) {
    char buffer[16] = "";
    if (std::fgets(static_cast<char*>(buffer), sizeof buffer, stdin) == nullptr) {
      break;
    }
    line.assign(static_cast<char*>(buffer), std::strcspn(static_cast<char*>(buffer), "\n"));
  }
  return 0;
}

/// Deeper than a thread may have scopes open.
int nest(int depth) {
  KYMO_SCOPE("nested");
  return depth == 0 ? 0 : nest(depth - 1);
}

int drop_scopes() {
  return nest(12'000);
}

int mark_frames() {
  kymo::set_info("model", "tiny");
  for (int frame = 0; frame < 100; ++frame) {
    { KYMO_SCOPE("frame work", {"frame", frame}); }
    kymo::record_metric("loss", 1.0 / (frame + 1));
    kymo::frame_mark();
    if (frame % 10 == 9) {
      kymo::flush();
    }
  }
  return 0;
}

int record_two_sites() {
  for (int i = 0; i < 10; ++i) {
    KYMO_SCOPE("quiet");
    KYMO_SCOPE("loud");
  }
  return 0;
}

/// The second capture, and the child, are under another filter's name.
int change_sites() {
  record_two_sites();
  kymo::disable();
  ::setenv("KYMO_SITES", "loud", 1);
  kymo::enable();
  record_two_sites();
  const pid_t child = ::fork();
  if (child == 0) {
    record_two_sites();
    std::exit(0);
  }
  wait_for_child(child);
  return 0;
}

/// The child's capture ends with its parent's, while it still works.
int fork_follower() {
  ::setenv("KYMO_STARTER", std::to_string(::getpid()).c_str(), 1);
  ::setenv("KYMO_FOLLOW", kymo::capture_path().c_str(), 1);
  int ready[2];
  if (::pipe(static_cast<int*>(ready)) != 0) {
    return 1;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    work("child");
    kymo::flush();
    static_cast<void>(::write(ready[1], "", 1));
    while (*kymo::capture_path().c_str() != '\0') {
      ::usleep(1000);
    }
    work("after the recording");
    kymo::enable();  // asks for the capture that the parent no longer writes
    work("after the recording");
    ::_exit(*kymo::capture_path().c_str() == '\0' ? 0 : 1);
  }
  char told = 0;
  static_cast<void>(::read(ready[0], &told, 1));
  kymo::stop_capture();
  wait_for_child(child);
  return 0;
}

int trigger_itself() {
  work("before");
  kymo::flush();
  std::printf("%d", kymo::trigger() ? 1 : 0);
  work("after");
  return 0;
}

/// Triggers where only a sink holds something back.
int trigger_a_sink() {
  class Holding final : public kymo::Sink {
   public:
    void write(const kymo::EventBatch& /*batch*/) override {}
    void trigger() override { ++calls; }
    std::atomic<int> calls{0};
  };
  const auto sink = std::make_shared<Holding>();
  const kymo::SinkGuard installed = kymo::install(sink);
  const bool is_done = kymo::trigger();
  return !is_done && sink->calls == 1 ? 0 : 1;
}

/// Marks frames that a flight recorder of a millisecond lets go, after those that it wrote.
int lose_frames() {
  kymo::frame_mark();
  kymo::frame_mark();
  static_cast<void>(kymo::trigger());
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  for (int marks = 0; marks < 50 || std::chrono::steady_clock::now() < end; ++marks) {
    kymo::frame_mark();
    kymo::flush();
  }
  ::_exit(4);
}

int trace_by_a_sink() {
  const kymo::SinkGuard nowhere = kymo::ChromeTraceSink{"/nonexistent/trace.json"}.install();
  const kymo::SinkGuard guard = kymo::ChromeTraceSink{std::getenv("TRACE_OF_THE_SINK")}.install();
  work("main");
  return 0;
}

int fill_the_disk() {
  // The file may not grow past this size: a write then fails as on a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{64 * 1024, 64 * 1024};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 200; ++i) {
    work("main");
    kymo::flush();
  }
  std::puts("result 42");
  return 0;
}

int be_killed_on_a_full_disk() {
  fill_the_disk();
  work("main");
  ::raise(SIGKILL);
  return 1;
}

int go_on_elsewhere() {
  fill_the_disk();
  kymo::CaptureOptions elsewhere;
  elsewhere.path = kymo::capture_path();
  const bool is_started = kymo::start_capture(elsewhere);
  work("elsewhere");
  return is_started ? 0 : 1;
}

/// Holds the collector with each batch that has scopes until the program has gone on.
class HeldCollector final : public kymo::Sink {
 public:
  void write(const kymo::EventBatch& batch) override {
    bool has_scopes = false;
    for (const kymo::ScopeRun& run : batch.runs) {
      has_scopes = has_scopes || !run.events.empty();
    }
    if (has_scopes) {
      std::unique_lock lock(mutex_);
      ++held_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return released_ >= held_; });
    }
  }

  /// Runs a step while the collector is held with the next batch.
  void let_pass(void (*step)()) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [this] { return held_ > released_; })) {
      ::_exit(1);
    }
    step();
    ++released_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;
  int released_ = 0;
};

/// The batch with most of the scopes reaches the capture's size. By then a thousand more wait in memory.
int be_killed_beyond_the_size_limit() {
  const auto collector = std::make_shared<HeldCollector>();
  const kymo::SinkGuard guard = kymo::install(collector);
  const std::string path = std::string(std::getenv("KYMO_RECORD")) + "run.kymo";
  kymo::CaptureOptions options;
  options.path = path.c_str();
  options.max_bytes = 8'000;
  if (!kymo::start_capture(options)) {
    return 1;
  }
  { KYMO_SCOPE("first"); }
  collector->let_pass([] {
    for (int i = 0; i < 20; ++i) {
      work("main");
    }
  });
  collector->let_pass([] { work("beyond"); });
  collector->let_pass([] {});
  static_cast<void>(kymo::flush());
  ::raise(SIGKILL);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "normal";
  if (mode == "size-limit-killed") {
    return be_killed_beyond_the_size_limit();
  }
  if (mode == "module-in-namespace") {
    return load_module_in_namespace(argv);
  }
  kymo::enable();
  const std::map<std::string, int (*)()> modes{
      {"normal", end_normally},
      {"exit", end_by_exit_inside_a_scope},
      {"static", work_in_static_destructor},
      {"_exit", end_at_once},
      {"_exit-next", end_at_once_in_the_next_capture},
      {"quick_exit", end_quickly},
      {"abort", abort_it},
      {"crash", crash},
      {"crash-handled", crash_with_own_handler},
      {"fork", fork_and_work},
      {"fork-fiber", fork_in_fiber},
      {"fork-follower", fork_follower},
      {"wait", wait_to_be_told},
      {"frames", mark_frames},
      {"drops", drop_scopes},
      {"sites", record_two_sites},
      {"sites-change", change_sites},
      {"trigger", trigger_itself},
      {"trigger-sink", trigger_a_sink},
      {"lose-frames", lose_frames},
      {"trace-sink", trace_by_a_sink},
      {"full-disk", fill_the_disk},
      {"full-disk-elsewhere", go_on_elsewhere},
      {"full-disk-killed", be_killed_on_a_full_disk},
  };
  if (mode == "fork-threads") {
    return fork_while_threads_record(std::atoi(argv[2]));
  }
  if (mode == "exec") {
    return exec_itself(argv);
  }
  if (mode == "module") {
    return work_around(::dlopen(argv[2], RTLD_NOW));
  }
  const auto found = modes.find(mode);
  return found != modes.end() ? found->second() : 2;
}

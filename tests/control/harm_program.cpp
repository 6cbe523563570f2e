// A program on which recording is hard in the way that its first argument says. Ends with 0 where recording has not
// harmed it, by SIGALRM where it hangs.
#include "harm_program.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/kymo.hpp>
#include <kymo/sink.hpp>

namespace {

void call_kymo_in_a_sink() {
  std::atomic<int> calls{0};
  const auto sink = std::make_shared<SlowSink>([&calls] {
    kymo::set_info("from", "a sink");
    static_cast<void>(kymo::capture_path());
    require(!kymo::flush(), "a flush in a sink is refused");
    require(!kymo::stop_capture(), "stop_capture() in a sink is refused");
    require(!kymo::trigger(), "a trigger in a sink is refused");
    kymo::disable();
    calls.fetch_add(1);
  });
  kymo::enable();
  const kymo::SinkGuard guard = kymo::install(sink);
  work("main");
  kymo::flush();
  require(calls.load() > 0 && kymo::is_recording(), "recording goes on");
}

/// The sink never comes back: the program's end does not wait for it for ever.
void end_beside_a_sink_that_hangs(int awaited = 0) {
  static const auto sink = std::make_shared<SlowSink>();
  kymo::enable();
  if (awaited != 0) {
    until_handled(awaited);
  }
  static_cast<void>(std::make_unique<kymo::SinkGuard>(kymo::install(sink)).release());  // still installed at the end
  sink->shut();
  work("main");
  until([] { return sink->is_stalling(); });
}

/// Its end sends the signal, and gives the program time to end by it.
class SignallingSink final : public kymo::Sink {
 public:
  void write(const kymo::EventBatch& /*batch*/) override {}
  void finish() override {
    ::kill(::getpid(), SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
};

/// Sinks end from the last to the first, so that the signal comes before the capture is closed.
void end_by_a_signal_while_ending() {
  kymo::enable();
  static_cast<void>(std::make_unique<kymo::SinkGuard>(kymo::install(std::make_shared<SignallingSink>())).release());
  work("main");
  until_handled(SIGTERM);
}

void cancel_a_flush() {
  const auto sink = std::make_shared<SlowSink>();
  kymo::enable();
  const kymo::SinkGuard guard = kymo::install(sink);
  sink->shut();
  work("stalled", 10);
  std::thread waits([] {
    kymo::flush();
    kymo::stop_capture();
    ::pthread_testcancel();
  });
  until([&] { return sink->is_stalling(); });
  require(::pthread_cancel(waits.native_handle()) == 0, "pthread_cancel()");
  sink->open();
  waits.join();
  require(!kymo::is_recording() || kymo::flush(), "the recorder answers");
}

/// Cancelled before start_capture() and while it waits for a sink, each time in the midst of what it does.
void cancel_a_start() {
  const std::string directory = std::getenv("KYMO_RECORD");
  const auto sink = std::make_shared<SlowSink>();
  const kymo::SinkGuard guard = kymo::install(sink);
  for (const bool is_stalled : {false, true}) {
    kymo::CaptureOptions options;
    const std::string path = directory + (is_stalled ? "stalled.kymo" : "free.kymo");
    options.path = path;
    std::atomic<bool> is_started{false};
    std::atomic<bool> is_over{false};
    if (is_stalled) {
      // The sink holds the collector before the capture starts.
      sink->shut();
      work("stalled", 10);
      until([&] { return sink->is_stalling(); });
    }
    std::thread starter([&] {
      if (!is_stalled) {
        ::pthread_cancel(::pthread_self());
      }
      is_started.store(kymo::start_capture(options));
      ::pthread_testcancel();
      is_over.store(true);
    });
    if (is_stalled) {
      // The file is there: the capture waits for the collector to take it in.
      until([&] { return std::filesystem::exists(path); });
      require(::pthread_cancel(starter.native_handle()) == 0, "pthread_cancel()");
      sink->open();
    }
    starter.join();
    require(is_started.load() && !is_over.load(), "the thread is cancelled once the capture has started");
    work("main");
    require(kymo::stop_capture(), "the capture is there and can be stopped");
  }
}

void record_with_small_files() {
  ::signal(SIGXFSZ, SIG_DFL);
  const rlimit limit{64 * 1024, 64 * 1024};
  require(::setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit()");
  kymo::enable();
  work("main", 200'000);
  kymo::flush();
}

/// Records with stderr elsewhere. The environment has what kymo has to say something about.
void be_told_on(int file) {
  require(file >= 0 && ::dup2(file, STDERR_FILENO) == STDERR_FILENO, "dup2()");
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  kymo::enable();
  work("main");
  kymo::flush();
}

void be_told_without_a_reader() {
  int ends[2];
  require(::pipe(ends) == 0 && ::close(ends[0]) == 0, "pipe()");
  be_told_on(ends[1]);
}

void be_told_beside_a_reader_that_does_not_read() {
  int ends[2];
  require(::pipe(ends) == 0 && ::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0, "pipe()");
  const std::vector<char> some(4096);
  while (::write(ends[1], some.data(), some.size()) > 0) {
  }
  require(::fcntl(ends[1], F_SETFL, 0) == 0, "fcntl()");
  be_told_on(ends[1]);
}

void be_told_in_a_file_of_full_size() {
  std::FILE* const file = std::tmpfile();
  const rlimit limit{4096, 4096};
  require(file != nullptr && std::fseek(file, 4096, SEEK_SET) == 0 && ::setrlimit(RLIMIT_FSIZE, &limit) == 0,
          "setrlimit()");
  be_told_on(::fileno(file));
}

void record_with_little_memory() {
  kymo::enable();
  work("main", 10);
  // Nothing more can be mapped: neither for the collector nor for anybody.
  const rlimit limit{1, RLIM_INFINITY};
  require(::setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit()");
  for (int i = 0; i < 200; ++i) {
    work("main", 10'000);
    const std::string name = "a name of its own " + std::to_string(i);
    kymo::message(name);
    work(name.c_str(), 1);
  }
  kymo::flush();
}

/// How often the sampling thread has waited so far.
std::uint64_t count_samplings() {
  std::uint64_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    std::ifstream status(task.path() / "status");
    for (std::string word; name == "kymo-fast" && status >> word;) {
      if (word == "voluntary_ctxt_switches:") {
        status >> count;
      }
    }
  }
  return count;
}

void sample_a_while() {
  const std::uint64_t wanted = count_samplings() + 50;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (count_samplings() < wanted) {
    require(std::chrono::steady_clock::now() < deadline, "the sampler stands still");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// A source that never answers, of which a file tells that it was asked.
void end_beside_a_source_that_hangs() {
  const std::string mark = std::getenv("STALLED_NVML_MARK");
  kymo::enable();
  work("main");
  until([&] { return std::filesystem::exists(mark); });
}

/// As a daemon does, and then opens a file of its own under each number.
void close_all_descriptors(void (*go_on)()) {
  kymo::enable();
  work("before");
  kymo::flush();
  const std::string directory = std::getenv("KYMO_RECORD");
  struct rlimit limit {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int most = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 4096));
  for (int fd = 3; fd < most; ++fd) {
    ::close(fd);
  }
  std::vector<std::pair<int, std::string>> own;
  for (int i = 0; i < 300; ++i) {
    const std::string path = directory + "own-" + std::to_string(i);
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    require(fd >= 0, "a file of the program's own");
    own.emplace_back(fd, path);
  }
  work("after", 100'000);
  go_on();
  kymo::flush();
  for (const auto& [fd, path] : own) {
    struct stat status {};
    struct stat named {};
    require(::fstat(fd, &status) == 0 && ::stat(path.c_str(), &named) == 0 && status.st_ino == named.st_ino,
            "a file of the program's own was closed");
    require(status.st_size == 0, "a file of the program's own was written to");
    ::unlink(path.c_str());
  }
}

void start_without_standard_streams() {
  ::close(0);
  ::close(1);
  ::close(2);
  kymo::enable();
  const char text[] = "for a person\n";
  static_cast<void>(::write(STDERR_FILENO, text, sizeof text));
  static_cast<void>(::write(STDOUT_FILENO, text, sizeof text));
  work("main");
}

/// Its first file gets the number of the missing stream.
void start_without_stderr() {
  if (std::getenv("HAS_NO_STDERR") == nullptr) {
    ::close(2);
    ::setenv("HAS_NO_STDERR", "1", 1);
    ::execl("/proc/self/exe", "harm_program", "no-stderr", nullptr);
  }
  const std::string path = std::string(std::getenv("KYMO_RECORD")) + "../data";
  require(::open(path.c_str(), O_WRONLY | O_CREAT, 0600) == STDERR_FILENO, "the number of the stream is free");
  ::setenv("KYMO_SCOPE_EVERY", "often", 1);
  kymo::enable();
  work("main");
  require(std::filesystem::file_size(path) == 0, "a message goes to no file of the program's");
}

void fault_with_ignored_signal() {
  ::signal(SIGSEGV, SIG_IGN);
  kymo::enable();
  work("main");
  int* const nowhere = static_cast<int*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  *static_cast<volatile int*>(nowhere) = 1;
}

volatile std::sig_atomic_t faults = 0;
char* guarded_page = nullptr;

void open_page(int /*signal*/) {
  faults = faults + 1;
  ::mprotect(guarded_page, 4096, PROT_READ | PROT_WRITE);
}

void mend_its_own_faults() {
  guarded_page = static_cast<char*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::signal(SIGSEGV, open_page);
  kymo::enable();
  for (int i = 0; i < 100; ++i) {
    ::mprotect(guarded_page, 4096, PROT_NONE);
    *static_cast<volatile char*>(guarded_page) = 1;
  }
  require(faults == 100, "each fault came once");
  struct sigaction action {};
  ::sigaction(SIGSEGV, nullptr, &action);
  require(action.sa_handler == open_page, "the program's handler stays");
  work("main");
}

void end_by_a_signal(int signal) {
  kymo::enable();
  work("main");
  until_handled(signal);
  ::raise(signal);
}

/// What a debugger or a core dump is told of a signal that ends a recorded program: `send` sends it.
siginfo_t seen_at_the_end(int signal, const std::function<void()>& send) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    require(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0, "ptrace");
    kymo::enable();
    work("traced");
    send();
    ::_exit(1);
  }
  siginfo_t last{};
  int status = 0;
  while (::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    const int stopped_by = WSTOPSIG(status);
    if (stopped_by == signal) {
      require(::ptrace(PTRACE_GETSIGINFO, child, nullptr, &last) == 0, "PTRACE_GETSIGINFO");
    }
    ::ptrace(PTRACE_CONT, child, nullptr, stopped_by);
  }
  require(WIFSIGNALED(status) && WTERMSIG(status) == signal, "the signal ends the program");
  require(last.si_pid == child, "the sender stays");
  return last;
}

void keep_what_is_known_of_a_signal() {
  require(seen_at_the_end(SIGABRT, [] { ::raise(SIGABRT); }).si_code == SI_TKILL, "a raised signal stays raised");
  require(seen_at_the_end(SIGSEGV, [] { ::raise(SIGSEGV); }).si_code == SI_TKILL, "a raised fault stays raised");
  const siginfo_t queued = seen_at_the_end(SIGTERM, [] {
    until_handled(SIGTERM);
    sigval value{};
    value.sival_int = 4711;
    ::sigqueue(::getpid(), SIGTERM, value);
    ::pause();
  });
  require(queued.si_code == SI_QUEUE && queued.si_value.sival_int == 4711, "a queued signal keeps its value");
}

void use_a_smaller_options_structure() {
  struct {
    std::size_t struct_size;
    const char* path;
  } const old{sizeof old, std::getenv("KYMO_RECORD")};
  require(kymo_start_capture(reinterpret_cast<const kymo_capture_options*>(&old)) == 1, "an older program's options");
  work("main");
}

void use_smaller_options_of_cpp() {
  kymo::CaptureOptions options;
  options.path = std::getenv("KYMO_RECORD");
  options.max_bytes = 1;  // behind the end of the older structure
  require(kymo::detail::start_capture(options, offsetof(kymo::CaptureOptions, max_bytes)),
          "an older program's options");
  work("main");
}

void open_no_port() {
  kymo::enable();
  sample_a_while();
  std::string ports;
  for (const char* const kind : {"tcp", "tcp6", "udp", "udp6"}) {
    std::ifstream file(std::string("/proc/self/net/") + kind);
    ports.append(std::istreambuf_iterator<char>(file), {});
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry, error).string();
    if (target.rfind("socket:[", 0) == 0) {
      require(ports.find(' ' + target.substr(8, target.size() - 9) + ' ') == std::string::npos, "no port is open");
    }
  }
}

std::atomic<int> syncs{0};

void sync_as_asked() {
  kymo::enable();
  for (int i = 0; i < 3; ++i) {
    work("main");
    require(kymo::flush(), "flush");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  require((syncs.load() > 0) == (std::getenv("KYMO_SYNC") != nullptr), "the file is flushed to the disk where asked");
}

}  // namespace

/// libkymo's calls come here, too.
extern "C" [[gnu::visibility("default")]] int fdatasync(int file) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

int main(int argc, char** argv) {
  ::alarm(120);
  Modes modes{
      {"hanging-sink", [] { end_beside_a_sink_that_hangs(); }},
      {"hanging-sink-term",
       [] {
         end_beside_a_sink_that_hangs(SIGTERM);
         ::raise(SIGTERM);
       }},
      {"term-at-exit", end_by_a_signal_while_ending},
      {"calling-sink", call_kymo_in_a_sink},
      {"cancel", cancel_a_flush},
      {"cancel-start", cancel_a_start},
      {"small-files", record_with_small_files},
      {"told-nobody", be_told_without_a_reader},
      {"told-a-full-pipe", be_told_beside_a_reader_that_does_not_read},
      {"told-a-full-file", be_told_in_a_file_of_full_size},
      {"little-memory", record_with_little_memory},
      {"close-all", [] { close_all_descriptors([] {}); }},
      {"close-all-sampled", [] { close_all_descriptors(sample_a_while); }},
      {"stalled-source", end_beside_a_source_that_hangs},
      {"no-streams", start_without_standard_streams},
      {"no-stderr", start_without_stderr},
      {"ignored-fault", fault_with_ignored_signal},
      {"own-faults", mend_its_own_faults},
      {"hanging-sink-crash",
       [] {
         end_beside_a_sink_that_hangs();
         ::raise(SIGSEGV);
       }},
      {"ports", open_no_port},
      {"syncs", sync_as_asked},
      {"hang-up", [] { end_by_a_signal(SIGHUP); }},
      {"term", [] { end_by_a_signal(SIGTERM); }},
      {"interrupt", [] { end_by_a_signal(SIGINT); }},
      {"known-of-a-signal", keep_what_is_known_of_a_signal},
      {"old-options", use_a_smaller_options_structure},
      {"old-options-of-cpp", use_smaller_options_of_cpp},
  };
  modes.merge(end_modes());
  modes.merge(fork_modes());
  modes.merge(disk_modes());
  modes.merge(handler_modes());
  modes.merge(thread_modes());
  const auto found = modes.find(argc > 1 ? argv[1] : "");
  if (found == modes.end()) {
    return 2;
  }
  found->second();
  return 0;
}

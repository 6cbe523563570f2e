// A program that records, for tests of the command.
//
//   recorded_program scopes N          N scopes, and an end
//   recorded_program kill N            N scopes, and SIGKILL to itself
//   recorded_program flush N           the same once all of it is in the file
//   recorded_program torn-begin N      N scopes in a capture, and SIGKILL within the first write to the next one
//   recorded_program torn-end N        N scopes, and SIGKILL within the last write
//   recorded_program family            a scope, a fork that records one too, and an exec of `scopes 3`
//   recorded_program await FILE        100 scopes, then makes FILE and waits for SIGTERM, upon which it exits with 42
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/kymo.hpp>

namespace {

volatile std::sig_atomic_t is_told_to_end = 0;
volatile std::sig_atomic_t dies_at_next_write = 0;

void record_scopes(long count) {
  for (long i = 0; i < count; ++i) {
    KYMO_SCOPE("work", {"number", i});
  }
}

int run_family(char* program) {
  { KYMO_SCOPE("parent"); }
  const pid_t child = ::fork();
  if (child == 0) {
    { KYMO_SCOPE("child"); }
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  char mode[] = "scopes";
  char count[] = "3";
  char* const arguments[] = {program, static_cast<char*>(mode), static_cast<char*>(count), nullptr};
  ::execv(program, static_cast<char* const*>(arguments));
  return 1;
}

int die_within_a_write(std::string_view mode, long scopes) {
  record_scopes(scopes);
  for (int i = 0; i < 2'000; ++i) {
    KYMO_SCOPE_DYNAMIC("a name that makes the declarations long " + std::to_string(i));
  }
  if (mode == "torn-begin") {
    kymo::disable();
  } else {
    static_cast<void>(kymo::flush());
  }
  dies_at_next_write = 1;
  if (mode == "torn-begin") {
    kymo::enable();
  } else {
    kymo::disable();
  }
  return 1;
}

int await(const char* file) {
  struct sigaction action {};
  action.sa_handler = [](int) { is_told_to_end = 1; };
  ::sigaction(SIGTERM, &action, nullptr);
  // Blocked, but while waiting: it cannot come between the look and the wait.
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  record_scopes(100);
  if (std::FILE* const made = std::fopen(file, "w")) {
    std::fprintf(made, "%ld\n", static_cast<long>(::getpid()));
    std::fclose(made);
  }
  while (is_told_to_end == 0) {
    ::sigsuspend(&before);
  }
  return 42;
}

}  // namespace

/// The C library's, but for the kill that comes in the middle: the kernel goes by whole pages.
extern "C" __attribute__((visibility("default"))) ssize_t pwrite(int file, const void* bytes, std::size_t size,
                                                                 off_t offset) {
  constexpr off_t page = 4'096;
  const off_t torn_at = (offset + static_cast<off_t>(size) - 1) / page * page;
  const bool is_torn = dies_at_next_write != 0 && torn_at > offset;
  const ssize_t written =
      ::syscall(SYS_pwrite64, file, bytes, is_torn ? static_cast<std::size_t>(torn_at - offset) : size, offset);
  if (is_torn) {
    ::raise(SIGKILL);
  }
  return written;
}

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  kymo::enable();
  if (mode == "scopes" && argc > 2) {
    record_scopes(std::atol(argv[2]));
    kymo::record_metric_unit("answer", 42, "1");
    kymo::frame_mark();
    kymo::frame_mark();
    return 0;
  }
  if ((mode == "kill" || mode == "flush") && argc > 2) {
    record_scopes(std::atol(argv[2]));
    if (mode == "flush") {
      static_cast<void>(kymo::flush());
    }
    ::raise(SIGKILL);
  }
  if ((mode == "torn-begin" || mode == "torn-end") && argc > 2) {
    return die_within_a_write(mode, std::atol(argv[2]));
  }
  if (mode == "family") {
    return run_family(argv[0]);
  }
  if (mode == "await" && argc > 2) {
    return await(argv[2]);
  }
  return 99;
}

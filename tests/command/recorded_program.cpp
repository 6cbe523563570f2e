// A program that records, for tests of the command.
//
//   recorded_program scopes N          N scopes, and an end
//   recorded_program kill N            N scopes, and SIGKILL to itself
//   recorded_program flush N           the same once all of it is in the file
//   recorded_program family            a scope, a fork that records one too, and an exec of `scopes 3`
//   recorded_program await FILE        100 scopes, then makes FILE and waits for SIGTERM, upon which it exits with 42
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

#include <kymo/kymo.hpp>

namespace {

volatile std::sig_atomic_t is_told_to_end = 0;

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
  if (mode == "family") {
    return run_family(argv[0]);
  }
  if (mode == "await" && argc > 2) {
    return await(argv[2]);
  }
  return 99;
}

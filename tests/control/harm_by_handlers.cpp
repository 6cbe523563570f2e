// Handles signals that kymo handles too, as the first argument says: harm_program.cpp.
#include "harm_program.hpp"

#include <csetjmp>
#include <csignal>

#include <sys/mman.h>

namespace {

void (*former)(int) = nullptr;
volatile std::sig_atomic_t calls = 0;
sigjmp_buf before_fault;

/// As programs go on with what was there before them.
void go_on_with_former(int signal) {
  if (former != SIG_DFL && former != SIG_IGN) {
    former(signal);
  }
  calls = calls + 1;
}

void go_on_and_jump(int signal) {
  go_on_with_former(signal);
  siglongjmp(before_fault, 1);
}

/// The program saves its work where it is asked to end, and lives on.
void survive_a_request_to_end() {
  kymo::enable();
  work("before");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    until_handled(signal);
    former = ::signal(signal, go_on_with_former);
    require(former != SIG_DFL, "kymo's handler was there");
    ::raise(signal);
  }
  require(calls == 3, "the program's handler ran to its end");
  require(kymo::is_recording(), "recording goes on");
  work("after");
}

void mend_faults_after_others() {
  kymo::enable();
  work("before");
  former = ::signal(SIGSEGV, go_on_and_jump);
  require(former != SIG_DFL, "kymo's handler was there");
  auto* const nowhere =
      static_cast<volatile int*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < 1'000; ++i) {
    if (sigsetjmp(before_fault, 1) == 0) {
      *nowhere = 1;
    }
    if (i % 50 == 0) {
      ::usleep(2'000);
    }
  }
  require(calls == 1'000, "each fault came once");
  work("after");
}

/// As runtimes do that ask the handler before theirs first.
void believe_in_the_former_handler() {
  kymo::enable();
  work("before");
  former = ::signal(SIGSEGV, go_on_with_former);
  *static_cast<volatile int*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) = 1;
}

/// As ncurses and Python do.
void handle_where_nobody_does() {
  kymo::enable();
  work("before");
  for (const int signal : {SIGINT, SIGHUP}) {
    struct sigaction action {};
    require(::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL,
            "the action is the default one");
    former = SIG_DFL;
    ::signal(signal, go_on_with_former);
  }
  until_handled(SIGTERM);
  ::raise(SIGINT);
  ::raise(SIGHUP);
  require(calls == 2, "the program's handlers stay");
  work("after");
}

}  // namespace

Modes handler_modes() {
  return {
      {"survived-requests", survive_a_request_to_end},
      {"mended-after-others", mend_faults_after_others},
      {"endless-fault", believe_in_the_former_handler},
      {"default-handlers", handle_where_nobody_does},
  };
}

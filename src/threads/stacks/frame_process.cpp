#include "threads/stacks/frame_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threads/stacks/call_frames.hpp"
#include "threads/stacks/source_frames.hpp"

namespace kymo::threads {
namespace {

constexpr std::size_t longest_path = 4096;
constexpr std::size_t most_frame_bytes = std::size_t{32} << 10U;
constexpr int most_seconds = 2;

/// What is asked; the path's bytes follow.
struct Question {
  std::uint64_t number = 0;
  std::uint64_t inode = 0;
  std::uint64_t place = 0;  ///< an offset in the file, of the source an address
  std::uint32_t module = 0;
  bool is_of_source = false;
};

/// What is answered; frames of the source follow: symbol, file and line as text, each with a zero behind it.
struct Answer {
  static constexpr std::uint64_t failed = UINT64_MAX;

  std::uint64_t number = failed;  ///< the question's; failed: the process ended over one
  bool has_information = false;   ///< the file has what was asked for
  bool is_found = false;
  UnwindRule rule;
};

void answer(int socket, const Answer& reply, std::string_view frames = {}) {
  std::vector<char> message(sizeof reply + frames.size());
  std::memcpy(message.data(), &reply, sizeof reply);
  std::copy(frames.begin(), frames.end(), message.data() + sizeof reply);
  static_cast<void>(!::send(socket, message.data(), message.size(), MSG_NOSIGNAL));
}

/// Nothing of the recording's stays open here: rings, captures and their locks.
void keep_only(int socket) {
  ::dup2(socket, 0);
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, 1U, ~0U, 0U) == 0) {
    return;
  }
#endif
  // An older kernel, or its headers.
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (rlim_t i = 1; i < limit.rlim_cur; ++i) {
    ::close(static_cast<int>(i));
  }
}

/// From the terminal come signals for the recording, which still wants answers then.
void settle_signals() {
  sigset_t held;
  ::sigfillset(&held);
  ::sigdelset(&held, SIGALRM);
  ::sigprocmask(SIG_SETMASK, &held, nullptr);
  for (const int number : {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGCHLD}) {
    ::signal(number, SIG_DFL);
  }
}

/// Relative to what the process has: sanitizers map terabytes.
void limit_memory() {
  constexpr rlim_t more = rlim_t{2} << 30U;
  const std::string pages = base::read_small_file("/proc/self/statm");
  const rlim_t present = std::strtoull(pages.c_str(), nullptr, 10) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  const rlimit memory{present + more, present + more};
  ::setrlimit(RLIMIT_AS, &memory);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

/// A signal that nothing holds back ends the process after the time; 0: no longer.
void set_alarm(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

/// What was read of files, by the caller's numbers of them.
template <typename Information>
class ReadFiles {
 public:
  Information* find(std::uint32_t module, const std::string& path, std::uint64_t inode) {
    constexpr std::size_t most_files = 256;
    const auto known = files_.find(module);
    if (known != files_.end()) {
      return known->second.get();
    }
    if (files_.size() == most_files) {
      files_.clear();
    }
    return files_.emplace(module, Information::open(path, inode)).first->second.get();
  }

 private:
  std::map<std::uint32_t, std::unique_ptr<Information>> files_;
};

/// As they follow an answer: from the outermost on, as far as there is room.
std::string bytes_of(const std::vector<SourceFrame>& frames) {
  std::string bytes;
  for (const SourceFrame& frame : frames) {
    const std::size_t before = bytes.size();
    for (const std::string& text : {frame.symbol, frame.file, std::to_string(frame.line)}) {
      bytes.append(text).push_back('\0');
    }
    if (bytes.size() > most_frame_bytes) {
      bytes.resize(before);
      break;
    }
  }
  return bytes;
}

std::vector<SourceFrame> frames_of(std::string_view bytes) {
  std::vector<SourceFrame> frames;
  const auto next_text = [&bytes] {
    const std::string_view text = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(text.size() + 1, bytes.size()));
    return text;
  };
  while (!bytes.empty()) {
    SourceFrame frame;
    frame.symbol = next_text();
    frame.file = next_text();
    const std::string_view line = next_text();
    std::from_chars(line.data(), line.data() + line.size(), frame.line);
    frames.push_back(std::move(frame));
  }
  return frames;
}

/// Waits for a whole answer. False if there is none in time, or the other end is closed.
bool receive(int socket, Answer& reply, std::vector<SourceFrame>& frames) {
  constexpr int most_wait_ms = 2000 * most_seconds;
  pollfd polled{socket, POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&polled, 1, most_wait_ms)) < 0 && errno == EINTR) {
  }
  std::array<char, sizeof(Answer) + most_frame_bytes> message{};
  const ssize_t size = ready == 1 ? ::recv(socket, message.data(), message.size(), 0) : -1;
  if (size < static_cast<ssize_t>(sizeof reply)) {
    return false;
  }
  std::memcpy(&reply, message.data(), sizeof reply);
  frames = frames_of({message.data() + sizeof reply, static_cast<std::size_t>(size) - sizeof reply});
  return true;
}

/// Until the other end is closed.
void serve(int socket) {
  ReadFiles<CallFrames> frames;
  ReadFiles<SourceFrames> sources;
  std::array<char, sizeof(Question) + longest_path> message{};
  for (;;) {
    const ssize_t size = ::recv(socket, message.data(), message.size(), 0);
    if (size < static_cast<ssize_t>(sizeof(Question))) {
      return;
    }
    Question question;
    std::memcpy(&question, message.data(), sizeof question);
    const std::string path(message.data() + sizeof question, static_cast<std::size_t>(size) - sizeof question);
    Answer reply;
    reply.number = question.number;
    std::string found;
    set_alarm(most_seconds);
    if (question.is_of_source) {
      SourceFrames* const source = sources.find(question.module, path, question.inode);
      reply.has_information = source != nullptr;
      if (source != nullptr) {
        found = bytes_of(source->find(question.place));
      }
    } else if (CallFrames* const rules = frames.find(question.module, path, question.inode)) {
      reply.has_information = true;
      if (const auto rule = rules->find(question.place)) {
        reply.is_found = true;
        reply.rule = *rule;
      }
    }
    set_alarm(0);
    answer(socket, reply, found);
  }
}

/// Each process that fails is followed by another, up to a number.
[[noreturn]] void supervise() {
  constexpr int most_processes = 64;
  const int socket = 0;
  for (int i = 0; i < most_processes; ++i) {
    const pid_t worker = ::fork();
    if (worker == 0) {
      limit_memory();
      serve(socket);
      ::_exit(0);
    }
    int status = 0;
    while (worker > 0 && ::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
    }
    if (worker < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
      break;
    }
    answer(socket, {});
  }
  ::_exit(0);
}

}  // namespace

struct FrameProcess::Reply {
  Answer answer;
  std::vector<SourceFrame> frames;
};

FrameProcess::FrameProcess() {
  std::array<int, 2> ends{};
  if (!has_call_frames() || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return;
  }
  base::FileDescriptor own(ends[0]);
  const base::FileDescriptor other(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    settle_signals();
    keep_only(other.get());
    supervise();
  }
  if (pid_ > 0) {
    socket_ = std::move(own);
  }
}

FrameProcess::~FrameProcess() {
  socket_.reset();
  if (pid_ > 0) {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

/// None if the process is gone, the path is too long, or an earlier answer had no information about the file.
std::optional<FrameProcess::Reply> FrameProcess::ask(std::uint32_t module, bool is_of_source, const std::string& path,
                                                     std::uint64_t inode, std::uint64_t place) {
  if (!socket_ || path.size() > longest_path || refused_.count({module, is_of_source}) != 0) {
    return std::nullopt;
  }
  const Question question{++asked_, inode, place, module, is_of_source};
  std::array<char, sizeof(Question) + longest_path> message{};
  std::memcpy(message.data(), &question, sizeof question);
  std::memcpy(message.data() + sizeof question, path.data(), path.size());
  bool is_sent = ::send(socket_.get(), message.data(), sizeof question + path.size(), MSG_NOSIGNAL) > 0;
  while (is_sent) {
    constexpr int turn_ms = 10;
    pollfd waited{socket_.get(), POLLIN, 0};
    while (meanwhile_ && ::poll(&waited, 1, turn_ms) == 0) {
      meanwhile_();
    }
    Reply reply;
    is_sent = receive(socket_.get(), reply.answer, reply.frames);
    if (is_sent && (reply.answer.number == Answer::failed || reply.answer.number == question.number)) {
      if (!reply.answer.has_information) {
        refused_.insert({module, is_of_source});
      }
      return reply;
    }
  }
  socket_.reset();
  return std::nullopt;
}

std::optional<UnwindRule> FrameProcess::find(std::uint32_t module, const std::string& path, std::uint64_t inode,
                                             std::uint64_t file_offset) {
  const auto reply = ask(module, false, path, inode, file_offset);
  return reply && reply->answer.is_found ? std::optional(reply->answer.rule) : std::nullopt;
}

std::vector<SourceFrame> FrameProcess::find_source(std::uint32_t module, const std::string& path, std::uint64_t inode,
                                                   std::uint64_t address) {
  auto reply = ask(module, true, path, inode, address);
  return reply ? std::move(reply->frames) : std::vector<SourceFrame>();
}

}  // namespace kymo::threads

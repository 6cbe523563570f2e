#include <kymo/trace_writer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include <unistd.h>

#include "base/output/output_file.hpp"
#include "base/system/clock.hpp"
#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "base/text/json_text.hpp"
#include "exchange/common/json_argument.hpp"

namespace kymo {

namespace {

constexpr std::size_t held_back = std::size_t{64} << 10U;
constexpr std::string_view closing = "\n]\n";
constexpr double most_ns = 4e18;

/// 0 for what is negative or NaN.
std::int64_t round_ns(double ns) {
  return ns > 0 ? static_cast<std::int64_t>(std::llround(std::min(ns, most_ns))) : 0;
}

/// Microseconds without trailing zeros: 123 or 12.5.
void append_short_microseconds(std::string& out, std::int64_t time_ns) {
  base::append_microseconds(out, time_ns);
  std::size_t size = out.find_last_not_of('0') + 1;
  size -= out[size - 1] == '.' ? 1U : 0U;
  out.resize(size);
}

/// Appends a value. Returns false and appends nothing if JSON cannot represent it.
bool append_value(std::string& out, const Argument& argument) {
  const std::string_view text = argument.text;
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), UINT32_MAX));
  const std::uint64_t bits = argument.type == ArgumentType::string ? 0 : argument.bits;
  return exchange::append_json_argument(out, {{}, argument.type, false, size, bits}, text);
}

void append_arguments(std::string& out, const Argument* arguments, std::size_t count) {
  std::string_view separator = ",\"args\":{";
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = out.size();
    out += separator;
    base::append_json_string(out, arguments[i].name);
    out += ':';
    if (append_value(out, arguments[i])) {
      separator = ",";
    } else {
      out.resize(size);
    }
  }
  if (separator.size() == 1) {
    out += '}';
  }
}

void say_error(const std::exception& error) noexcept {
  base::say(error.what());
}

/// The process's writer is never destroyed because destructors of other objects may still push.
std::atomic<bool> process_exits{false};

}  // namespace

class TraceWriter::Implementation {
 public:
  Implementation(const std::string& path, const TraceWriterOptions& options)
      : file_(base::OutputFile::create(path)),
        owner_(::getpid()),
        epoch_ns_(options.epoch_ns.value_or(base::monotonic_now_ns())),
        is_whole_(options.whole_microseconds) {
    file_.buffer() += '[';
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() {
    if (!is_usable()) {
      return;
    }
    try {
      const std::lock_guard lock(mutex_);
      if (!is_lost_) {
        write();
        close();
      }
    } catch (const std::exception& error) {
      say_error(error);
    }
  }

  void set_pid(std::uint64_t pid) noexcept { pid_.store(pid, std::memory_order_relaxed); }

  /// The time since the epoch; 0 before it.
  [[nodiscard]] std::int64_t now_ns() const noexcept {
    std::int64_t now = 0;
    return __builtin_sub_overflow(base::monotonic_now_ns(), epoch_ns_, &now) ? 0 : std::max<std::int64_t>(now, 0);
  }

  /// An event of the last `duration_ms`.
  void push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid,
            const Argument* arguments, std::size_t count) noexcept {
    const std::int64_t duration_ns = round_ns(duration_ms * 1e6);
    add(name, category, {std::max<std::int64_t>(now_ns() - duration_ns, 0), duration_ns}, tid, arguments, count);
  }

  struct Times {
    std::int64_t start_ns;  ///< since the epoch
    std::int64_t duration_ns;
  };
  void add(std::string_view name, std::string_view category, Times times, std::uint64_t tid, const Argument* arguments,
           std::size_t count) noexcept {
    if (!is_usable()) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (is_lost_) {
      return;
    }
    std::string& out = file_.buffer();
    const std::size_t size = out.size();
    try {
      reopen();
      out += is_empty_ ? "\n" : ",\n";
      out += "{\"name\":";
      base::append_json_string(out, name);
      out += ",\"cat\":";
      base::append_json_string(out, category);
      out += ",\"ph\":\"X\",\"ts\":";
      append_time(out, times.start_ns);
      out += ",\"dur\":";
      append_time(out, times.duration_ns);
      out += ",\"pid\":";
      base::append_json_integer(out, pid_.load(std::memory_order_relaxed));
      out += ",\"tid\":";
      base::append_json_integer(out, tid);
      append_arguments(out, arguments, count);
      out += '}';
    } catch (const std::bad_alloc&) {
      out.resize(size);
      return;
    }
    is_empty_ = false;
    if (out.size() >= held_back || process_exits.load(std::memory_order_relaxed)) {
      try {
        write();
      } catch (const std::exception& error) {
        say_error(error);
      }
    }
  }

  void flush() {
    if (is_usable()) {
      const std::lock_guard lock(mutex_);
      if (is_lost_) {
        throw base::OutputError("cannot write: " + file_.name() + ": it was given up after an error");
      }
      write();
    }
  }

 private:
  [[nodiscard]] bool is_usable() const noexcept { return ::getpid() == owner_; }

  void append_time(std::string& out, std::int64_t time_ns) const {
    if (is_whole_) {
      base::append_json_integer(out, time_ns / 1000 + (time_ns % 1000 >= 500 ? 1 : 0));
    } else {
      append_short_microseconds(out, time_ns);
    }
  }

  /// Makes room for more events after the array was closed.
  void reopen() {
    if (is_closed_) {
      file_.take_back(closing.size());
      is_closed_ = false;
    }
  }

  void write() {
    if (is_closed_) {
      return;
    }
    try {
      if (file_.is_regular()) {
        file_.buffer() += closing;
        is_closed_ = true;
      }
      file_.flush();
    } catch (...) {
      is_lost_ = true;
      throw;
    }
  }

  void close() {
    if (!is_closed_) {
      file_.buffer() += closing;
    }
    file_.close();
  }

  std::mutex mutex_;
  base::OutputFile file_;
  pid_t owner_;
  std::int64_t epoch_ns_;
  bool is_whole_;
  std::atomic<std::uint64_t> pid_{0};
  bool is_empty_ = true;
  bool is_closed_ = false;  ///< the file has the array's closing bracket
  bool is_lost_ = false;    ///< the file could not be written
};

TraceWriter::TraceWriter() noexcept = default;
TraceWriter::TraceWriter(TraceWriter&& other) noexcept = default;
TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept = default;
TraceWriter::~TraceWriter() = default;

TraceWriter::TraceWriter(const std::string& path, const TraceWriterOptions& options)
    : implementation_(path.empty() ? nullptr : std::make_unique<Implementation>(path, options)) {}

namespace {

TraceWriter make_writer(const char* path, const TraceWriterOptions& options) noexcept {
  try {
    return path == nullptr ? TraceWriter() : TraceWriter(path, options);
  } catch (const std::exception& error) {
    say_error(error);
    return {};
  }
}

}  // namespace

TraceWriter TraceWriter::from_environment(const char* variable, const TraceWriterOptions& options) noexcept {
  return make_writer(base::trusted_variable(variable), options);
}

TraceWriter TraceWriter::from_env_vars(const std::vector<std::pair<std::string, std::string>>& variables,
                                       std::string_view variable, const TraceWriterOptions& options) noexcept {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [variable](const auto& candidate) { return candidate.first == variable; });
  return make_writer(found == variables.end() ? nullptr : found->second.c_str(), options);
}

void TraceWriter::set_pid(std::uint64_t pid) noexcept {
  if (implementation_) {
    implementation_->set_pid(pid);
  }
}

void TraceWriter::push(std::string_view name, std::string_view category, double duration_ms,
                       std::uint64_t tid) noexcept {
  push(name, category, duration_ms, tid, nullptr, 0);
}

void TraceWriter::push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid,
                       std::initializer_list<Argument> arguments) noexcept {
  push(name, category, duration_ms, tid, arguments.begin(), arguments.size());
}

void TraceWriter::push(std::string_view name, std::string_view category, double duration_ms, std::uint64_t tid,
                       const Argument* arguments, std::size_t argument_count) noexcept {
  if (implementation_) {
    implementation_->push(name, category, duration_ms, tid, arguments, argument_count);
  }
}

void TraceWriter::push_at(std::string_view name, std::string_view category, double start_us, double duration_ms,
                          std::uint64_t tid, std::initializer_list<Argument> arguments) noexcept {
  if (implementation_) {
    implementation_->add(name, category, {round_ns(start_us * 1e3), round_ns(duration_ms * 1e6)}, tid,
                         arguments.begin(), arguments.size());
  }
}

double TraceWriter::now_us() const noexcept {
  return implementation_ ? static_cast<double>(implementation_->now_ns()) / 1e3 : 0;
}

void TraceWriter::flush() {
  if (implementation_) {
    implementation_->flush();
  }
}

TraceWriter& trace_writer() noexcept {
  // Never destroyed.
  alignas(TraceWriter) static std::array<std::byte, sizeof(TraceWriter)> storage;
  static TraceWriter* const writer = [] {
    auto* const made = ::new (storage.data()) TraceWriter(TraceWriter::from_environment("KYMO_TRACE_WRITER"));
    if (made->is_enabled()) {
      std::atexit([] {
        process_exits.store(true, std::memory_order_relaxed);
        flush_trace_writer();
      });
    }
    return made;
  }();
  return *writer;
}

bool flush_trace_writer() noexcept {
  try {
    trace_writer().flush();
    return true;
  } catch (const std::exception& error) {
    say_error(error);
    return false;
  }
}

}  // namespace kymo

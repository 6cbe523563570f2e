// Walks a directory tree, finds and counts the tokens of every file and compresses it, on a configurable number of
// threads.
//
// It has three kinds of threads: one reads, several analyse, and the main thread gathers the results and marks a frame
// for each completed batch of files. Its output does not depend on recording.
//
//     KYMO_RECORD=run.kymo ./tree_walk /usr/include && kymo stats run.kymo
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <kymo/kymo.hpp>

#include "bounded_queue.hpp"
#include "file_analyser.hpp"

namespace {

using tree_walk::BoundedQueue;
using tree_walk::FileAnalyser;
using tree_walk::FileFacts;
using tree_walk::TokenCounts;

constexpr std::size_t queue_capacity = 64;
constexpr std::size_t largest_file_bytes = 64U << 20U;

constexpr const char* usage =
    "Usage: tree_walk [OPTION]... [DIRECTORY]\n"
    "Reads, tokenises, counts and compresses every file below DIRECTORY (/usr/include).\n"
    "\n"
    "  --threads N   threads that analyse files (as many as there are processors)\n"
    "  --batch N     files a frame (256)\n"
    "  --limit N     stop after so many files (0: all)\n"
    "  --help        print this and exit\n"
    "\n"
    "KYMO_RECORD=FILE records the run.\n";

struct Options {
  std::string directory = "/usr/include";
  std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::uint64_t batch = 256;
  std::uint64_t limit = 0;
  bool wants_help = false;
};

/// Returns nothing, after a message on stderr, for invalid arguments.
std::optional<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    std::uint64_t* number = nullptr;
    std::uint64_t least = 1;
    std::uint64_t most = ~std::uint64_t{0};
    if (argument == "--help" || argument == "-h") {
      options.wants_help = true;
      return options;
    }
    if (argument == "--threads") {
      number = &options.threads;
      most = 1024;
    } else if (argument == "--batch") {
      number = &options.batch;
    } else if (argument == "--limit") {
      number = &options.limit;
      least = 0;
    } else if (argument.substr(0, 1) == "-") {
      std::fprintf(stderr, "tree_walk: there is no option %s; see --help\n", arguments[i]);
      return std::nullopt;
    } else {
      options.directory = argument;
      continue;
    }
    const std::string_view text = i + 1 < count ? arguments[++i] : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error != std::errc() || end != text.data() + text.size() || *number < least || *number > most) {
      std::fprintf(stderr, "tree_walk: %s needs a whole number of at least %llu\n", std::string(argument).c_str(),
                   static_cast<unsigned long long>(least));
      return std::nullopt;
    }
  }
  return options;
}

/// The regular files below a directory sorted by name, without links. Skips directories that cannot be entered.
std::vector<std::string> list_files(const Options& options, std::error_code& error) {
  KYMO_SCOPE("list files", {"directory", options.directory});
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  fs::recursive_directory_iterator entry(options.directory, fs::directory_options::skip_permission_denied, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    std::error_code ignored;
    if (entry->symlink_status(ignored).type() == fs::file_type::regular) {
      paths.push_back(entry->path().string());
    }
    entry.increment(error);
  }
  // Directories have no defined order. With sorted names, a limit always takes the same files.
  std::sort(paths.begin(), paths.end());
  if (options.limit != 0 && paths.size() > options.limit) {
    paths.resize(options.limit);
  }
  KYMO_ARG("files", paths.size());
  return paths;
}

/// A whole file; nothing if it cannot be read or is too large.
std::optional<std::string> read_file(const std::string& path) {
  KYMO_SCOPE("read file", {"path", path});
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) {
    return std::nullopt;
  }
  std::string content;
  std::size_t size = 0;
  do {
    content.resize(std::max<std::size_t>(16 * 1024, 2 * size));
    size += std::fread(content.data() + size, 1, content.size() - size, file.get());
  } while (size == content.size() && size <= largest_file_bytes);
  content.resize(size);
  KYMO_ARG("bytes", size);
  // The reading time of the frame, which becomes io_ms and io_MB at the next frame mark.
  const std::chrono::nanoseconds duration = std::chrono::steady_clock::now() - start;
  kymo::record_io(static_cast<std::uint64_t>(duration.count()), size);
  if (std::ferror(file.get()) != 0 || size > largest_file_bytes) {
    return std::nullopt;
  }
  return content;
}

/// A file on its way from the reading to an analysing thread.
struct LoadedFile {
  std::uint64_t number = 0;
  std::string content;
  kymo::AsyncSpan in_flight;  ///< from the queue until done, across threads
};

/// Reads all files, in order.
void read_all(const std::vector<std::string>& paths, BoundedQueue<LoadedFile>& loaded, BoundedQueue<FileFacts>& done) {
  kymo::set_thread_name("reader");
  std::uint64_t number = 0;
  for (const std::string& path : paths) {
    KYMO_SCOPE("load");
    std::optional<std::string> content = read_file(path);
    if (!content) {
      kymo::message("cannot read " + path);
      FileFacts facts;
      facts.unread_files = 1;
      done.push(facts);
      continue;
    }
    LoadedFile file{++number, *std::move(content), kymo::AsyncSpan("files in flight", "file")};
    file.in_flight.argument({"path", path});
    kymo::flow_begin(file.number);
    kymo::record_metric("queue_length", static_cast<double>(loaded.push(std::move(file))));
  }
  loaded.close();
}

/// Analyses files until the queue is closed.
void analyse_all(std::size_t index, FileAnalyser& analyser, BoundedQueue<LoadedFile>& loaded,
                 BoundedQueue<FileFacts>& done) {
  kymo::set_thread_name("worker " + std::to_string(index));
  while (std::optional<LoadedFile> file = loaded.pop()) {
    KYMO_SCOPE("process", {"file", file->number});
    kymo::flow_end(file->number);
    const FileFacts facts = analyser.analyse(file->content);
    file->in_flight.end();
    KYMO_SCOPE("hand over");
    done.push(facts);
  }
}

/// Sums up the results, one frame per batch.
FileFacts gather(std::size_t file_count, std::uint64_t batch_size, BoundedQueue<FileFacts>& done) {
  FileFacts total;
  FileFacts batch;
  std::uint64_t in_batch = 0;
  auto start = std::chrono::steady_clock::now();
  kymo::frame_mark();
  for (std::size_t i = 1; i <= file_count; ++i) {
    batch += done.pop().value_or(FileFacts{});
    if (++in_batch < batch_size && i < file_count) {
      continue;
    }
    total += batch;
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - start).count();
    kymo::record_metric_unit("files", static_cast<double>(total.files), "files");
    kymo::record_metric_unit("tokens_per_second", static_cast<double>(batch.tokens) / seconds, "1/s");
    kymo::record_metric("compression_ratio", tree_walk::compression_ratio(batch));
    kymo::frame_mark();
    batch = {};
    in_batch = 0;
    start = now;
  }
  return total;
}

struct Result {
  FileFacts facts;
  TokenCounts counts;
};

Result process(const std::vector<std::string>& paths, const Options& options) {
  BoundedQueue<LoadedFile> loaded(queue_capacity);
  BoundedQueue<FileFacts> done(queue_capacity);
  std::vector<FileAnalyser> analysers(options.threads);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { read_all(paths, loaded, done); });
  for (std::size_t i = 0; i < analysers.size(); ++i) {
    threads.emplace_back([&, i] { analyse_all(i + 1, analysers[i], loaded, done); });
  }
  Result result;
  result.facts = gather(paths.size(), options.batch, done);
  for (std::thread& thread : threads) {
    thread.join();
  }

  kymo::sync();
  kymo::message("phase: merge the workers' counts");
  for (const FileAnalyser& analyser : analysers) {
    tree_walk::add_counts(result.counts, analyser.counts());
  }
  return result;
}

void print(const Result& result) {
  KYMO_FUNCTION();
  using Row = std::pair<std::string_view, std::uint64_t>;
  std::vector<Row> rows(result.counts.begin(), result.counts.end());
  const std::size_t count = std::min<std::size_t>(10, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                    [](const Row& a, const Row& b) { return a.second != b.second ? a.second > b.second : a < b; });
  const auto line = [](const char* what, std::uint64_t value) {
    std::printf("%-16s %12llu\n", what, static_cast<unsigned long long>(value));
  };
  line("files", result.facts.files);
  line("unread files", result.facts.unread_files);
  line("bytes", result.facts.bytes);
  line("compressed", result.facts.compressed_bytes);
  std::printf("%-16s %12.2f\n", "ratio", tree_walk::compression_ratio(result.facts));
  line("tokens", result.facts.tokens);
  line("distinct tokens", rows.size());
  std::puts("commonest tokens");
  for (std::size_t i = 0; i < count; ++i) {
    std::printf("  %-20.*s %6llu\n", static_cast<int>(rows[i].first.size()), rows[i].first.data(),
                static_cast<unsigned long long>(rows[i].second));
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::optional<Options> options = parse(argument_count, arguments);
  if (!options) {
    return 2;
  }
  if (options->wants_help) {
    std::fputs(usage, stdout);
    return 0;
  }

  kymo::enable();
  kymo::set_thread_name("main");
  kymo::set_info("directory", options->directory);
  kymo::set_info("threads", std::to_string(options->threads));

  kymo::sync();
  kymo::message("phase: list the files");
  std::error_code error;
  const std::vector<std::string> paths = list_files(*options, error);
  if (error) {
    std::fprintf(stderr, "tree_walk: cannot list %s: %s\n", options->directory.c_str(), error.message().c_str());
    return 1;
  }

  kymo::sync();
  kymo::message("phase: process them");
  const Result result = process(paths, *options);
  print(result);
  return EXIT_SUCCESS;
}

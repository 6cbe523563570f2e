#include "apps/kymo/bench/bench_journal.hpp"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "bench/csv.hpp"

namespace kymo::command {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JournalEntry parse_entry(const Json& json) {
  JournalEntry entry;
  entry.setting = json.at("setting").get<std::string>();
  entry.repetition = json.at("repetition").get<unsigned>();
  entry.is_warmup = json.at("is_warmup").get<bool>();
  if (json.at("status") != "done") {
    entry.problem = json.at("problem").get<std::string>();
    return entry;
  }
  for (const auto& metric : json.at("metrics").items()) {
    entry.metrics[metric.key()] =
        metric.value().is_null() ? std::numeric_limits<double>::quiet_NaN() : metric.value().get<double>();
  }
  return entry;
}

}  // namespace

Journal::Journal(const std::string& path, const std::string& fingerprint, Former former)
    : path_(path), file_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666)) {
  if (!file_) {
    throw Failure(base::describe_errno("cannot open", path, errno));
  }
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Failure(fmt::format("{}: another `kymo bench run` is at work in this directory", path));
  }
  require_journal();
  if (former == Former::is_forgotten) {
    forget();
  }
  read(fingerprint);
}

void Journal::require_journal() const {
  constexpr std::string_view beginning = R"({"journal":1,)";
  struct stat status {};
  std::array<std::byte, beginning.size()> first{};
  const std::int64_t count =
      ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) ? base::read_fully_at(file_.get(), first, 0) : -1;
  // A file with a truncated first line is a journal as well.
  if (count < 0 || std::memcmp(first.data(), beginning.data(), static_cast<std::size_t>(count)) != 0) {
    throw Failure(fmt::format("{}: this is no journal of `kymo bench run`: choose another --output-dir", path_));
  }
}

void Journal::forget() {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0 || ::ftruncate(file_.get(), 0) != 0) {
    throw Failure(base::describe_errno("cannot write", path_, errno));
  }
  has_forgotten_ = status.st_size > 0;
}

void Journal::read(const std::string& fingerprint) {
  const std::string text = bench::read_file(path_);
  const std::size_t size = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (size != text.size() && ::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) {
    throw Failure(base::describe_errno("cannot write", path_, errno));
  }
  if (size == 0) {
    is_new_ = !has_forgotten_;
    write_line(dump({{"journal", 1}, {"plan", fingerprint}}));
    return;
  }
  std::size_t number = 0;
  for (std::size_t at = 0; at < size; ++number) {
    const std::size_t end = text.find('\n', at);
    try {
      const Json json = Json::parse(std::string_view(text).substr(at, end - at));
      if (number > 0) {
        keep(parse_entry(json));
      } else if (json.at("plan") != fingerprint) {
        throw Failure(
            fmt::format("{}: these are runs of another plan: choose another --output-dir, or begin anew here "
                        "with --restart",
                        path_));
      }
    } catch (const nlohmann::json::exception&) {
      throw Failure(
          fmt::format("{}:{}: the line is damaged: take it out to have that run done again, or begin anew "
                      "with --restart",
                      path_, number + 1));
    }
    at = end + 1;
  }
}

void Journal::keep(JournalEntry entry) {
  const auto [place, is_new] = places_.try_emplace({entry.setting, entry.repetition, entry.is_warmup}, entries_.size());
  if (is_new) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[place->second] = std::move(entry);
  }
}

void Journal::write_line(const std::string& line) {
  const std::string whole = line + "\n";
  if (!base::write_fully(file_.get(), std::as_bytes(std::span(whole))) || ::fdatasync(file_.get()) != 0) {
    throw Failure(base::describe_errno("cannot write", path_, errno));
  }
}

void Journal::add(const JournalEntry& entry) {
  Json json{{"setting", entry.setting}, {"repetition", entry.repetition}, {"is_warmup", entry.is_warmup}};
  if (entry.problem.empty()) {
    json["status"] = "done";
    json["metrics"] = Json::object();
    for (const auto& [name, value] : entry.metrics) {
      json["metrics"][name] = std::isfinite(value) ? Json(value) : Json();
    }
  } else {
    json["status"] = "failed";
    json["problem"] = entry.problem;
  }
  write_line(dump(json));
  keep(entry);
}

}  // namespace kymo::command

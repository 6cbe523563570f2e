// Bodies of answers about captures.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "capture/byte_source.hpp"
#include "serve/answer.hpp"
#include "serve/catalogue.hpp"
#include "serve/growth_watch.hpp"
#include "serve/limits.hpp"
#include "serve/outline.hpp"

namespace kymo::serve {

/// A stretch of a file.
class FileBody final : public Body {
 public:
  FileBody(std::shared_ptr<const capture::ByteSource> file, std::uint64_t offset, std::uint64_t size);
  Step next(std::string& piece) override;

 private:
  std::shared_ptr<const capture::ByteSource> file_;
  std::uint64_t offset_;
  std::uint64_t left_;
};

/// The outline of a file.
class OutlineBody final : public Body {
 public:
  OutlineBody(std::shared_ptr<const capture::ByteSource> file, std::uint64_t from, std::uint64_t most_bytes);
  Step next(std::string& piece) override;

 private:
  std::shared_ptr<const capture::ByteSource> file_;
  OutlineWriter writer_;
};

/// A stream of events: first how every capture stands, then what changes, and a line of nothing now and then. It has no
/// queue: a client that reads slowly gets the latest state when it comes to it.
class EventBody final : public Body {
 public:
  /// Counts itself in `streams`, which was counted up for it, down again.
  EventBody(const Catalogue& catalogue, const GrowthWatch& watch, const Limits& limits, std::atomic<unsigned>& streams);
  ~EventBody() override;
  Step next(std::string& piece) override;

 private:
  const Catalogue& catalogue_;
  const GrowthWatch& watch_;
  const Limits& limits_;
  std::atomic<unsigned>& streams_;
  std::uint64_t generation_ = 0;
  bool has_begun_ = false;
  std::chrono::steady_clock::time_point last_words_;
};

}  // namespace kymo::serve

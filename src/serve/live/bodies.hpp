// Answer bodies for captures.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "capture/read/byte_source.hpp"
#include "serve/http/answer.hpp"
#include "serve/http/limits.hpp"
#include "serve/live/catalogue.hpp"
#include "serve/live/growth_watch.hpp"
#include "serve/live/outline.hpp"

namespace kymo::serve {

/// A range of a file's bytes.
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

/// An event stream: first the state of every capture, then changes, and a heartbeat line if nothing happens. It has no
/// queue: a client that reads slowly gets the latest state when it reads.
class EventBody final : public Body {
 public:
  /// Decrements `streams`, which the caller incremented for it, in its destructor.
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

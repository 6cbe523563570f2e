// Answer bodies for captures. Names in JSON are not escaped for HTML: the page shows them as text, which makes them
// harmless.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/read/byte_source.hpp"
#include "serve/http/answer.hpp"
#include "serve/http/limits.hpp"
#include "serve/live/catalogue.hpp"
#include "serve/live/growth_watch.hpp"

namespace kymo::serve {

/// {"captures":[{"id":0,"name":"run.kymo","size":123,"is_growing":true},...]}. Replaces bytes of a name that are not
/// UTF-8.
[[nodiscard]] std::string describe_captures(const std::vector<CaptureState>& captures);

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

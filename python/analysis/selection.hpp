// The part of a capture that Python's keywords select.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kymo/statistics.hpp>

namespace kymo::python {

/// The first frame's number and the last one's.
using FrameNumbers = std::optional<std::pair<std::uint64_t, std::uint64_t>>;

/// Times count on the timeline's axis; empty lists and what is not given select all.
inline SelectionOptions make_selection(std::int64_t start_ns, std::int64_t end_ns, std::vector<std::string> sites,
                                       std::vector<std::string> threads, const FrameNumbers& frames,
                                       std::optional<std::uint64_t> phase) {
  SelectionOptions part;
  part.sites = std::move(sites);
  part.threads = std::move(threads);
  part.time = {start_ns, end_ns};
  part.phase = phase;
  if (frames) {
    part.frames = FrameRange{frames->first, frames->second};
  }
  return part;
}

}  // namespace kymo::python

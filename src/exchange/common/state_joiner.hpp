// Joins the rows of a thread's long state, which follow each other in several batches.
#pragma once

#include <optional>
#include <utility>

#include <kymo/events.hpp>

#include "capture/merge/id_translation.hpp"

namespace kymo::exchange {

/// The states of one thread, by ascending time.
class StateJoiner {
 public:
  /// Takes the next row. Returns the state before it once nothing more of that can follow.
  [[nodiscard]] std::optional<ThreadState> take(const ThreadState& next) {
    if (last_ && last_->end_ns() == next.start_ns && last_->state == next.state && last_->cpu == next.cpu) {
      last_->duration_ns = capture::add_times(last_->duration_ns, next.duration_ns);
      return std::nullopt;
    }
    return std::exchange(last_, next);
  }

  /// The last state, if there is one.
  [[nodiscard]] std::optional<ThreadState> finish() { return std::exchange(last_, std::nullopt); }

 private:
  std::optional<ThreadState> last_;
};

}  // namespace kymo::exchange

// Figures as PNG, drawn by cairo, which is loaded when it is needed.
#pragma once

#include <string>

#include "bench/figure.hpp"

namespace kymo::command {

/// Writes figures as PNG where libcairo.so.2 can be loaded; the command runs without it. One thread.
class PngWriter {
 public:
  PngWriter();
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  /// Empty where it can write; else why not and what to do.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The PNG file's bytes, two pixels to one of the figure. Failure where cairo cannot make it.
  [[nodiscard]] std::string to_png(const bench::Figure& figure) const;

 private:
  void* library_ = nullptr;
  std::string problem_;
};

}  // namespace kymo::command

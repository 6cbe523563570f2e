// All declarations of a capture so far.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include <kymo/declarations.hpp>

namespace kymo::capture {

/// Gathers declarations. A later one of an id (of an info: of a process and key) replaces the earlier one in its place,
/// so that hearing everything twice changes nothing.
class DeclarationSet {
 public:
  /// About 100 ns a declaration.
  void add(const Declarations& more);

  [[nodiscard]] const Declarations& all() const { return all_; }

 private:
  using Places = std::unordered_map<std::uint32_t, std::size_t>;

  Declarations all_;
  std::map<std::pair<ProcessId, std::string>, std::size_t> infos_;
  Places processes_;
  Places names_;
  Places modules_;
  Places sites_;
  Places tracks_;
  Places metrics_;
  Places frame_streams_;
};

}  // namespace kymo::capture

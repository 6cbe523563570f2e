// Batches for tests of the capture format: random ones that use every field, and their content as text to compare by.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <kymo/events.hpp>

namespace kymo::test {

/// An id of whichever kind is asked for.
struct AnyId {
  std::uint32_t value;

  template <IdKind kind>
  operator Id<kind>() const {
    return Id<kind>{value};
  }
  operator std::uint32_t() const { return value; }
};

/// Draws batches. The same seed draws the same ones.
class BatchSource {
 public:
  /// With ascii_only texts are printable; else they are any bytes.
  explicit BatchSource(std::uint32_t seed, bool ascii_only = false) : random_(seed), ascii_only_(ascii_only) {}

  /// A batch as a recorder would hand it over: nested scopes, ids that are declared, times that ascend.
  [[nodiscard]] EventBatch ordinary(std::size_t scope_events);
  /// A batch in which every field of every table holds anything that its type can hold.
  [[nodiscard]] EventBatch wild(std::size_t rows);
  [[nodiscard]] Declarations wild_declarations(std::size_t rows);

 private:
  [[nodiscard]] std::uint64_t number();
  [[nodiscard]] AnyId id() { return {static_cast<std::uint32_t>(number())}; }
  [[nodiscard]] std::int64_t time() { return static_cast<std::int64_t>(number()); }
  [[nodiscard]] std::string text();
  [[nodiscard]] bool coin() { return (random_() & 1U) != 0; }
  [[nodiscard]] std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  [[nodiscard]] ArgumentValue argument(std::string& batch_text);
  [[nodiscard]] ScopeRun wild_run(std::size_t rows, std::string& batch_text);

  std::mt19937_64 random_;
  bool ascii_only_;
  std::int64_t now_ns_ = 1'000'000;
  std::uint64_t sequence_ = 0;
  std::vector<OpenScope> stack_;
};

/// Everything in it, one field behind the other. Two that are equal have equal texts.
[[nodiscard]] std::string describe(const Declarations& declarations);
/// Without its declarations, which a capture keeps in blocks of their own.
[[nodiscard]] std::string describe(const EventBatch& batch);

}  // namespace kymo::test

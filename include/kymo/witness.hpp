// Witness bundles: a record of a gate's decisions in a hash chain that reveals any change.
//
//     kymo::WitnessWriter witness("run.jsonl", {config_hash(config), "abc1234", "def5678"});
//     witness.add(entry);
//     const std::string head = witness.finish();       // store it elsewhere: it identifies the whole file
//     kymo::WitnessReport report = kymo::verify_witness("run.jsonl");
//
// A bundle is a text file of JSON lines: a header, one line per entry, a footer. Each line ends with the SHA-256 of its
// own preceding bytes. Each line except the first also contains the hash of the previous line:
//
//     {"witness":1,"config_hash":"...","model_commit":"...","weights_hash":"...","hash":"..."}
//     {"q_hash":"...","k_hash":"...","keep_mask":[true,false],"mask_hash":"...","cut_cost":1.5,"lambda":0.5,"tau":2,
//      "eps":0.01,"timestamp":1700000000000000000,"previous":"...","hash":"..."}                               (one line)
//     {"footer":{"entries":1,"gates":2,"kept":1,"mean_cut_cost":1.5},"previous":"...","head":"...","hash":"..."}
//
// `head` is the hash of the last entry, or of the header if there is none. The chain reveals damage and edits, but not
// the author: anyone who can rewrite the whole file can build a new chain, which then has another head.
//
// Component kymo::bench.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <kymo/bench.hpp>
#include <kymo/export.hpp>

namespace kymo {

/// Configuration of the run.
struct WitnessHeader {
  std::string config_hash;  ///< 64 hex digits
  std::string model_commit;
  std::string weights_hash;
};

/// One decision.
struct WitnessEntry {
  std::string q_hash;  ///< tensor_hash of the queries
  std::string k_hash;  ///< tensor_hash of the keys
  std::vector<bool> keep_mask;
  double cut_cost = 0;
  float lambda = 0;
  std::uint32_t tau = 0;
  float eps = 0;
  std::int64_t timestamp = 0;  ///< nanoseconds since 1970
  /// mask_hash() of a mask that is too large to be stored, such as one gate per logit where keep_mask has one per key;
  /// empty: keep_mask is all of it, and the line has no such member.
  std::string mask_hash;
};

/// Totals over the entries.
struct WitnessTotals {
  std::uint64_t entries = 0;
  std::uint64_t gates = 0;  ///< booleans in all masks
  std::uint64_t kept = 0;   ///< number of these that are true
  double mean_cut_cost = 0;
};

/// SHA-256 of the bytes of 32-bit floats in little-endian order: 64 lower-case hex digits. About 0.5 ns a byte with the
/// CPU's SHA instructions.
[[nodiscard]] KYMO_API std::string tensor_hash(const float* values, std::size_t count);

/// SHA-256 of a mask, one byte of 0 or 1 per gate: 64 lower-case hex digits.
[[nodiscard]] KYMO_API std::string mask_hash(const std::uint8_t* gates, std::size_t count);

/// Writes a bundle under a temporary name and renames it when finished; an unfinished bundle leaves nothing. Not
/// thread-safe. Throws std::runtime_error if the file cannot be written, std::invalid_argument for texts that are not
/// UTF-8, hashes that are not 64 hex digits and numbers that are not finite.
class KYMO_API WitnessWriter {
 public:
  WitnessWriter(const std::string& path, const WitnessHeader& header);
  WitnessWriter(const WitnessWriter&) = delete;
  WitnessWriter& operator=(const WitnessWriter&) = delete;
  ~WitnessWriter();

  void add(const WitnessEntry& entry);
  /// Writes the footer, closes the file and returns the chain's head. Nothing may be added afterwards.
  std::string finish();
  [[nodiscard]] const WitnessTotals& totals() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Result of verify_witness.
struct WitnessReport {
  bool is_whole = false;
  std::uint64_t line = 0;  ///< line of the first broken link, from 1; 0 if the bundle is intact
  std::string problem;     ///< its defect
  std::string head;        ///< of an intact bundle
  WitnessHeader header;
  WitnessTotals totals;  ///< of the valid entries before the first broken link
};

/// Checks every link from the start and stops at the first broken one. Detects every changed bit and lines that were
/// removed, inserted, moved or cut off. `on_entry` receives each valid entry. Reads line by line; a line may have 64
/// MiB. Throws std::runtime_error if the file cannot be read. About 2 ns a byte.
[[nodiscard]] KYMO_API WitnessReport verify_witness(const std::string& path,
                                                    const std::function<void(const WitnessEntry&)>& on_entry = {});

/// True if two entries are equal except for their timestamps.
[[nodiscard]] KYMO_API bool is_same_decision(const WitnessEntry& left, const WitnessEntry& right);

/// First difference between the decisions of two bundles: the number of the first differing entry from 1, or 0 if there
/// is none. Timestamps are not compared; headers are (`is_same_header`). Throws BenchFileError if a bundle is not
/// intact.
struct WitnessDifference {
  bool is_same_header = true;
  std::uint64_t entry = 0;
  [[nodiscard]] bool is_none() const { return is_same_header && entry == 0; }
};
[[nodiscard]] KYMO_API WitnessDifference compare_witnesses(const std::string& left, const std::string& right);

}  // namespace kymo

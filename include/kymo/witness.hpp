// Witness bundles: what a gate decided, decision by decision, in a chain that shows any change.
//
//     kymo::WitnessWriter witness("run.jsonl", {config_hash(config), "abc1234", "def5678"});
//     witness.add(entry);
//     const std::string head = witness.finish();       // note it elsewhere: it stands for the whole file
//     kymo::WitnessReport report = kymo::verify_witness("run.jsonl");
//
// A bundle is a text file of JSON lines: a header, one line an entry, a footer. Each line ends with the SHA-256 of its
// own bytes up to there, and each but the first carries that of the line before:
//
//     {"witness":1,"config_hash":"...","model_commit":"...","weights_hash":"...","hash":"..."}
//     {"q_hash":"...","k_hash":"...","keep_mask":[true,false],"cut_cost":1.5,"lambda":0.5,"tau":2,"eps":0.01,
//      "timestamp":1700000000000000000,"previous":"...","hash":"..."}                               (one line)
//     {"footer":{"entries":1,"gates":2,"kept":1,"mean_cut_cost":1.5},"previous":"...","head":"...","hash":"..."}
//
// `head` is the hash of the last entry (of the header where there is none). The chain finds damage and edits; it does
// not say who wrote the file: whoever can rewrite all of it can make a new chain, whose head is then another.
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

/// What was run.
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
};

/// Sums over the entries.
struct WitnessTotals {
  std::uint64_t entries = 0;
  std::uint64_t gates = 0;  ///< booleans in all masks
  std::uint64_t kept = 0;   ///< of these, true
  double mean_cut_cost = 0;
};

/// SHA-256 over the bytes of 32-bit floats in little-endian order, 64 lower-case hex digits. About 0.5 ns a byte with
/// the CPU's SHA instructions.
[[nodiscard]] KYMO_API std::string tensor_hash(const float* values, std::size_t count);

/// Writes a bundle beside its final name and renames it when it is finished; unfinished it leaves nothing. One thread
/// at a time. Throws std::runtime_error where the file cannot be written, std::invalid_argument for texts that are not
/// UTF-8, hashes that are not 64 hex digits and numbers that are not finite.
class KYMO_API WitnessWriter {
 public:
  WitnessWriter(const std::string& path, const WitnessHeader& header);
  WitnessWriter(const WitnessWriter&) = delete;
  WitnessWriter& operator=(const WitnessWriter&) = delete;
  ~WitnessWriter();

  void add(const WitnessEntry& entry);
  /// Writes the footer and closes the file. The chain's head. Nothing may be added afterwards.
  std::string finish();
  [[nodiscard]] const WitnessTotals& totals() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// What verify_witness found.
struct WitnessReport {
  bool is_whole = false;
  std::uint64_t line = 0;  ///< of the first broken link, from 1; 0 where the bundle is whole
  std::string problem;     ///< what is wrong with it
  std::string head;        ///< of a whole bundle
  WitnessHeader header;
  WitnessTotals totals;  ///< of the sound entries before the first broken link
};

/// Checks every link from the front and stops at the first that is broken: any bit that was changed, lines that were
/// taken out, put in, moved or cut off. `on_entry` is given each sound entry. Reads line by line; a line may have 64
/// MiB. Throws std::runtime_error where the file cannot be read. About 2 ns a byte.
[[nodiscard]] KYMO_API WitnessReport verify_witness(const std::string& path,
                                                    const std::function<void(const WitnessEntry&)>& on_entry = {});

/// Whether two entries say the same, when they were made aside.
[[nodiscard]] KYMO_API bool is_same_decision(const WitnessEntry& left, const WitnessEntry& right);

/// Where two bundles begin to differ in what was decided: the number of the first such entry from 1, 0 where there is
/// none. When entries were made is not compared; headers are (`is_same_header`). Throws BenchFileError where one of the
/// bundles is not whole.
struct WitnessDifference {
  bool is_same_header = true;
  std::uint64_t entry = 0;
  [[nodiscard]] bool is_none() const { return is_same_header && entry == 0; }
};
[[nodiscard]] KYMO_API WitnessDifference compare_witnesses(const std::string& left, const std::string& right);

}  // namespace kymo

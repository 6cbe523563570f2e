// Writes what a benchmark leaves, and reads it back: the fingerprint, a table and a witness bundle.
#include <string>
#include <vector>

#include <kymo/bench.hpp>
#include <kymo/witness.hpp>

int main(int, char** arguments) {
  const std::string base = arguments[1];
  const std::string fingerprint = kymo::ParameterSet().add("lambda", 0.5F).add("tau", 2).fingerprint();
  kymo::write_csv(base + ".csv", std::vector<kymo::LatencyRecord>{{1, 2.5, 2, 16}});
  kymo::WitnessWriter witness(base + ".jsonl", {fingerprint, "commit", fingerprint});
  witness.add({fingerprint, fingerprint, {true}, 1, 0.5F, 2, 0.01F, 0});
  witness.finish();
  const bool is_sound = kymo::read_csv<kymo::LatencyRecord>(base + ".csv").at(0).wall_time_us == 2.5 &&
                        kymo::verify_witness(base + ".jsonl").is_whole;
  return is_sound ? 0 : 1;
}

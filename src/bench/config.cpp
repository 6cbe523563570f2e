// Computes fingerprints of parameters.
#include <algorithm>
#include <stdexcept>

#include <kymo/bench.hpp>

#include "base/text/json_text.hpp"
#include "bench/json_value.hpp"
#include "bench/sha256.hpp"

namespace kymo {

void ParameterSet::add_text(std::string_view name, std::string_view value_json) {
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    throw std::invalid_argument("the parameter \"" + std::string(name) + "\" is there already");
  }
  std::string member = names_.empty() ? "" : ",";
  bench::append_text(member, name, "the name of a parameter");
  member += ':';
  member += value_json;
  names_.emplace_back(name);
  members_ += member;
}

ParameterSet& ParameterSet::add(std::string_view name, std::string_view value) {
  std::string json;
  bench::append_text(json, value, name);
  add_text(name, json);
  return *this;
}

ParameterSet& ParameterSet::add(std::string_view name, bool value) {
  add_text(name, value ? "true" : "false");
  return *this;
}

ParameterSet& ParameterSet::add(std::string_view name, float value) {
  std::string json;
  bench::append_float(json, value, name);
  add_text(name, json);
  return *this;
}

ParameterSet& ParameterSet::add(std::string_view name, double value) {
  std::string json;
  bench::append_float(json, value, name);
  add_text(name, json);
  return *this;
}

ParameterSet& ParameterSet::add_integer(std::string_view name, std::int64_t value) {
  add_text(name, std::to_string(value));
  return *this;
}

ParameterSet& ParameterSet::add_unsigned(std::string_view name, std::uint64_t value) {
  add_text(name, std::to_string(value));
  return *this;
}

std::string ParameterSet::to_json() const {
  return "{" + members_ + "}";
}

std::string ParameterSet::fingerprint() const {
  return bench::sha256_hex(to_json());
}

namespace {

ParameterSet parameters_of(const BenchConfig& config) {
  ParameterSet parameters;
  parameters.add("model_commit", config.model_commit)
      .add("weights_hash", config.weights_hash)
      .add("lambda", config.lambda)
      .add("tau", config.tau)
      .add("eps", config.eps)
      .add("compiler_flags", config.compiler_flags);
  return parameters;
}

void append_number(std::string& out, std::string_view name, double value) {
  out += name;
  if (!base::append_json_number(out, value)) {
    out += "null";
  }
}

}  // namespace

std::string to_json(const BenchConfig& config) {
  return parameters_of(config).to_json();
}

std::string config_hash(const BenchConfig& config) {
  return parameters_of(config).fingerprint();
}

std::string to_json(const EnergyReport& report) {
  std::string json = "{";
  append_number(json, R"("energy_j":)", report.energy_j);
  append_number(json, R"(,"mean_watts":)", report.mean_watts);
  append_number(json, R"(,"peak_watts":)", report.peak_watts);
  append_number(json, R"(,"duration_s":)", report.duration_s);
  json += R"(,"samples":)" + std::to_string(report.samples);
  append_number(json, R"(,"unknown_s":)", report.unknown_s);
  json += R"(,"is_counted":)";
  json += report.is_counted ? "true" : "false";
  json += R"(,"label":)";
  base::append_json_string(json, report.label);
  return json + "}";
}

std::string to_json(const MemoryReport& report) {
  std::string json = R"({"label":)";
  base::append_json_string(json, report.label);
  json += R"(,"peak_rss":)" + std::to_string(report.peak_rss);
  append_number(json, R"(,"mean_rss":)", report.mean_rss);
  json += R"(,"kv_cache_total":)" + std::to_string(report.kv_cache_total);
  json += R"(,"activation_total":)" + std::to_string(report.activation_total);
  json += R"(,"temp_buffer_total":)" + std::to_string(report.temp_buffer_total);
  json += R"(,"snapshots":)" + std::to_string(report.snapshots);
  json += R"(,"process_peak":)" + std::to_string(report.process_peak);
  return json + "}";
}

}  // namespace kymo

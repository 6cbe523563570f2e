#include "bench/witness_line.hpp"

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "bench/json_value.hpp"
#include "bench/sha256.hpp"

namespace kymo::bench {
namespace {

constexpr std::string_view hash_mark = R"(,"hash":")";

void append_hash(std::string& out, std::string_view name, const std::string& hash) {
  if (!is_sha256_hex(hash)) {
    throw std::invalid_argument(std::string(name) + " is not 64 lower-case hex digits");
  }
  out += "\"" + std::string(name) + "\":\"" + hash + "\"";
}

/// Reads the lines that this file writes: members in their order, no blanks.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool skip(std::string_view expected) {
    if (text_.substr(0, expected.size()) != expected) {
      return false;
    }
    text_.remove_prefix(expected.size());
    return true;
  }
  [[nodiscard]] bool hash(std::string& value) {
    value = text_.substr(0, 64);
    text_.remove_prefix(value.size());
    return is_sha256_hex(value);
  }
  template <typename Number>
  [[nodiscard]] bool number(Number& value) {
    const auto parsed = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    text_.remove_prefix(static_cast<std::size_t>(parsed.ptr - text_.data()));
    if constexpr (std::is_floating_point_v<Number>) {
      return parsed.ec == std::errc() && std::isfinite(value);
    }
    return parsed.ec == std::errc();
  }
  /// Reads a string after its opening quote, as written by append_text, and its closing quote.
  [[nodiscard]] bool text(std::string& value);
  [[nodiscard]] bool mask(std::vector<bool>& values);
  [[nodiscard]] bool is_at_end() const { return text_.empty(); }

 private:
  [[nodiscard]] bool escape(std::string& value);

  std::string_view text_;
};

bool Scanner::escape(std::string& value) {
  constexpr std::string_view letters = "\"\\bfnrt";
  constexpr std::string_view meanings = "\"\\\b\f\n\r\t";
  if (text_.empty()) {
    return false;
  }
  const char letter = text_.front();
  text_.remove_prefix(1);
  if (const std::size_t at = letters.find(letter); at != std::string_view::npos) {
    value += meanings[at];
    return true;
  }
  unsigned code = 0;
  if (letter != 'u' || text_.size() < 4) {
    return false;
  }
  const auto parsed = std::from_chars(text_.data(), text_.data() + 4, code, 16);
  text_.remove_prefix(4);
  value += static_cast<char>(code);
  return parsed.ec == std::errc() && code < 0x20;
}

bool Scanner::text(std::string& value) {
  value.clear();
  while (!text_.empty()) {
    const char character = text_.front();
    text_.remove_prefix(1);
    if (character == '"') {
      return true;
    }
    if (character != '\\') {
      value += character;
    } else if (!escape(value)) {
      return false;
    }
  }
  return false;
}

bool Scanner::mask(std::vector<bool>& values) {
  values.clear();
  if (!skip("[")) {
    return false;
  }
  if (skip("]")) {
    return true;
  }
  for (;;) {
    if (skip("true")) {
      values.push_back(true);
    } else if (skip("false")) {
      values.push_back(false);
    } else {
      return false;
    }
    if (skip("]")) {
      return true;
    }
    if (!skip(",")) {
      return false;
    }
  }
}

}  // namespace

std::string header_line(const WitnessHeader& header) {
  std::string line = R"({"witness":1,)";
  append_hash(line, "config_hash", header.config_hash);
  line += R"(,"model_commit":)";
  append_text(line, header.model_commit, "model_commit");
  line += R"(,"weights_hash":)";
  append_text(line, header.weights_hash, "weights_hash");
  return line;
}

std::string entry_line(const WitnessEntry& entry, std::string_view previous) {
  std::string line;
  line.reserve(512 + 6 * entry.keep_mask.size());
  line += '{';
  append_hash(line, "q_hash", entry.q_hash);
  line += ',';
  append_hash(line, "k_hash", entry.k_hash);
  line += R"(,"keep_mask":[)";
  bool is_first = true;
  for (const bool is_kept : entry.keep_mask) {
    line += is_first ? "" : ",";
    line += is_kept ? "true" : "false";
    is_first = false;
  }
  line += ']';
  if (!entry.mask_hash.empty()) {
    line += ',';
    append_hash(line, "mask_hash", entry.mask_hash);
  }
  line += R"(,"cut_cost":)";
  append_float(line, entry.cut_cost, "cut_cost");
  line += R"(,"lambda":)";
  append_float(line, entry.lambda, "lambda");
  line += R"(,"tau":)" + std::to_string(entry.tau) + R"(,"eps":)";
  append_float(line, entry.eps, "eps");
  line += R"(,"timestamp":)" + std::to_string(entry.timestamp) + R"(,"previous":")";
  line += previous;
  line += '"';
  return line;
}

std::string footer_line(const WitnessTotals& totals, std::string_view head) {
  std::string line = R"({"footer":{"entries":)" + std::to_string(totals.entries) + R"(,"gates":)" +
                     std::to_string(totals.gates) + R"(,"kept":)" + std::to_string(totals.kept) +
                     R"(,"mean_cut_cost":)";
  append_float(line, totals.mean_cut_cost, "mean_cut_cost");
  line += R"(},"previous":")" + std::string(head) + R"(","head":")" + std::string(head) + '"';
  return line;
}

void count(const WitnessEntry& entry, double& cut_cost, WitnessTotals& totals) {
  ++totals.entries;
  totals.gates += entry.keep_mask.size();
  for (const bool is_kept : entry.keep_mask) {
    totals.kept += is_kept ? 1 : 0;
  }
  cut_cost += entry.cut_cost;
  totals.mean_cut_cost = cut_cost / static_cast<double>(totals.entries);
}

std::string close_line(std::string& line) {
  std::string hash = sha256_hex(line);
  line.append(hash_mark).append(hash).append("\"}");
  return hash;
}

std::string open_line(std::string_view& line) {
  const std::size_t tail = hash_mark.size() + 64 + 2;
  if (line.size() < tail) {
    return {};
  }
  const std::string_view body = line.substr(0, line.size() - tail);
  std::string hash = sha256_hex(body);
  if (line.substr(body.size()) != std::string(hash_mark) + hash + "\"}") {
    return {};
  }
  line = body;
  return hash;
}

bool parse_header(std::string_view line, WitnessHeader& header) {
  Scanner scanner(line);
  return scanner.skip(R"({"witness":1,"config_hash":")") && scanner.hash(header.config_hash) &&
         scanner.skip(R"(","model_commit":")") && scanner.text(header.model_commit) &&
         scanner.skip(R"(,"weights_hash":")") && scanner.text(header.weights_hash) && scanner.is_at_end();
}

bool parse_entry(std::string_view line, WitnessEntry& entry, std::string& previous) {
  Scanner scanner(line);
  if (!scanner.skip(R"({"q_hash":")") || !scanner.hash(entry.q_hash) || !scanner.skip(R"(","k_hash":")") ||
      !scanner.hash(entry.k_hash) || !scanner.skip(R"(","keep_mask":)") || !scanner.mask(entry.keep_mask)) {
    return false;
  }
  entry.mask_hash.clear();
  if (scanner.skip(R"(,"mask_hash":")") && !(scanner.hash(entry.mask_hash) && scanner.skip("\""))) {
    return false;
  }
  return scanner.skip(R"(,"cut_cost":)") && scanner.number(entry.cut_cost) && scanner.skip(R"(,"lambda":)") &&
         scanner.number(entry.lambda) && scanner.skip(R"(,"tau":)") && scanner.number(entry.tau) &&
         scanner.skip(R"(,"eps":)") && scanner.number(entry.eps) && scanner.skip(R"(,"timestamp":)") &&
         scanner.number(entry.timestamp) && scanner.skip(R"(,"previous":")") && scanner.hash(previous) &&
         scanner.skip("\"") && scanner.is_at_end();
}

bool is_footer(std::string_view line) {
  return Scanner(line).skip(R"({"footer":)");
}

}  // namespace kymo::bench

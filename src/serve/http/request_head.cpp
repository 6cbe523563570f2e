#include "serve/http/request_head.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/text/ascii.hpp"

namespace kymo::serve {
namespace {

constexpr std::size_t most_lines = 100;
constexpr std::size_t longest_line = 8000;
// Room for "bytes=" and two numbers of 20 digits. Keeps long ranges from parsers that may be slow with them.
constexpr std::size_t longest_range = 64;

bool starts_with(std::string_view line, std::string_view lower_case_name) {
  const std::string_view name = line.substr(0, lower_case_name.size());
  return std::equal(lower_case_name.begin(), lower_case_name.end(), name.begin(), name.end(),
                    [](char expected, char given) { return expected == base::to_lower(given); });
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
}

/// Whether a character may stand in a header's name (RFC 9110, section 5.6.2: tchar).
bool is_name_character(char c) {
  return base::is_letter_digit_or("!#$%&'*+-.^_`|~", c);
}

/// Whether a line is `name:value` in the one form that every reader splits alike. A space before the colon, a folded
/// line or a control byte (a bare CR or LF too) is read in different ways by servers and the proxies before them.
bool is_plain_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) {
    return false;
  }
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = line.substr(colon + 1);
  return std::all_of(name.begin(), name.end(), is_name_character) &&
         std::none_of(value.begin(), value.end(), [](char c) { return c != '\t' && is_control(c); });
}

/// Whether a first line is `METHOD target HTTP/1.x`, with one space between its parts.
bool is_plain_request_line(std::string_view line) {
  const std::size_t target = line.find(' ') + 1;
  const std::size_t version = line.rfind(' ') + 1;
  const std::string_view last = line.substr(version);
  return version > target + 1 && (last == "HTTP/1.1" || last == "HTTP/1.0") &&
         line.substr(target, version - 1 - target).find(' ') == line.npos &&
         std::none_of(line.begin(), line.end(), is_control);
}

bool is_length(std::string_view line) {
  return starts_with(line, "content-length:");
}

int check_field(std::string_view line) {
  if (line.size() > longest_line) {
    return 431;
  }
  if (!is_plain_field(line)) {
    return 400;
  }
  if (starts_with(line, "range:") && line.size() > longest_range) {
    return 416;
  }
  const bool has_body = is_length(line) && line.find_first_not_of(" 0", line.find(':') + 1) != line.npos;
  return has_body || starts_with(line, "transfer-encoding:") ? 400 : 0;
}

}  // namespace

int check_request_head(std::string_view head) {
  const std::size_t first_end = std::min(head.find("\r\n"), head.size());
  const std::string_view method = head.substr(0, std::min(head.find(' '), first_end));
  if (head.find('\0') != head.npos || method.empty() ||
      !std::all_of(method.begin(), method.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return 400;
  }
  if (method != "GET" && method != "HEAD") {
    return 405;
  }
  if (first_end > longest_line) {
    return 414;
  }
  if (!is_plain_request_line(head.substr(0, first_end))) {
    return 400;
  }
  std::size_t lines = 0;
  std::size_t lengths = 0;
  for (std::size_t at = first_end + 2; at < head.size(); ++lines) {
    const std::size_t end = std::min(head.find("\r\n", at), head.size());
    if (lines > most_lines) {
      return 431;
    }
    const std::string_view line = head.substr(at, end - at);
    if (line.empty() && end + 2 >= head.size()) {
      break;
    }
    if (const int status = check_field(line); status != 0) {
      return status;
    }
    lengths += is_length(line) ? 1U : 0U;
    if (lengths > 1) {
      return 400;
    }
    at = end + 2;
  }
  return 0;
}

std::string_view explain_status(int status) {
  constexpr std::string_view too_long = "The request is too long.\n";
  constexpr std::array<std::pair<int, std::string_view>, 11> refusals{{
      {400, "The request cannot be understood, or carries a body.\n"},
      {401, "A token is needed: open the URL that kymo serve printed, with all that follows its #.\n"},
      {403,
       "This server does not go by that name, or the request comes from another site. Open the URL that kymo serve "
       "printed; for another name of this machine, start kymo serve with --listen NAME:PORT.\n"},
      {404, "There is nothing here, or the capture is gone.\n"},
      {405, "Captures are only read: GET and HEAD.\n"},
      {413, "That is too much at once: ask for at most 64 MiB, by a Range header.\n"},
      {414, too_long},
      {416, "Ask for one range within the file: bytes=FIRST-LAST.\n"},
      {431, too_long},
      {500, "The capture cannot be read.\n"},
      {503, "Too many pages follow these captures already; close one and try again.\n"},
  }};
  const auto* const found =
      std::find_if(refusals.begin(), refusals.end(), [status](const auto& refusal) { return refusal.first == status; });
  return found != refusals.end() ? found->second : std::string_view();
}

}  // namespace kymo::serve

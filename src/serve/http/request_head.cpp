#include "serve/http/request_head.hpp"

#include <algorithm>
#include <cstddef>

namespace kymo::serve {
namespace {

constexpr std::size_t most_lines = 100;
constexpr std::size_t longest_line = 8000;
// Room for "bytes=" and two numbers of 20 digits. Keeps long ranges from parsers that may be slow with them.
constexpr std::size_t longest_range = 64;

bool starts_with(std::string_view line, std::string_view lower_case_name) {
  return line.size() >= lower_case_name.size() &&
         std::equal(lower_case_name.begin(), lower_case_name.end(), line.begin(), [](char expected, char given) {
           return expected == (given >= 'A' && given <= 'Z' ? static_cast<char>(given - 'A' + 'a') : given);
         });
}

int check_field(std::string_view line) {
  constexpr std::string_view length = "content-length:";
  if (line.size() > longest_line) {
    return 431;
  }
  if (starts_with(line, "range:") && line.size() > longest_range) {
    return 416;
  }
  const bool has_length = starts_with(line, length) && line.find_first_not_of(" 0", length.size()) != line.npos;
  return has_length || starts_with(line, "transfer-encoding:") ? 400 : 0;
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
  std::size_t lines = 0;
  for (std::size_t at = first_end + 2; at < head.size(); ++lines) {
    const std::size_t end = std::min(head.find("\r\n", at), head.size());
    if (lines > most_lines) {
      return 431;
    }
    if (const int status = check_field(head.substr(at, end - at)); status != 0) {
      return status;
    }
    at = end + 2;
  }
  return 0;
}

std::string_view explain_status(int status) {
  switch (status) {
    case 400:
      return "The request cannot be understood, or carries a body.\n";
    case 401:
      return "A token is needed: open the URL that kymo serve printed, with all that follows its #.\n";
    case 403:
      return "This server does not go by that name, or the request comes from another site. Open the URL that kymo serve "
             "printed; for another name of this machine, start kymo serve with --listen NAME:PORT.\n";
    case 404:
      return "There is nothing here, or the capture is gone.\n";
    case 405:
      return "Captures are only read: GET and HEAD.\n";
    case 413:
      return "That is too much at once: ask for at most 64 MiB, by a Range header.\n";
    case 414:
    case 431:
      return "The request is too long.\n";
    case 416:
      return "Ask for one range within the file: bytes=FIRST-LAST.\n";
    case 500:
      return "The capture cannot be read.\n";
    case 503:
      return "Too many pages follow these captures already; close one and try again.\n";
    default:
      return {};
  }
}

}  // namespace kymo::serve

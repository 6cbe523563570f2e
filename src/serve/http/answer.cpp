#include "serve/http/answer.hpp"

#include "serve/http/request_head.hpp"

namespace kymo::serve {

Answer refuse(int status) {
  Answer answer;
  answer.status = status;
  answer.text = explain_status(status);
  if (status == 401) {
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  } else if (status == 405) {
    answer.headers.emplace_back("Allow", "GET, HEAD");
  } else if (status == 503) {
    answer.headers.emplace_back("Retry-After", "5");
  }
  return answer;
}

const std::vector<std::pair<std::string, std::string>>& common_headers() {
  static const std::vector<std::pair<std::string, std::string>> headers{
      {"Cache-Control", "no-store"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
       "style-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
       "frame-ancestors 'none'"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Content-Type-Options", "nosniff"},
  };
  return headers;
}

}  // namespace kymo::serve

// The API's requests and access checks.
//
//     GET /                                      the page
//     GET /metrics                               OpenMetrics text for a scraper
//     GET /api/captures                          the captures, as JSON
//     GET /api/captures/ID                       a capture's bytes, by Range
//     GET /api/captures/ID/outline?from=OFFSET   everything but its events (outline.hpp)
//     GET /api/events                            server-sent events: "grown" and "added"
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "serve/http/answer.hpp"
#include "serve/http/host_check.hpp"
#include "serve/http/limits.hpp"
#include "serve/live/catalogue.hpp"
#include "serve/live/growth_watch.hpp"
#include "serve/page_files.hpp"

namespace kymo::serve {

/// Answers requests. Thread safe. The objects passed to it must outlive it and the bodies of its answers.
class Api {
 public:
  using Metrics = std::function<std::string()>;
  /// `token`: empty if none is required; `metrics`: null if there are none.
  Api(const Catalogue& catalogue, const GrowthWatch& watch, HostCheck hosts, std::string token, PageFiles page,
      Metrics metrics, const Limits& limits);

  [[nodiscard]] Answer answer(const Request& request);

 private:
  [[nodiscard]] Answer answer_page(const Request& request) const;
  [[nodiscard]] Answer answer_api(const Request& request);
  [[nodiscard]] Answer answer_metrics() const;
  [[nodiscard]] Answer answer_capture(std::size_t id, const Request& request) const;
  [[nodiscard]] Answer answer_outline(std::size_t id, const Request& request) const;
  [[nodiscard]] Answer answer_events();

  const Catalogue& catalogue_;
  const GrowthWatch& watch_;
  HostCheck hosts_;
  std::string token_;
  PageFiles page_;
  Metrics metrics_;
  const Limits& limits_;
  std::atomic<unsigned> event_streams_{0};
};

}  // namespace kymo::serve

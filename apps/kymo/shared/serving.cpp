#include "apps/kymo/shared/serving.hpp"

#include <csignal>
#include <memory>
#include <stdexcept>
#include <utility>

#include <CLI/CLI.hpp>

#include "exchange/tables/openmetrics.hpp"
#include "serve/http/token.hpp"

namespace kymo::command {

namespace {

/// The termination signals, blocked in all threads started during its lifetime. Ignored signals, as under nohup, stay
/// ignored.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action {};
      if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
        sigaddset(&signals_, signal);
      }
    }
    ::pthread_sigmask(SIG_BLOCK, &signals_, &old_mask_);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() { ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr); }

  /// Waits for a signal. The next one ends the process at once, however long the shutdown takes.
  void wait() const {
    int signal = 0;
    while (::sigwait(&signals_, &signal) != 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  }

 private:
  sigset_t signals_{};
  sigset_t old_mask_{};
};

}  // namespace

void add_listen_arguments(CLI::App& command, ListenArguments& arguments, const std::string& what) {
  command.add_option("--listen", arguments.address, what)->option_text("HOST:PORT");
  command.add_flag(
      "--token", arguments.token,
      "Ask for a token on this machine too, for hosts with other users; --token=TEXT chooses it, for `ps` to show");
}

void apply(const ListenArguments& arguments, serve::ServerOptions& server) {
  server.address = serve::parse_listen_address(arguments.address);
  server.asks_for_token = !arguments.token.empty();
  server.token = arguments.token == "true" ? std::string() : arguments.token;  // how a flag without a value arrives
  if (!server.token.empty() && !serve::is_usable_token(server.token)) {
    throw std::invalid_argument(
        "--token: a token of your own has 16 to 128 letters, digits, '-', '_', '.' or '~'; --token alone makes one");
  }
}

std::function<std::string()> live_metrics(std::function<Timeline()> open) {
  auto live = std::make_shared<exchange::LiveOpenMetrics>(std::move(open));
  return [live] { return live->text(); };
}

std::string metrics_url(const serve::Server& server) {
  return server.url().substr(0, server.url().find('#')) + "metrics";
}

void serve_until_ended(serve::ServerOptions options, const std::function<void(const serve::Server&)>& describe) {
  const EndSignals signals;
  const serve::Server server(std::move(options));
  describe(server);
  signals.wait();
}

}  // namespace kymo::command

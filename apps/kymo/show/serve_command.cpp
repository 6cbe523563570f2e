// kymo serve: shows captures in a browser.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "serve/http/token.hpp"
#include "serve/page_files.hpp"
#include "serve/server.hpp"

namespace kymo::command {

namespace {

namespace fs = std::filesystem;

struct ServeOptions {
  std::vector<std::string> paths;
  std::string listen = "127.0.0.1:7878";
  std::string token;
  bool asks_for_token = false;
  std::string page;
};

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

serve::ServerOptions to_server_options(const ServeOptions& options) {
  serve::ServerOptions server;
  server.paths = options.paths;
  server.address = serve::parse_listen_address(options.listen);
  server.asks_for_token = options.asks_for_token;
  server.token = options.token;
  if (!options.token.empty() && !serve::is_usable_token(options.token)) {
    throw std::invalid_argument(
        "--token: a token of your own has 16 to 128 letters, digits, '-', '_', '.' or '~'; --token alone makes one");
  }
  std::error_code error;
  server.page = options.page.empty() ? serve::find_page_folder(fs::read_symlink("/proc/self/exe", error))
                                     : fs::path(options.page);
  return server;
}

/// An ssh command for reaching a server on loopback from the machine of the remote login; empty without a remote login.
std::string ssh_line(const serve::Server& server) {
  const char* const connection = std::getenv("SSH_CONNECTION");
  if (connection == nullptr || !server.is_loopback()) {
    return {};
  }
  // The client's address and port, then ours.
  const std::string text = connection;
  const std::size_t second = text.find(' ', text.find(' ') + 1);
  const std::size_t third = second == std::string::npos ? second : text.find(' ', second + 1);
  if (third == std::string::npos) {
    return {};
  }
  const std::string host = text.substr(second + 1, third - second - 1);
  const char* const user = std::getenv("USER");
  const std::string target = server.url().substr(7, server.url().find('/', 7) - 7);
  return fmt::format("ssh -N -L {}:{} {}{}{}", server.port(), target, user != nullptr ? user : "",
                     user != nullptr ? "@" : "", host);
}

void describe(const serve::Server& server, const ServeOptions& options) {
  if (!server.has_page()) {
    say("warning: {}; only the captures are served, below {}api\n",
        options.page.empty() ? std::string("the page is not installed beside this command (--page DIR names it)")
                             : printable(options.page) + ": no index.html there, so no page",
        server.url().substr(0, server.url().find('#')));
  }
  if (server.leaves_captures_out()) {
    say("warning: there are more captures than are served; name fewer\n");
  }
  say("serving {}; Ctrl-C ends it\n", format_plural(server.capture_count(), "capture"));
  if (!server.is_loopback()) {
    say("other machines can reach it: who has this URL sees the captures, and nothing is encrypted\n");
  }
  if (const std::string line = ssh_line(server); !line.empty()) {
    say("from the machine you came from: {}\nand open there:\n", printable(line));
  }
  fmt::print("{}\n", server.url());
  std::fflush(stdout);
}

int run(const ServeOptions& options) {
  const EndSignals signals;
  serve::Server server(to_server_options(options));
  describe(server, options);
  signals.wait();
  return to_int(ExitCode::ok);
}

}  // namespace

void add_serve_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<ServeOptions>();
  CLI::App* const command = app.add_subcommand("serve", "Shows captures in a browser, live while they grow");
  command
      ->add_option("CAPTURE", options->paths, "Captures, or directories of captures, of which new ones are shown too")
      ->required();
  command->add_option("--listen", options->listen, "Where to listen (127.0.0.1:7878); port 0 takes a free one")
      ->option_text("HOST:PORT");
  CLI::Option* const token = command->add_flag(
      "--token", options->token,
      "Ask for a token on this machine too, for hosts with other users; --token=TEXT chooses it, for `ps` to show");
  command->add_option("--page", options->page, "The folder of the page (the one that is installed with kymo)")
      ->option_text("DIR");
  command->footer(
      "Prints the URL to open. Only this machine can reach it, unless --listen names another address; then the URL holds\n"
      "a token, and who does not have it gets nothing. Captures are only read, and nothing else can be.\n\n"
      "Examples:\n"
      "  kymo serve run.kymo\n"
      "  kymo serve captures/ --listen 127.0.0.1:0 --token\n"
      "  ssh -t -L 7878:127.0.0.1:7878 robot kymo serve run.kymo");
  command->callback([options, token, &exit_code] {
    options->asks_for_token = token->count() != 0;
    if (options->token == "true") {
      options->token.clear();  // how a flag without a value arrives
    }
    exit_code = run_checked([&] { return run(*options); });
  });
}

}  // namespace kymo::command

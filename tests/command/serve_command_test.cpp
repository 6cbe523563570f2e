// kymo serve as users start and end it; what it serves is tested in tests/serve.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "command_fixture.hpp"
#include "serve/http_client.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

/// The port in "http://127.0.0.1:PORT/...".
std::uint16_t port_of(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
}

TEST_F(CommandTest, ServeServesUntilItIsInterrupted) {
  make_capture("run.kymo");
  set_environment({});
  ChildProcess process(
      shell(kymo_words({"serve", "run.kymo", "--listen", "127.0.0.1:0", "--token", "--page", "nowhere"})));
  const std::string url = wait_for("out");
  const std::size_t token = url.find("/#token=");
  ASSERT_NE(token, std::string::npos) << url;
  HttpClient client(port_of(url.substr(0, token)));
  client.request("/api/captures", "Authorization: Bearer " + url.substr(token + 8, 32) + "\r\n");
  EXPECT_NE(client.read_reply().body.find(R"("name":"run.kymo")"), std::string::npos);
  HttpClient stranger(port_of(url.substr(0, token)));
  stranger.request("/api/captures");
  EXPECT_EQ(stranger.read_reply().status, 401);
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(read_text(file_named("out")), url) << "the URL alone";
  EXPECT_NE(read_text(file_named("err")).find("nowhere: no index.html there"), std::string::npos);
}

TEST_F(CommandTest, ServeRefusesWhatItCannotServe) {
  make_capture("run.kymo");
  std::ofstream(file_named("notes.txt")) << "no capture";
  const CommandResult no_capture = kymo({"serve", "notes.txt"});
  EXPECT_NE(no_capture.status, 0);
  EXPECT_NE(no_capture.err.find("notes.txt"), std::string::npos);
  EXPECT_EQ(kymo({"serve", "run.kymo", "--listen", "127.0.0.1:99999"}).status, 2);
  const CommandResult short_token = kymo({"serve", "run.kymo", "--token=secret"});
  EXPECT_EQ(short_token.status, 2);
  EXPECT_EQ(short_token.err.find("secret"), std::string::npos) << "nobody needs to see it again";
}

TEST_F(CommandTest, MetricsFollowAGrowingCaptureAndEndLikeItsExport) {
  // A capture that is half there.
  make_capture("whole.kymo", {.seed = 4, .steps = 3000});
  const std::string bytes = read_text(file_named("whole.kymo"));
  std::filesystem::create_directories(file_named("live"));
  std::ofstream(file_named("live/run.kymo"), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  ASSERT_EQ(kymo({"export", "--to", "openmetrics", "-o", "whole.txt", "whole.kymo"}).status, 0);
  const std::string whole = read_text(file_named("whole.txt"));
  set_environment({});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"serve", "--metrics", "--page", "nowhere", "live"},
        std::vector<std::string>{"export", "--to", "openmetrics", "live"}}) {
    std::ofstream(file_named("live/run.kymo"), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
    std::filesystem::remove(file_named("out"));
    std::vector<std::string> arguments = words;
    arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0"});
    ChildProcess process(shell(kymo_words(arguments)));
    const std::string url = wait_for("out");
    const auto scrape = [port = port_of(url)] {
      HttpClient client(port);
      client.request("/metrics");
      return client.read_reply().body;
    };
    const auto has_all = [&](const std::string& text) {
      std::istringstream lines(whole);
      for (std::string line; std::getline(lines, line);) {
        if (text.find(line + "\n") == std::string::npos) {
          return false;
        }
      }
      return true;
    };
    const std::string half = scrape();
    EXPECT_NE(half.find("kymo_recorded_scopes_total "), std::string::npos) << half;
    EXPECT_FALSE(has_all(half));
    std::ofstream(file_named("live/run.kymo"), std::ios::binary | std::ios::app) << bytes.substr(bytes.size() / 2);
    EXPECT_TRUE(wait_until([&] { return has_all(scrape()); })) << scrape();
    // Percentiles as `stats` has them.
    const auto stats = nlohmann::json::parse(kymo({"stats", "--json", "whole.kymo"}, {}, ">told 2>err").status == 0
                                                 ? read_text(file_named("told"))
                                                 : std::string());
    const auto& site = stats["sites"][0];
    const std::string text = scrape();
    const std::size_t at = text.find("kymo_scope_seconds_count{site=\"" + site["name"].get<std::string>() + '"');
    ASSERT_NE(at, std::string::npos) << text;
    const std::size_t value = text.find("} ", at) + 2;
    EXPECT_EQ(text.substr(value, text.find('\n', value) - value), std::to_string(site["count"].get<std::uint64_t>()));
    process.signal(SIGINT);
    EXPECT_EQ(process.wait(), 0);
  }
}

TEST_F(CommandTest, ListeningIsForOpenmetricsAlone) {
  make_capture("run.kymo");
  EXPECT_EQ(kymo({"export", "--to", "chrome", "--listen", "127.0.0.1:0", "run.kymo"}).status, 2);
  EXPECT_EQ(kymo({"export", "--to", "openmetrics", "--listen", "127.0.0.1:0", "-o", "a.txt", "run.kymo"}).status, 2);
  EXPECT_EQ(kymo({"export", "--to", "openmetrics", "run.kymo"}).status, 2) << "neither -o nor --listen";
  EXPECT_EQ(kymo({"export", "--to", "openmetrics", "--listen", "127.0.0.1:0", "none.kymo"}).status, 1);
}

}  // namespace
}  // namespace kymo::test

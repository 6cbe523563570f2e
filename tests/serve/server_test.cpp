// What the server answers to who may ask.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "serve/growing_capture.hpp"
#include "serve/server_fixture.hpp"
#include "support/wait_until.hpp"

namespace kymo::serve {
namespace {

using test::HttpClient;
using test::HttpReply;

TEST_F(ServerTest, CapturesAreListedByNamesThatShowNoPath) {
  start();
  const HttpReply reply = get("/api/captures");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  const auto size = std::filesystem::file_size(directory_ / "run.kymo");
  EXPECT_EQ(reply.body,
            R"({"captures":[{"id":0,"name":"run.kymo","size":)" + std::to_string(size) + R"(,"is_growing":false}]})");
}

TEST_F(ServerTest, NamesThatAreMarkupOrNoTextStayData) {
  const std::string name = "<img src=x onerror=alert(1)>\"\xFF\n.kymo";
  test::write_file(directory_ / name, test::small_capture());
  options_.paths = {directory_ / name};
  start();
  const auto list = nlohmann::json::parse(get("/api/captures").body);
  EXPECT_EQ(list["captures"][0]["name"], "<img src=x onerror=alert(1)>\"\xEF\xBF\xBD\n.kymo");
}

TEST_F(ServerTest, BytesAreThoseOfTheFile) {
  start();
  const std::string file = text_of_file(options_.paths[0]);
  const HttpReply whole = get("/api/captures/0");
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.body, file);
  HttpClient client = connect();  // one connection for all of them
  for (std::size_t first = 0; first < file.size(); first += 977) {
    const std::size_t last = std::min(first + 1500, file.size() - 1);
    client.request("/api/captures/0", "Range: bytes=" + std::to_string(first) + "-" + std::to_string(last) + "\r\n");
    const HttpReply part = client.read_reply();
    ASSERT_EQ(part.status, 206);
    EXPECT_EQ(part.body, file.substr(first, last - first + 1));
    EXPECT_EQ(part.headers.at("content-range"),
              "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" + std::to_string(file.size()));
    EXPECT_EQ(part.headers.at("cache-control"), "no-store");
  }
}

TEST_F(ServerTest, RangesThatAreNotOneWithinTheFileAreRefused) {
  start();
  const std::string size = std::to_string(std::filesystem::file_size(options_.paths[0]));
  for (const std::string& range :
       {"bytes=" + size + "-", std::string("bytes=0-1,3-4"), std::string("bytes=x"), std::string("bytes=9-1"),
        "bytes=" + std::string(5000, '9') + "-", std::string("bytes=0-0") + std::string(7000, ',')}) {
    EXPECT_EQ(get("/api/captures/0", "Range: " + range + "\r\n").status, 416) << range;
  }
  EXPECT_EQ(get("/api/captures/0", "Range: bytes=" + size + "-\r\n").headers.at("content-range"), "bytes */" + size);
}

TEST_F(ServerTest, MoreThanTheBoundHasToBeAskedForInParts) {
  options_.limits.response_bytes = 1000;
  start();
  EXPECT_EQ(get("/api/captures/0").status, 413);
  EXPECT_EQ(get("/api/captures/0", "Range: bytes=0-\r\n").status, 413);
  EXPECT_EQ(get("/api/captures/0", "Range: bytes=0-999\r\n").status, 206);
}

TEST_F(ServerTest, HeadSaysWhatGetWouldWithoutABody) {
  start();
  HttpClient client = connect();
  client.request("/api/captures/0", {}, "HEAD");
  const HttpReply reply = client.read_reply(false);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-length"), std::to_string(std::filesystem::file_size(options_.paths[0])));
  client.request("/api/events", {}, "HEAD");
  EXPECT_EQ(client.read_reply(false).status, 200);
  client.request("/api/captures");
  EXPECT_EQ(client.read_reply().status, 200) << "no body was sent before it";
}

TEST_F(ServerTest, TheOutlineComesAsAStreamAndFromWhereItIsAsked) {
  start();
  const HttpReply all = get("/api/captures/0/outline?from=0");
  EXPECT_EQ(all.status, 200);
  EXPECT_TRUE(all.is_whole);
  const std::string file = text_of_file(options_.paths[0]);
  ASSERT_GT(all.body.size(), 28U);
  EXPECT_EQ(all.body.substr(12, 16), file.substr(0, 16)) << "the preamble, behind its offset and size";
  const HttpReply rest = get("/api/captures/0/outline?from=" + std::to_string(file.size()));
  EXPECT_EQ(rest.body, all.body.substr(all.body.size() - 12)) << "nothing but the end";
  EXPECT_EQ(get("/api/captures/0/outline").body, all.body);
  EXPECT_EQ(get("/api/captures/0/outline?from=" + std::to_string(file.size() + 1)).status, 416);
  EXPECT_EQ(get("/api/captures/0/outline?from=-1").status, 400);
  EXPECT_EQ(get("/api/captures/0/outline?from=").status, 400);
}

TEST_F(ServerTest, MetricsAreAnsweredUnderTheRulesOfTheCaptures) {
  start();
  EXPECT_EQ(get("/metrics").status, 404) << "they were not asked for";
  std::atomic<int> calls{0};
  options_.paths.clear();
  options_.metrics = [&calls]() -> std::string {
    return ++calls == 1 ? "# EOF\n" : throw std::runtime_error("the capture is gone");
  };
  options_.token = "0123456789abcdef";
  start();
  const std::string bearer = "Authorization: Bearer " + options_.token + "\r\n";
  const HttpReply reply = get("/metrics", bearer);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(reply.body, "# EOF\n");
  EXPECT_EQ(get("/metrics").status, 401);
  EXPECT_EQ(get("/metrics", bearer + "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(say("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n" + bearer + "\r\n").status, 403);
  EXPECT_EQ(say("POST /metrics HTTP/1.1\r\nHost: localhost\r\n" + bearer + "\r\n").status, 405);
  EXPECT_EQ(get("/metrics/../api/captures/0", bearer).status, 404);
  EXPECT_EQ(calls, 1) << "what is refused costs nothing";
  EXPECT_EQ(get("/metrics", bearer).status, 503);
}

TEST_F(ServerTest, HostileFilesAreServedAsTheyAreOrRefused) {
  const test::Bytes whole = test::small_capture();
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    // Hits the preamble, the first blocks, or anything.
    const std::size_t reach = std::vector<std::size_t>{16, 600, whole.size()}[static_cast<std::size_t>(round % 3)];
    test::Bytes bytes = whole;
    for (int hit = 0; hit < 4; ++hit) {
      bytes[random() % reach] = static_cast<std::byte>(random());
    }
    bytes.resize(random() % 4 == 0 ? random() % reach : bytes.size());
    test::write_file(options_.paths[0], bytes);
    try {
      start();
    } catch (const CaptureError&) {
      continue;
    }
    const std::string file = text_of_file(options_.paths[0]);
    EXPECT_EQ(get("/api/captures/0").body, file);
    const HttpReply outline = get("/api/captures/0/outline");
    EXPECT_TRUE(outline.is_whole);
    EXPECT_LE(outline.body.size(), file.size() + 12 * (file.size() / 48 + 2));
  }
}

TEST_F(ServerTest, AFileThatBecomesShorterCutsTheAnswerAndNothingElse) {
  test::write_file(options_.paths[0], large_capture());
  start();
  HttpClient reader(server_->port(), 4096);
  reader.request("/api/captures/0");
  EXPECT_EQ(reader.read_reply_head().status, 200);
  std::filesystem::resize_file(options_.paths[0], 1000);
  EXPECT_TRUE(reader.reads_end());
  EXPECT_EQ(get("/api/captures/0").body.size(), 1000U);
}

TEST_F(ServerTest, AGrowingCaptureAnnouncesItself) {
  test::GrowingCapture growing(directory_ / "live.kymo");
  options_.paths = {directory_ / "live.kymo", directory_ / ""};
  start();
  HttpClient page = connect();
  page.request("/api/events");
  const HttpReply head = page.read_reply_head();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-type"), "text/event-stream");
  const auto size = [&] { return std::to_string(std::filesystem::file_size(directory_ / "live.kymo")); };
  const auto grown = [&](const char* is_growing) {
    return "event: grown\ndata: {\"id\":0,\"size\":" + size() + ",\"is_growing\":" + is_growing + "}\n\n";
  };
  EXPECT_NE(page.read_chunks_until(grown("true")), "") << "how it stands at the start";
  for (int i = 0; i < 3; ++i) {
    growing.grow();
    EXPECT_NE(page.read_chunks_until(grown("true")), "");
  }
  test::write_file(directory_ / "another.kymo", test::small_capture());
  EXPECT_NE(page.read_chunks_until("event: added\ndata: {\"id\":2,\"name\":\"another.kymo\",\"size\":"), "");
  growing.close();
  EXPECT_NE(page.read_chunks_until(grown("false")), "");
}

TEST_F(ServerTest, AStreamWithNothingToSayStillBeats) {
  options_.limits.heartbeat = std::chrono::milliseconds(5);
  start();
  HttpClient page = connect();
  page.request("/api/events");
  EXPECT_EQ(page.read_reply_head().status, 200);
  EXPECT_NE(page.read_chunks_until("\n\n:\n\n:\n\n"), "");
}

TEST_F(ServerTest, StreamsAreLimitedAndThoseThatLeaveMakeRoom) {
  options_.limits.event_streams = 2;
  start();
  {
    HttpClient first = connect();
    HttpClient second = connect();
    for (HttpClient* const client : {&first, &second}) {
      client->request("/api/events");
      EXPECT_EQ(client->read_reply_head().status, 200);
    }
    const HttpReply refused = get("/api/events");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.headers.count("retry-after"), 1U);
  }
  EXPECT_TRUE(test::wait_until([&] {
    HttpClient third = connect();
    third.request("/api/events");
    return third.read_reply_head().status == 200;
  }));
}

TEST_F(ServerTest, StoppingEndsStreamsAndWaitsForNobody) {
  start();
  HttpClient page = connect();
  page.request("/api/events");
  EXPECT_EQ(page.read_reply_head().status, 200);
  HttpClient silent = connect();
  server_.reset();
  EXPECT_TRUE(page.reads_end());
  EXPECT_TRUE(silent.reads_end());
}

TEST_F(ServerTest, AnAddressThatIsTakenIsAnErrorThatSaysWhatToDo) {
  start();
  ServerOptions again = options_;
  again.address.port = server_->port();
  try {
    const Server second(again);
    FAIL() << "two servers at one address";
  } catch (const std::runtime_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("--listen 127.0.0.1:0"), std::string::npos) << failure.what();
  }
}
}  // namespace
}  // namespace kymo::serve

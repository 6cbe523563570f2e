// The page, and which files are served at all.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <zlib.h>
#include <nlohmann/json.hpp>

#include "serve/server_fixture.hpp"

namespace kymo::serve {
namespace {

using test::HttpClient;
using test::HttpReply;

std::string unpack(std::string packed) {
  std::string text(1'000'000, '\0');
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK) << "adding 16 makes zlib read gzip";
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  ::inflateEnd(&stream);
  return text;
}

TEST_F(ServerTest, OnlyThePagesOwnFilesCanBeAskedFor) {
  make_page();
  start();
  const HttpReply index = get("/");
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(index.body, "<!doctype html>");
  EXPECT_EQ(index.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(get("/index.html").body, index.body);
  EXPECT_EQ(get("/page.js?v=1").headers.at("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(get("/kymo_web.wasm").headers.at("content-type"), "application/wasm");
  for (const char* const path : {"/.secret.js",
                                 "/notes.md",
                                 "/hidden/page.js",
                                 "/run.kymo",
                                 "/../run.kymo",
                                 "/%2e%2e/run.kymo",
                                 "/..%2frun.kymo",
                                 "//etc/passwd",
                                 "/web/page.js",
                                 "/page.js/",
                                 "/page.js%00.html",
                                 "/./page.js",
                                 "/hidden/../page.js",
                                 "/api",
                                 "/api/",
                                 "/api/captures/",
                                 "/api/captures/1",
                                 "/api/captures/-1",
                                 "/api/captures/0/",
                                 "/api/captures/00x",
                                 "/api/captures/../captures",
                                 "/api/captures/0/outline/x",
                                 "/api/captures/99999999999999999999",
                                 "/api/captures//outline"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
}

TEST_F(ServerTest, ThePageIsSentCompressedAndOnlyWhenItChanged) {
  make_page();
  std::string module;
  for (int i = 0; i < 10'000; ++i) {
    module += "wasm " + std::to_string(i);
  }
  std::ofstream(directory_ / "web/kymo_web.wasm") << module;
  start();
  const HttpReply plain = get("/kymo_web.wasm");
  EXPECT_EQ(plain.body, module);
  EXPECT_EQ(plain.headers.count("content-encoding"), 0U);
  EXPECT_EQ(plain.headers.at("cache-control"), "no-cache");
  EXPECT_EQ(plain.headers.at("vary"), "Accept-Encoding");
  for (const char* const accepted : {"gzip", "br, gzip, deflate", "gzip;q=0.5"}) {
    const HttpReply packed = get("/kymo_web.wasm", std::string("Accept-Encoding: ") + accepted + "\r\n");
    EXPECT_EQ(packed.headers.at("content-encoding"), "gzip") << accepted;
    EXPECT_EQ(packed.headers.at("content-type"), "application/wasm");
    EXPECT_LT(packed.body.size(), module.size() / 2);
    EXPECT_EQ(unpack(packed.body), module);
  }
  for (const char* const accepted : {"br", "gzip;q=0", "gzip; q=0.0", "xgzip", "gzipx", ""}) {
    EXPECT_EQ(get("/kymo_web.wasm", std::string("Accept-Encoding: ") + accepted + "\r\n").body, module) << accepted;
  }
  EXPECT_EQ(get("/page.js", "Accept-Encoding: gzip\r\n").body, "start();") << "gzip would make it longer";

  const std::string tag = plain.headers.at("etag");
  for (const std::string& known : {tag, "W/\"0\", " + tag, tag.substr(2)}) {
    const HttpReply same = get("/kymo_web.wasm", "Accept-Encoding: gzip\r\nIf-None-Match: " + known + "\r\n");
    EXPECT_EQ(same.status, 304) << known;
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(same.headers.at("etag"), tag);
  }
  EXPECT_EQ(get("/page.js", "If-None-Match: " + tag + "\r\n").status, 200) << "another file";
  std::ofstream(directory_ / "web/kymo_web.wasm") << module << "new";
  start();
  EXPECT_EQ(get("/kymo_web.wasm", "If-None-Match: " + tag + "\r\n").body, module + "new");
}

TEST_F(ServerTest, LinksThatLeadOutOfAServedDirectoryAreNotServed) {
  const auto link = [this](const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, directory_ / name);
  };
  std::filesystem::create_directories(directory_ / "served/below");
  std::filesystem::create_directories(directory_ / "served-too");
  for (const char* const name : {"served/own.kymo", "served/below/deep.kymo", "private.kymo", "served-too/near.kymo"}) {
    test::write_file(directory_ / name, test::small_capture());
  }
  link(directory_ / "private.kymo", "served/absolute.kymo");
  link("../private.kymo", "served/relative.kymo");
  link("../served-too/near.kymo", "served/same-prefix.kymo");
  link("relative.kymo", "served/twice.kymo");
  link("nowhere.kymo", "served/broken.kymo");
  link("below/deep.kymo", "served/inside.kymo");
  link("served", "link-to-served");
  link("private.kymo", "named.kymo");
  options_.paths = {directory_ / "link-to-served", directory_ / "named.kymo"};
  start();
  const auto list = nlohmann::json::parse(get("/api/captures").body);
  std::vector<std::string> names;
  for (const auto& capture : list["captures"]) {
    names.push_back(capture["name"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"inside.kymo", "own.kymo", "named.kymo"}));
}

TEST_F(ServerTest, WithoutAPageTheCapturesAreServedAndThePageSaysWhatIsMissing) {
  start();
  EXPECT_FALSE(server_->has_page());
  const HttpReply page = get("/");
  EXPECT_EQ(page.status, 404);
  EXPECT_NE(page.body.find("--page DIR"), std::string::npos);
  EXPECT_EQ(get("/api/captures").status, 200);
}

TEST_F(ServerTest, EveryAnswerForbidsWhatThePageDoesNotNeed) {
  make_page();
  start();
  const std::vector<HttpReply> replies{get("/"),
                                       get("/nowhere"),
                                       get("/api/captures/0"),
                                       say("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                                       say("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
                                       say("GET\r\n\r\n")};
  for (const HttpReply& reply : replies) {
    const std::string& policy = reply.headers.at("content-security-policy");
    EXPECT_EQ(policy.find("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"), 0U);
    EXPECT_EQ(policy.find("unsafe-inline"), std::string::npos);
    EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.headers.at("referrer-policy"), "no-referrer");
    EXPECT_EQ(reply.headers.at("cross-origin-resource-policy"), "same-origin");
    EXPECT_EQ(reply.headers.count("access-control-allow-origin"), 0U);
  }
}

}  // namespace
}  // namespace kymo::serve

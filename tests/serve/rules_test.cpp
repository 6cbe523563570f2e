// Who is let in, and what may be asked: the rules, without a server.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "serve/http/byte_range.hpp"
#include "serve/http/host_check.hpp"
#include "serve/http/listen_address.hpp"
#include "serve/http/request_head.hpp"
#include "serve/http/token.hpp"

namespace kymo::serve {
namespace {

TEST(HostCheck, OwnNamesOfLoopbackAreAllowedWithAnyPort) {
  const HostCheck check({"127.0.0.1"}, false);
  for (const char* const host : {"localhost", "localhost:7878", "LocalHost:9000", "localhost.", "127.0.0.1:1",
                                 "[::1]:7878", "[::1]", "[0:0:0:0:0:0:0:1]:80"}) {
    EXPECT_TRUE(check.allows(host)) << host;
  }
}

TEST(HostCheck, NamesOfOthersAreRefused) {
  const HostCheck check({"127.0.0.1"}, false);
  for (const char* const host : {"",
                                 ":7878",
                                 "evil.example",
                                 "evil.example:7878",
                                 "localhost.evil.example",
                                 "127.0.0.1.evil.example",
                                 "127.0.0.2",
                                 "192.168.1.5",
                                 "[::2]",
                                 "[::1",
                                 "[]",
                                 "[::1]x",
                                 "localhost:",
                                 "localhost:http",
                                 "localhost:1:2",
                                 "localhost:123456",
                                 "user@localhost",
                                 "localhost/",
                                 " localhost",
                                 "2130706433",
                                 "127.1"}) {
    EXPECT_FALSE(check.allows(host)) << host;
  }
}

TEST(HostCheck, TheNameThatWasListenedOnIsAllowed) {
  const HostCheck check({"GPU-box.lab", "10.0.0.5"}, false);
  EXPECT_TRUE(check.allows("gpu-box.lab:7878"));
  EXPECT_TRUE(check.allows("10.0.0.5"));
  EXPECT_FALSE(check.allows("10.0.0.6"));
}

TEST(HostCheck, OnAllAddressesEveryAddressIsAllowedButNoOtherName) {
  const HostCheck check({"0.0.0.0", "box"}, true);
  EXPECT_TRUE(check.allows("192.168.1.5:7878"));
  EXPECT_TRUE(check.allows("[fe80::1]:7878"));
  EXPECT_TRUE(check.allows("box"));
  EXPECT_FALSE(check.allows("evil.example"));
}

TEST(Token, IsOfGoodSizeAndNeverTheSame) {
  const std::string token = make_token();
  EXPECT_EQ(token.size(), 32U);
  EXPECT_TRUE(is_usable_token(token));
  EXPECT_NE(token, make_token());
}

TEST(Token, OfOnesOwnMustBeLongAndFitIntoAUrl) {
  EXPECT_TRUE(is_usable_token("0123456789-._~aZ"));
  EXPECT_FALSE(is_usable_token("0123456789abcde"));
  EXPECT_FALSE(is_usable_token("0123456789abcdef#"));
  EXPECT_FALSE(is_usable_token(std::string(129, 'a')));
}

TEST(Token, OnlyTheWholeTokenInABearerHeaderCounts) {
  const std::string token = "0123456789abcdef";
  EXPECT_TRUE(carries_token("Bearer " + token, token));
  for (const std::string& wrong : std::vector<std::string>{
           "", "Bearer ", "Bearer " + token.substr(1), "Bearer " + token + token, "Basic " + token, token,
           "Bearer 1123456789abcdef", "Bearer " + token + " ", std::string("Bearer ") + '\0' + token}) {
    EXPECT_FALSE(carries_token(wrong, token)) << wrong;
  }
  EXPECT_FALSE(carries_token("Bearer ", ""));
}

TEST(ByteRange, OneRangeWithinTheFileIsTaken) {
  const auto expect = [](const char* header, std::uint64_t offset, std::uint64_t size) {
    const ByteRange range = parse_byte_range(header, 1000);
    EXPECT_EQ(range.kind, ByteRange::Kind::part) << header;
    EXPECT_EQ(range.offset, offset) << header;
    EXPECT_EQ(range.size, size) << header;
  };
  expect("bytes=0-0", 0, 1);
  expect("bytes=10-19", 10, 10);
  expect("bytes=990-2000", 990, 10);
  expect("bytes=999-18446744073709551615", 999, 1);
  expect("bytes=500-", 500, 500);
  expect("bytes=-1", 999, 1);
  expect("bytes=-5000", 0, 1000);
}

TEST(ByteRange, WhatIsNotOneRangeWithinTheFileIsRefused) {
  for (const char* const header :
       {"bytes=1000-", "bytes=1000-1001", "bytes=5-4", "bytes=-0", "bytes=-", "bytes=", "bytes", "bytes=a-b",
        "bytes=1-2,4-5", "bytes=0x1-2", "bytes= 1-2", "bytes=1 -2", "lines=1-2", "bytes=18446744073709551616-",
        "bytes=--1", "bytes=1--2", "bytes=1-18446744073709551616", "-1", "bytes=+1-2"}) {
    EXPECT_EQ(parse_byte_range(header, 1000).kind, ByteRange::Kind::unsatisfiable) << header;
  }
  EXPECT_EQ(parse_byte_range("bytes=0-0", 0).kind, ByteRange::Kind::unsatisfiable);
  EXPECT_EQ(parse_byte_range("bytes=-1", 0).kind, ByteRange::Kind::unsatisfiable);
}

TEST(ListenAddress, IsReadInAllItsForms) {
  const auto expect = [](const char* text, const char* host, std::uint16_t port) {
    const ListenAddress address = parse_listen_address(text);
    EXPECT_EQ(address.host, host) << text;
    EXPECT_EQ(address.port, port) << text;
  };
  expect("127.0.0.1:80", "127.0.0.1", 80);
  expect("box.lab", "box.lab", default_port);
  expect("9000", "127.0.0.1", 9000);
  expect("[::1]:0", "::1", 0);
  expect("[::1]", "::1", default_port);
  expect("::1", "::1", default_port);
  for (const char* const wrong : {"", ":80", "a:b", "host:65536", "host:-1", "[::1", "[::1]80", "a b:80", "host:"}) {
    EXPECT_THROW(static_cast<void>(parse_listen_address(wrong)), std::invalid_argument) << wrong;
  }
}

TEST(RequestHead, PlainReadingIsLetThrough) {
  EXPECT_EQ(check_request_head("GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\nContent-Length: 0\r\n\r\n"), 0);
  EXPECT_EQ(check_request_head("HEAD /a HTTP/1.1\r\n\r\n"), 0);
  EXPECT_EQ(check_request_head("GET /?a=b HTTP/1.0\r\nX-Empty:\r\nX-Text:\ta \xc3\xa9\t\r\n\r\n"), 0);
}

TEST(RequestHead, WhatAProxyMaySplitOtherwiseIsRefused) {
  for (const char* const line : {"Content-Length : 5",
                                 "Content-Length\t: 5",
                                 "Transfer-Encoding : chunked",
                                 " Content-Length: 5",
                                 "Host: a\r\n folded",
                                 "Host: a\r\n\tfolded",
                                 "X: a\nContent-Length: 5",
                                 "X: a\rContent-Length: 5",
                                 "X: a\r",
                                 "X: a\n",
                                 "X: \x1b[2J",
                                 "X: \x7f",
                                 "X\x01: a",
                                 "X\x80: a",
                                 "X(: a",
                                 "no colon",
                                 ": no name",
                                 "Content-Length: 0\r\nContent-Length: 0",
                                 "Content-Length: 0\r\ncontent-length: 5",
                                 "Content-Length: 0, 5",
                                 "Content-Length: +0",
                                 "Content-Length:\t5",
                                 "Content-Length: 0\r\nTransfer-Encoding: identity"}) {
    EXPECT_EQ(check_request_head("GET / HTTP/1.1\r\n" + std::string(line) + "\r\n\r\n"), 400) << line;
  }
  for (const char* const line : {"GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET /a b HTTP/1.1", "GET /\t HTTP/1.1",
                                 "GET / HTTP/2.0", "GET / http/1.1", "GET HTTP/1.1", "GET", "GET / HTTP/1.1\nX: a"}) {
    EXPECT_EQ(check_request_head(std::string(line) + "\r\n\r\n"), 400) << line;
  }
}

TEST(RequestHead, EverythingElseIsRefusedBeforeItIsParsed) {
  const auto status = [](const std::string& head) { return check_request_head(head); };
  EXPECT_EQ(status("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"), 405);
  EXPECT_EQ(status("OPTIONS * HTTP/1.1\r\n\r\n"), 405);
  EXPECT_EQ(status("\r\n\r\n"), 400);
  EXPECT_EQ(status("\x16\x03\x01 hello\r\n\r\n"), 400);
  EXPECT_EQ(status(std::string("GET /\0 HTTP/1.1\r\n\r\n", 19)), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nContent-length:  12\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n"), 414);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nCookie: " + std::string(9000, 'a') + "\r\n\r\n"), 431);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nrange: bytes=" + std::string(100, '0') + "-\r\n\r\n"), 416);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 200; ++i) {
    many += "a: b\r\n";
  }
  EXPECT_EQ(status(many + "\r\n"), 431);
}

}  // namespace
}  // namespace kymo::serve

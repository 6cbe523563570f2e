#include "exchange/chrome/arguments.hpp"

#include <bit>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kymo::exchange {
namespace {

using Json = nlohmann::json;

Json taken(OpenArguments& arguments, std::size_t depth) {
  std::string event = "{\"ph\":\"X\"";
  arguments.take(depth, event);
  event += '}';
  return Json::parse(event).value("args", Json());
}

ArgumentValue value(ArgumentType type, std::uint64_t bits, std::uint32_t text_size = 0) {
  ArgumentValue value;
  value.type = type;
  value.bits = bits;
  value.text_size = text_size;
  return value;
}

TEST(OpenArguments, EveryTypeKeepsItsValue) {
  OpenArguments arguments;
  arguments.add(0, "i", value(ArgumentType::int64, static_cast<std::uint64_t>(-5)), {});
  arguments.add(0, "u", value(ArgumentType::uint64, std::numeric_limits<std::uint64_t>::max()), {});
  arguments.add(0, "f", value(ArgumentType::float64, std::bit_cast<std::uint64_t>(0.1)), {});
  arguments.add(0, "b", value(ArgumentType::boolean, 1), {});
  arguments.add(0, "s", value(ArgumentType::string, 2, 3), "..a\"b..");
  EXPECT_EQ(
      taken(arguments, 0),
      Json({{"i", -5}, {"u", std::numeric_limits<std::uint64_t>::max()}, {"f", 0.1}, {"b", true}, {"s", "a\"b"}}));
  EXPECT_TRUE(arguments.empty());
}

TEST(OpenArguments, AStringThatWasCutEndsWithAnEllipsis) {
  OpenArguments arguments;
  ArgumentValue cut = value(ArgumentType::string, 0, 3);
  cut.is_cut = true;
  arguments.add(0, "s", cut, "abc");
  EXPECT_EQ(taken(arguments, 0), Json({{"s", "abc…"}}));
}

TEST(OpenArguments, ScopesGetTheirOwnArgumentsAndNoOthers) {
  OpenArguments arguments;
  arguments.add(0, "a", value(ArgumentType::int64, 1), {});
  arguments.add(1, "b", value(ArgumentType::int64, 2), {});
  EXPECT_EQ(taken(arguments, 2), Json());
  EXPECT_EQ(taken(arguments, 1), Json({{"b", 2}}));
  arguments.add(0, "c", value(ArgumentType::int64, 3), {});
  EXPECT_EQ(taken(arguments, 1), Json());
  EXPECT_EQ(taken(arguments, 0), Json({{"a", 1}, {"c", 3}}));
  EXPECT_EQ(taken(arguments, 0), Json());
}

TEST(OpenArguments, AKeyThatComesAgainIsNumbered) {
  OpenArguments arguments;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    arguments.add(0, "loss", value(ArgumentType::int64, i), {});
  }
  EXPECT_EQ(taken(arguments, 0), Json({{"loss", 1}, {"loss#2", 2}, {"loss#3", 3}}));
}

TEST(OpenArguments, WhatJsonCannotSayIsSkipped) {
  OpenArguments arguments;
  arguments.add(0, "nan", value(ArgumentType::float64, std::bit_cast<std::uint64_t>(std::nan(""))), {});
  arguments.add(0, "inf", value(ArgumentType::float64, std::bit_cast<std::uint64_t>(HUGE_VAL)), {});
  arguments.add(0, "outside", value(ArgumentType::string, 2, 2), "abc");
  arguments.add(0, "far", value(ArgumentType::string, std::numeric_limits<std::uint64_t>::max(), 2), "abc");
  arguments.add(0, "unknown", value(static_cast<ArgumentType>(77), 1), {});
  EXPECT_TRUE(arguments.empty());
  EXPECT_EQ(taken(arguments, 0), Json());
}

TEST(OpenArguments, AScopeWithTooManyKeepsTheFirstAndCountsTheRest) {
  OpenArguments arguments;
  const std::string text(1000, 'x');
  for (int i = 0; i < 200; ++i) {
    arguments.add(3, "text", value(ArgumentType::string, 0, 1000), text);
  }
  const Json args = taken(arguments, 3);
  EXPECT_EQ(args.size() - 1 + args.at("arguments_left_out").get<std::size_t>(), 200U);
  EXPECT_LT(args.dump().size(), 70000U);
  arguments.add(3, "text", value(ArgumentType::int64, 1), {});
  EXPECT_EQ(taken(arguments, 3), Json({{"text", 1}}));
}

}  // namespace
}  // namespace kymo::exchange

// Names of functions by the symbols that compilers of C, C++ and Rust give them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "threads/symbols/symbol_name.hpp"

namespace kymo::threads {
namespace {

bool reads_rust() {
  return name_of_symbol("_RNvC4shop4main") == "shop::main";
}

/// Refers to a place in a symbol of Rust, counted from behind its "_R".
std::string back_reference(std::size_t place) {
  std::string digits;
  for (std::size_t rest = place - 1; digits.empty() || rest != 0; rest /= 62) {
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest % 62]);
  }
  return "B" + digits + "_";
}

/// A generic function of a pair of bytes, of a pair of that, and so on.
std::string symbol_of_pairs(int count) {
  std::string symbol = "IC1a";
  std::size_t before = symbol.size();
  symbol += "ThhE";
  for (int i = 1; i < count; ++i) {
    const std::size_t here = symbol.size();
    symbol += "T" + back_reference(before) + back_reference(before) + "E";
    before = here;
  }
  return "_R" + symbol + "E";
}

TEST(SymbolName, OfCIsTheSymbolAndOfCppHasNoParameters) {
  EXPECT_EQ(name_of_symbol("main"), "main");
  EXPECT_EQ(name_of_symbol("parse.constprop.0"), "parse");
  EXPECT_EQ(name_of_symbol("_ZN4shop4Cart5weighEi"), "shop::Cart::weigh");
  EXPECT_EQ(name_of_symbol("_Znonsense"), "_Znonsense");
  EXPECT_EQ(name_of_symbol(""), "");
}

/// Symbols of rustc 1.95, and names as its own demangler writes them.
TEST(SymbolName, OfRustIsAsTheSourceHasIt) {
  if (!reads_rust()) {
    GTEST_SKIP() << "kymo was built without libiberty";
  }
  for (const auto& [symbol, name] : {
           std::pair("_RNvXNtCs9osdHJuzNgD_4spin4shopINtB2_4CartdENtB2_5Weigh5weigh",
                     "<spin::shop::Cart<f64> as spin::shop::Weigh>::weigh"),
           std::pair("_RINvNtCs9osdHJuzNgD_4spin4shop5countNCNvB4_4mains_0EB4_",
                     "spin::shop::count::<spin::main::{closure#1}>"),
           std::pair("_RNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0Cs9osdHJuzNgD_4spin",
                     "std::rt::lang_start::<()>::{closure#0}"),
           std::pair("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
           std::pair("_Rnonsense", "_Rnonsense"),
       }) {
    EXPECT_EQ(name_of_symbol(symbol), name);
  }
}

TEST(SymbolName, ASymbolThatStandsForGigabytesStays) {
  if (!reads_rust()) {
    GTEST_SKIP() << "kymo was built without libiberty";
  }
  EXPECT_EQ(name_of_symbol(symbol_of_pairs(3)),
            "a::<(u8, u8), ((u8, u8), (u8, u8)), "
            "(((u8, u8), (u8, u8)), ((u8, u8), (u8, u8)))>");
  const std::string long_name = name_of_symbol(symbol_of_pairs(8));
  EXPECT_EQ(std::count(long_name.begin(), long_name.end(), '('), (1 << 9) - 2 - 8) << "so many pairs";
  EXPECT_EQ(name_of_symbol(symbol_of_pairs(60)), symbol_of_pairs(60));
}

}  // namespace
}  // namespace kymo::threads

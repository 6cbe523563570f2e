#include "record/names/function_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace kymo::record {
namespace {

TEST(FunctionNameTest, NamesComeWithoutReturnTypeAndParameters) {
  EXPECT_EQ(short_function_name("void f()"), "f");
  EXPECT_EQ(short_function_name("int main(int, char**)"), "main");
  EXPECT_EQ(short_function_name("const char* ns::Renderer::cull(int, std::map<int, int>) const"), "ns::Renderer::cull");
  EXPECT_EQ(short_function_name("std::map<int, std::pair<int, int> > ns::make()"), "ns::make");
  EXPECT_EQ(short_function_name("Renderer::Renderer(int)"), "Renderer::Renderer");
  EXPECT_EQ(short_function_name("Renderer::~Renderer()"), "Renderer::~Renderer");
  EXPECT_EQ(short_function_name("void {anonymous}::f(void (*)(int))"), "{anonymous}::f");
  EXPECT_EQ(short_function_name("void (anonymous namespace)::f(int)"), "(anonymous namespace)::f");
}

TEST(FunctionNameTest, TemplatesAndOperatorsKeepTheirNames) {
  EXPECT_EQ(short_function_name("T add(T, T) [with T = int]"), "add");
  EXPECT_EQ(short_function_name("T add(T, T) [T = int]"), "add");
  EXPECT_EQ(short_function_name("void Box<T>::put(T) [with T = std::pair<int, int>]"), "Box<T>::put");
  EXPECT_EQ(short_function_name("bool Key::operator==(const Key&) const"), "Key::operator==");
  EXPECT_EQ(short_function_name("int Call::operator()(int) const"), "Call::operator()");
  EXPECT_EQ(short_function_name("Key::operator bool() const"), "Key::operator bool");
}

TEST(FunctionNameTest, LambdasAreNamedAfterWhereTheyStand) {
  EXPECT_EQ(short_function_name("main(int, char**)::<lambda(int)>"), "main(int, char**)::<lambda(int)>");
  EXPECT_EQ(short_function_name("auto main()::(anonymous class)::operator()(int) const"),
            "main()::(anonymous class)::operator()");
}

TEST(FunctionNameTest, WhatIsNotAFunctionIsReturnedWhole) {
  for (const char* text : {"", ")", "(", "]", " [", "f", "() ", ")))((("}) {
    EXPECT_LE(short_function_name(text).size(), std::string(text).size()) << text;
  }
  EXPECT_EQ(short_function_name("top level"), "level");
}

}  // namespace
}  // namespace kymo::record

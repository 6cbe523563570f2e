// Samples become stacks of named functions: with this program's own file as the one that is mapped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "threads/own_mapping.hpp"
#include "threads/stacks/stack_samples.hpp"

namespace kymo::threads {

/// Two functions whose names the file has.
__attribute__((noinline)) int sampled_inner(int value) {
  return value * 3;
}
__attribute__((noinline)) int sampled_outer(int value) {
  return sampled_inner(value) + 1;
}

namespace {

using Kind = KernelRecord::Kind;

using test::own_mapping;

constexpr std::uint32_t pid = test::no_process;
constexpr ThreadId thread{5};

std::uint64_t address_of(int (*function)(int)) {
  return reinterpret_cast<std::uint64_t>(function);
}

KernelRecord sample(std::vector<std::uint64_t> chain, bool is_in_kernel = false) {
  KernelRecord record;
  record.kind = Kind::sampled;
  record.pid = pid;
  record.chain = std::move(chain);
  record.is_in_kernel = is_in_kernel;
  return record;
}

/// "outer;inner" of each sample, outermost first.
std::vector<std::string> stacks_of(const EventBatch& batch) {
  std::vector<std::string> all;
  for (const StackSample& row : batch.stack_samples) {
    std::string text;
    for (StackId stack = row.stack; stack;) {
      const StackDeclaration& declared = batch.declarations.stacks[stack.index()];
      EXPECT_LT(declared.caller, stack);
      const FunctionDeclaration& function = batch.declarations.functions[declared.function.index()];
      std::string name = function.name;
      if (name.empty()) {
        name = function.module ? "+" + std::to_string(function.module_offset) : "?";
      }
      text = text.empty() ? name : name + ";" + text;
      stack = declared.caller;
    }
    all.push_back(text);
  }
  return all;
}

TEST(StackSamples, FunctionsHaveTheNamesOfTheFilesSymbols) {
  StackSamples samples;
  const std::uint64_t inner = address_of(&sampled_inner);
  const std::uint64_t outer = address_of(&sampled_outer);
  samples.take(own_mapping(inner), {});
  samples.take(sample({inner, outer + 2}), thread);
  samples.take(sample({outer}), thread);
  EventBatch batch;
  samples.collect(batch);
  EXPECT_EQ(stacks_of(batch), (std::vector<std::string>{"kymo::threads::sampled_outer;kymo::threads::sampled_inner",
                                                        "kymo::threads::sampled_outer"}));
  EXPECT_EQ(batch.declarations.stacks.size(), 2U) << "what two stacks share is there once";
  ASSERT_EQ(batch.declarations.modules.size(), 1U);
  EXPECT_EQ(batch.declarations.modules[0].path, own_mapping(inner).name);
  EventBatch later;
  samples.take(sample({inner, outer + 2}), thread);
  samples.collect(later);
  EXPECT_TRUE(later.declarations.empty()) << "declared before";
  EXPECT_EQ(later.stack_samples.at(0).stack, batch.stack_samples.at(0).stack);
  EXPECT_EQ(samples.samples(), 3U);
}

TEST(StackSamples, AReturnAddressBelongsToTheFunctionThatCalled) {
  StackSamples samples;
  const std::uint64_t inner = address_of(&sampled_inner);
  const std::uint64_t outer = address_of(&sampled_outer);
  samples.take(own_mapping(inner), {});
  // What follows a call at a function's very end is the next function's first byte.
  samples.take(sample({inner, std::max(inner, outer)}), thread);
  EventBatch batch;
  samples.collect(batch);
  EXPECT_EQ(stacks_of(batch).at(0).find(inner > outer ? "inner;" : "outer;"), std::string::npos);
}

TEST(StackSamples, AFileThatWasReplacedHasPlacesWithoutNames) {
  StackSamples samples;
  const std::uint64_t inner = address_of(&sampled_inner);
  KernelRecord mapping = own_mapping(inner);
  ++mapping.inode;
  samples.take(mapping, {});
  samples.take(sample({inner}), thread);
  EventBatch batch;
  samples.collect(batch);
  EXPECT_EQ(stacks_of(batch).at(0), "+" + std::to_string(inner - mapping.address + mapping.file_offset));
}

TEST(StackSamples, UnknownPlacesInARowAreOneAndTheKernelIsInnermost) {
  StackSamples samples;
  KernelRecord vdso;
  vdso.kind = Kind::mapped;
  vdso.pid = pid;
  vdso.address = 0x7000;
  vdso.size = 0x1000;
  vdso.name = "[vdso]";
  samples.take(vdso, {});
  samples.take(sample({0x7010, 0x1, 0x2}, true), thread);
  samples.take(sample({0x7020}), thread);
  samples.take(sample({}), thread);
  EventBatch batch;
  samples.collect(batch);
  EXPECT_EQ(stacks_of(batch), (std::vector<std::string>{"?;+0;[kernel]", "+0", ""}));
}

TEST(StackSamples, BeyondTheLimitSamplesAreLeftOutAndCounted) {
  StackSamples samples;
  KernelRecord mapping;
  mapping.kind = Kind::mapped;
  mapping.pid = pid;
  mapping.address = 0x100000;
  mapping.size = std::uint64_t{1} << 40U;
  mapping.name = "/no/such/file";
  samples.take(mapping, {});
  const std::size_t more = 10;
  for (std::uint64_t i = 0; i < StackSamples::most_functions + more; ++i) {
    samples.take(sample({mapping.address + 16 * i}), thread);
  }
  EXPECT_EQ(samples.left_out(), more + 1) << "one function stands for all that is unknown";
  EXPECT_EQ(samples.samples() + samples.left_out(), StackSamples::most_functions + more);
}

KernelRecord of_thread(Kind kind, std::int64_t time_ns) {
  KernelRecord record;
  record.kind = kind;
  record.pid = record.tid = pid;
  record.time_ns = time_ns;
  return record;
}

KernelRecord leaving(std::int64_t time_ns) {
  KernelRecord record = of_thread(Kind::leaving, time_ns);
  record.chain = {address_of(sampled_inner)};
  return record;
}

TEST(StackSamples, AWaitIsAsLongAsTheThreadWasBlockedAndBeingPushedOffIsNone) {
  StackSamples stacks;
  stacks.take(own_mapping(address_of(sampled_inner)), {});
  stacks.take(leaving(100), thread);
  stacks.take(of_thread(Kind::blocked, 101), {});
  stacks.take(of_thread(Kind::switched_in, 350), thread);
  stacks.take(leaving(400), thread);
  stacks.take(of_thread(Kind::pushed_off, 401), {});
  stacks.take(of_thread(Kind::switched_in, 500), thread);
  stacks.take(leaving(800), thread);
  stacks.take(of_thread(Kind::blocked, 801), {});
  stacks.lose();  // switches may be missing, and so the wait's end
  stacks.take(of_thread(Kind::switched_in, 900), thread);
  EventBatch batch;
  stacks.collect(batch);
  ASSERT_EQ(batch.stack_samples.size(), 1U);
  EXPECT_EQ(batch.stack_samples[0].blocked_ns, 250);
  EXPECT_EQ(batch.stack_samples[0].time_ns, 350);
  EXPECT_EQ(batch.stack_samples[0].thread, thread);
  EXPECT_EQ(stacks_of(batch), std::vector<std::string>{"kymo::threads::sampled_inner"});
  EXPECT_EQ(stacks.waits(), 1U);
  EXPECT_EQ(stacks.samples(), 0U);
}

/// Waits of one thread, which begin and end one after the other.
class OneWaiter {
 public:
  explicit OneWaiter(StackSamples& stacks) : stacks_(stacks) {}

  /// In a function at an address; 0: the stack is not taken.
  void wait(std::int64_t length_ns, std::uint64_t address) {
    now_ns_ += 10;
    if (address != 0) {
      KernelRecord record = leaving(now_ns_);
      record.chain = {address};
      stacks_.take(record, thread);
    }
    stacks_.take(of_thread(Kind::blocked, now_ns_), {});
    now_ns_ += length_ns;
    stacks_.take(of_thread(Kind::switched_in, now_ns_), thread);
  }

 private:
  StackSamples& stacks_;
  std::int64_t now_ns_ = 0;
};

TEST(StackSamples, WaitsWithoutStacksAreSharedOutByThoseAboutAsLong) {
  StackSamples stacks;
  stacks.take(own_mapping(address_of(sampled_inner)), {});
  OneWaiter waiter(stacks);
  const auto outer = [&] { return address_of(sampled_outer); };
  waiter.wait(1'000, address_of(sampled_inner));
  waiter.wait(1'050, address_of(sampled_inner));
  waiter.wait(1'000, outer());
  waiter.wait(900'000, outer());
  waiter.wait(60'000'000, outer());
  waiter.wait(900'000, outer());
  waiter.wait(1'200, 0);
  waiter.wait(1'500, 0);
  waiter.wait(1'000'000, 0);
  waiter.wait(80'000, 0);  // as long as none
  EventBatch batch;
  stacks.collect(batch, true);
  std::map<std::string, std::int64_t> unsampled;
  const std::vector<std::string> names = stacks_of(batch);
  std::int64_t blocked_ns = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const StackSample& row = batch.stack_samples[i];
    EXPECT_EQ(row.thread, thread);
    EXPECT_EQ(row.blocked_ns == 0, row.unsampled_ns != 0);
    blocked_ns += row.blocked_ns;
    if (row.unsampled_ns != 0) {
      unsampled[names[i] + " by " + std::to_string(row.sampled_waits)] += row.unsampled_ns;
    }
  }
  EXPECT_EQ(blocked_ns, 61'803'050);
  EXPECT_EQ(unsampled, (std::map<std::string, std::int64_t>{{"kymo::threads::sampled_inner by 1", 1'800},
                                                            {"kymo::threads::sampled_outer by 1", 900},
                                                            {"kymo::threads::sampled_outer by 2", 1'000'000},
                                                            {" by 0", 80'000}}));
  EXPECT_EQ(stacks.waits(), 6U);
}

TEST(StackSamples, WhatIsKnownOfWaitsIsKnownForTenSeconds) {
  StackSamples stacks;
  stacks.take(own_mapping(address_of(sampled_inner)), {});
  OneWaiter waiter(stacks);
  waiter.wait(1'000, 0);
  EventBatch early;
  stacks.collect(early);
  EXPECT_TRUE(early.stack_samples.empty()) << "one as long may come";
  waiter.wait(1'000, address_of(sampled_inner));
  EventBatch next;
  stacks.collect(next);
  ASSERT_EQ(next.stack_samples.size(), 2U);
  EXPECT_EQ(next.stack_samples[1].stack, next.stack_samples[0].stack);
  waiter.wait(11'000'000'000, address_of(sampled_inner));
  stacks.collect(next);
  waiter.wait(1'000, 0);
  waiter.wait(11'000'000'000, address_of(sampled_inner));
  EventBatch late;
  stacks.collect(late);
  ASSERT_EQ(late.stack_samples.size(), 2U);
  EXPECT_EQ(late.stack_samples[1].unsampled_ns, 1'000);
  EXPECT_FALSE(late.stack_samples[1].stack);
}

TEST(StackSamples, WithoutStacksOfWaitsNoWaitIsTaken) {
  StackSamples stacks(nullptr, false);
  OneWaiter(stacks).wait(1'000, 0);
  EventBatch batch;
  stacks.collect(batch, true);
  EXPECT_TRUE(batch.stack_samples.empty());
}

}  // namespace
}  // namespace kymo::threads

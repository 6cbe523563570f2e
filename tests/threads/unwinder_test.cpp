// Stacks of code without frame pointers: this test's own, beside what the compiler's runtime says of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <execinfo.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/ucontext.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "support/rounds.hpp"
#include "threads/debug_frames_only.hpp"
#include "threads/own_mapping.hpp"
#include "threads/stacks/call_frames.hpp"
#include "threads/stacks/unwinder.hpp"

namespace kymo::threads {
namespace {

class UnwinderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_call_frames()) {
      GTEST_SKIP() << "libdw is not here, or kymo was built without its headers";
    }
  }
};

TEST_F(UnwinderTest, CompiledCodeIsFollowedByFramePointersUpToTheFunctionWithoutOne) {
  constexpr std::uint64_t code = 0x1000;
  constexpr std::uint64_t stack = 0x8000;
  KernelRecord mapping;
  mapping.kind = KernelRecord::Kind::mapped;
  mapping.pid = test::no_process;
  mapping.address = code;
  mapping.size = 0x1000;
  AddressSpaces spaces;
  spaces.map(mapping, 1);
  const std::string name = "[anonymous]";
  KernelRecord sample;
  sample.pid = mapping.pid;
  sample.registers.assign(register_count, stack);
  sample.registers[program_counter] = code + 1;
  sample.registers[frame_pointer] = stack + 16;
  const std::array<std::uint64_t, 4> words{7, 7, 0,
                                           code + 2};  // the last: the caller's frame pointer, where it goes on
  sample.stack.resize(sizeof words);
  std::memcpy(sample.stack.data(), words.data(), sizeof words);
  Unwinder unwinder;
  sample.chain = unwinder.unwind(sample, spaces, [&name](std::uint32_t) { return Unwinder::File{name, 0}; });
  EXPECT_EQ(sample.chain, (std::vector<std::uint64_t>{code + 1, code + 2}));
}

#if defined(__x86_64__) || defined(__aarch64__)
struct Moment {
  KernelRecord sample;
  std::vector<std::uint64_t> callers;  // as the compiler's runtime finds them
};

/// The registers by DWARF's numbers.
std::vector<std::uint64_t> registers_of(const mcontext_t& context) {
  std::vector<std::uint64_t> registers;
#ifdef __aarch64__
  registers.assign(std::begin(context.regs), std::end(context.regs));
  registers.push_back(context.sp);
  registers.push_back(context.pc);
#else
  constexpr std::array<int, register_count> order{REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (const int number : order) {
    registers.push_back(static_cast<std::uint64_t>(context.gregs[number]));
  }
#endif
  return registers;
}

std::uint64_t stack_pointer_of(const mcontext_t& context) {
#ifdef __aarch64__
  return context.sp;
#else
  return static_cast<std::uint64_t>(context.gregs[REG_RSP]);
#endif
}

/// The copy goes up to this address.
__attribute__((noinline, no_sanitize("address", "thread"))) void take_moment(Moment& moment, const char* stack_end) {
  std::array<void*, 64> addresses{};
  ucontext_t context{};
  ::getcontext(&context);
  const int count = ::backtrace(addresses.data(), addresses.size());
  moment.sample.registers = registers_of(context.uc_mcontext);
  const auto* const top = reinterpret_cast<const std::byte*>(moment.sample.registers[stack_pointer]);
  const auto size = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(stack_end) - top);
  moment.sample.stack.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    moment.sample.stack[i] = top[i];
  }
  for (int i = 1; i < count; ++i) {
    moment.callers.push_back(reinterpret_cast<std::uint64_t>(addresses.at(static_cast<std::size_t>(i))));
  }
}

/// Without tail calls.
__attribute__((noinline)) int nest(int depth, Moment& moment, const char* stack_end) {
  if (depth == 0) {
    take_moment(moment, stack_end);
    return 1;
  }
  return nest(depth - 1, moment, stack_end) + 1;
}

TEST_F(UnwinderTest, CallersAreThoseThatTheCompilersRuntimeFinds) {
  Moment moment;
  // Cut off below this frame's own return address.
  static_cast<void>(nest(5, moment, static_cast<const char*>(__builtin_frame_address(0))));
  const KernelRecord mapping = test::own_mapping(reinterpret_cast<std::uint64_t>(&nest));
  moment.sample.pid = mapping.pid;
  AddressSpaces spaces;
  spaces.map(mapping, 1);
  Unwinder unwinder;
  const auto unwind = [&](KernelRecord& record) {
    record.chain = unwinder.unwind(record, spaces, [&mapping](std::uint32_t) {
      return Unwinder::File{mapping.name, mapping.inode};
    });
  };
  KernelRecord sample = moment.sample;
  unwind(sample);
  constexpr std::size_t nested = 6;
  ASSERT_GE(sample.chain.size(), nested + 1);
  // A sanitizer's own function may stand before them.
  const auto first = std::find(moment.callers.begin(), moment.callers.end(), sample.chain[1]);
  ASSERT_GE(std::distance(first, moment.callers.end()), static_cast<std::ptrdiff_t>(nested));
  EXPECT_TRUE(std::equal(sample.chain.begin() + 1, sample.chain.begin() + 1 + nested, first));
  EXPECT_EQ(sample.chain.back(), 0U) << "what lies beyond the copy is not known";

  // A copy that ends behind the innermost return address.
  KernelRecord cut = moment.sample;
  cut.chain = {1, *first, 77};
  std::size_t end = cut.stack.size() / 8 * 8;
  while (std::memcmp(cut.stack.data() + end - 8, &*first, 8) != 0) {
    ASSERT_GT(end -= 8, 8U);
  }
  cut.stack.resize(end);
  unwind(cut);
  EXPECT_EQ(cut.chain, (std::vector<std::uint64_t>{moment.sample.registers[program_counter], *first, 77}))
      << "the kernel's chain goes on";
}

/// What a signal interrupts: a function that calls nothing, so that it may leave its return address in a register.
struct Interrupted {
  bool has_begun = false;  // both by the compiler's atomic operations, which are no calls
  bool is_taken = false;
  void* spin_returns_to = nullptr;
  void* caller_returns_to = nullptr;
  const std::byte* stack_end = nullptr;
  mcontext_t context{};
  std::vector<std::byte> stack = std::vector<std::byte>(std::size_t{1} << 20U);  // more than it takes
  std::size_t stack_size = 0;
};
Interrupted* interrupted = nullptr;

__attribute__((noinline, no_sanitize("address", "thread", "undefined"))) void spin(Interrupted& moment) {
  moment.spin_returns_to = __builtin_return_address(0);
  __atomic_store_n(&moment.has_begun, true, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&moment.is_taken, __ATOMIC_ACQUIRE)) {
  }
}

int call_spin(void* context) {
  auto& moment = *static_cast<Interrupted*>(context);
  moment.caller_returns_to = __builtin_return_address(0);
  spin(moment);
  return __atomic_load_n(&moment.is_taken, __ATOMIC_ACQUIRE) ? 1 : 0;
}

__attribute__((no_sanitize("address", "thread"))) void take_interrupted(int, siginfo_t*, void* context) {
  interrupted->context = static_cast<ucontext_t*>(context)->uc_mcontext;
  const auto* const top = reinterpret_cast<const std::byte*>(stack_pointer_of(interrupted->context));
  interrupted->stack_size = std::min(static_cast<std::size_t>(interrupted->stack_end - top), interrupted->stack.size());
  for (std::size_t i = 0; i < interrupted->stack_size; ++i) {
    interrupted->stack[i] = top[i];
  }
  __atomic_store_n(&interrupted->is_taken, true, __ATOMIC_RELEASE);
}

TEST_F(UnwinderTest, AFunctionThatCallsNothingHasItsCallersAndCallFramesForDebuggersWillDo) {
  Interrupted moment;
  moment.stack_end = static_cast<const std::byte*>(__builtin_frame_address(0));
  interrupted = &moment;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = take_interrupted;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  std::thread signaller([&moment, target = ::pthread_self()] {
    while (!__atomic_load_n(&moment.has_begun, __ATOMIC_ACQUIRE)) {
      std::this_thread::yield();
    }
    ::pthread_kill(target, SIGUSR1);
  });
  void* returns_to = nullptr;
  EXPECT_EQ(test::call_without_tables(call_spin, &moment, returns_to), 1);
  signaller.join();
  ::sigaction(SIGUSR1, &before, nullptr);

  const KernelRecord mapping = test::own_mapping(reinterpret_cast<std::uint64_t>(&spin));
  KernelRecord sample;
  sample.pid = mapping.pid;
  sample.registers = registers_of(moment.context);
  sample.stack.assign(moment.stack.begin(), moment.stack.begin() + static_cast<std::ptrdiff_t>(moment.stack_size));
  AddressSpaces spaces;
  spaces.map(mapping, 1);
  Unwinder unwinder;
  sample.chain = unwinder.unwind(sample, spaces, [&mapping](std::uint32_t) {
    return Unwinder::File{mapping.name, mapping.inode};
  });
  const auto address_of = [](void* place) { return reinterpret_cast<std::uint64_t>(place); };
  // ThreadSanitizer's own functions may be within the one that calls nothing.
  const auto first = std::find(sample.chain.begin(), sample.chain.end(), address_of(moment.spin_returns_to));
  EXPECT_TRUE(test::has_sanitizer || first == sample.chain.begin() + 1);
  ASSERT_GE(std::distance(first, sample.chain.end()), 3);
  EXPECT_EQ(first[1], address_of(moment.caller_returns_to));
  EXPECT_EQ(first[2], address_of(returns_to)) << "past the one without tables";
}

TEST_F(UnwinderTest, RegistersAndStacksOfAnyContentEnd) {
  const KernelRecord mapping = test::own_mapping(reinterpret_cast<std::uint64_t>(&nest));
  AddressSpaces spaces;
  spaces.map(mapping, 1);
  Unwinder unwinder;
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    KernelRecord sample;
    sample.pid = mapping.pid;
    sample.stack.resize(random() % 4096);
    const std::uint64_t begin = random();
    for (std::size_t at = 0; at + 8 <= sample.stack.size(); at += 8) {
      const std::uint64_t word =
          random() % 2 == 0 ? mapping.address + random() % mapping.size : begin + random() % 4096;
      std::memcpy(sample.stack.data() + at, &word, sizeof word);
    }
    sample.registers.assign(register_count, begin + random() % 64);
    sample.registers[program_counter] = mapping.address + random() % mapping.size;
    sample.chain = unwinder.unwind(sample, spaces, [&mapping](std::uint32_t) {
      return Unwinder::File{mapping.name, mapping.inode};
    });
    EXPECT_LE(sample.chain.size(), Unwinder::most_frames);
  }
}
#endif

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file of this test's, with its inode.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes) : path_("/tmp/kymo-frames-XXXXXX") {
    const base::FileDescriptor file(::mkstemp(path_.data()));
    EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    struct stat status {};
    ::fstat(file.get(), &status);
    inode_ = status.st_ino;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t inode() const { return inode_; }

 private:
  std::string path_;
  std::uint64_t inode_ = 0;
};

bool finds_own_rules(FrameProcess& process) {
  const auto address = reinterpret_cast<std::uint64_t>(&read_file);
  const KernelRecord own = test::own_mapping(address);
  return process.find(1'000'000, own.name, own.inode, address - own.address + own.file_offset).has_value();
}

TEST_F(UnwinderTest, DamagedFilesCostTheirOwnRulesAlone) {
  const std::string whole = read_file("/bin/true");
  ASSERT_GT(whole.size(), 4096U);
  FrameProcess process;
  std::mt19937 random(7);
  std::uint32_t module = 0;
  for (int i = 0; i < 100; ++i) {
    std::string bytes = whole;
    for (int change = 0; change < 1 + i; ++change) {
      // Half of the changes to the headers, which say where all else is.
      const std::size_t within = change % 2 == 0 ? std::size_t{1024} : bytes.size();
      bytes[random() % within] = static_cast<char>(random());
    }
    if (i % 10 == 9) {
      bytes.resize(random() % bytes.size());
    }
    const TemporaryFile file(bytes);
    ++module;
    for (std::uint64_t offset = 0; offset < whole.size(); offset += 1009) {
      static_cast<void>(process.find(module, file.path(), file.inode(), offset));
    }
  }
  EXPECT_TRUE(finds_own_rules(process));
}

TEST_F(UnwinderTest, WhatIsNoFileOfThatInodeHasNoRules) {
  FrameProcess process;
  ASSERT_TRUE(process.is_running());
  const TemporaryFile text("no ELF file");
  EXPECT_FALSE(process.find(1, text.path(), text.inode(), 0));
  EXPECT_FALSE(process.find(2, "/bin/true", 1, 0x3000));
  EXPECT_FALSE(process.find(3, "/dev/zero", 1, 0));
  EXPECT_FALSE(process.find(4, std::string(10'000, '/'), 1, 0));
  EXPECT_TRUE(finds_own_rules(process));
}

}  // namespace
}  // namespace kymo::threads

// Functions and lines of the source: of this test's own code, beside what addr2line says of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "support/temporary_directory.hpp"
#include "threads/own_mapping.hpp"
#include "threads/stacks/call_frames.hpp"
#include "threads/stacks/frame_process.hpp"
#include "threads/stacks/stack_samples.hpp"

namespace kymo::threads {

volatile double blended = 0;

constexpr int line_of_division = __LINE__ + 4;
struct Mixer {
  [[gnu::always_inline]] static inline double stir(double value) {
    for (int i = 0; i < 3; ++i) {
      value = 1 / (value + blended);
    }
    return value;
  }
};
[[gnu::always_inline]] inline double blend(double value) {
  blended = value * blended;
  return Mixer::stir(value) + blended;
}
constexpr int line_of_stirring = __LINE__ + 6;
/// Its code begins and ends with its own.
[[gnu::noinline]] double bake(double value) {
  blended = value;
  const double first = blend(value + 1);
  blended = first;
  const double second = Mixer::stir(first);
  blended = second;
  return second + blended;
}

namespace {

struct ClosePipe {
  void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, ClosePipe> pipe(::popen(command.c_str(), "r"));
  std::string all;
  std::array<char, 4096> part{};
  for (std::size_t size = 0; pipe && (size = std::fread(part.data(), 1, part.size(), pipe.get())) > 0;) {
    all.append(part.data(), size);
  }
  return all;
}

/// "bake at source_frames_test.cpp:49".
std::string text_of(const std::string& symbol, const std::string& file, const std::string& line) {
  return symbol + " at " + file.substr(file.rfind('/') + 1) + ":" + line;
}

/// addr2line's functions and lines at each address, the innermost first. It writes the address, then by turns a
/// function and a place in the source.
std::map<std::uint64_t, std::vector<std::string>> frames_by_addr2line(const std::string& path,
                                                                      const std::vector<std::uint64_t>& addresses) {
  std::ostringstream command;
  command << "addr2line -a -i -f -e '" << path << "'" << std::hex;
  for (const std::uint64_t address : addresses) {
    command << " 0x" << address;
  }
  std::istringstream said(output_of(command.str() + " 2>/dev/null"));
  std::map<std::uint64_t, std::vector<std::string>> frames;
  std::uint64_t address = 0;
  for (std::string line; std::getline(said, line);) {
    if (line.rfind("0x", 0) == 0) {
      address = std::stoull(line, nullptr, 16);
      continue;
    }
    std::string place;
    std::getline(said, place);
    place.resize(std::min(place.find(" (discriminator"), place.size()));
    const std::size_t colon = place.rfind(':');
    frames[address].push_back(text_of(line, place.substr(0, colon), place.substr(colon + 1)));
  }
  return frames;
}

class SourceFramesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_call_frames()) {
      GTEST_SKIP() << "libdw is not here, or kymo was built without its headers";
    }
  }

  const std::uint64_t begin_ = reinterpret_cast<std::uint64_t>(&bake);
  const std::uint64_t end_ = begin_ + 1024;  // of the function, also where a sanitizer makes it longer
  const KernelRecord mapping_ = test::own_mapping(begin_);
};

TEST_F(SourceFramesTest, HaveTheFunctionsAndLinesOfAddr2lineAtEveryAddress) {
  const ModuleSymbols symbols(mapping_.name, mapping_.inode);
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t place = begin_; place < end_; ++place) {
    addresses.push_back(symbols.address_of(place - mapping_.address + mapping_.file_offset));
  }
  const auto expected = frames_by_addr2line(mapping_.name, addresses);
  if (expected.empty()) {
    GTEST_SKIP() << "addr2line is not here";
  }
  FrameProcess process;
  std::size_t deepest = 0;
  for (const std::uint64_t address : addresses) {
    std::vector<std::string> found;
    for (const SourceFrame& frame : process.find_source(1, mapping_.name, mapping_.inode, address)) {
      const std::string line = frame.line == 0 ? "?" : std::to_string(frame.line);  // code of no line: addr2line's word
      found.insert(found.begin(), text_of(frame.symbol, frame.file, line));
    }
    if (!found.empty() &&
        found.back().rfind("_ZN4kymo7threads4bakeEd at ", 0) == 0) {  // else it is behind the function
      EXPECT_EQ(found, expected.at(address)) << std::hex << address;
      deepest = std::max(deepest, found.size());
    }
  }
  EXPECT_EQ(deepest, 3U);
}

TEST_F(SourceFramesTest, AreFramesOfTheirOwnInSamples) {
  StackSamples samples(std::make_unique<Unwinder>());
  samples.take(mapping_, {});
  for (std::uint64_t place = begin_; place < end_; ++place) {
    KernelRecord sample;
    sample.kind = KernelRecord::Kind::sampled;
    sample.pid = test::no_process;
    sample.chain = {place};
    samples.take(sample, ThreadId{1});
  }
  EventBatch batch;
  samples.collect(batch);
  const auto name_of = [&batch](StackId stack) {
    return batch.declarations.functions[batch.declarations.stacks[stack.index()].function.index()].name;
  };
  std::set<std::string> all;
  std::set<std::string> all_with_lines;
  for (const StackDeclaration& stack : batch.declarations.stacks) {
    std::string text = name_of(stack.id);
    std::string with_lines = text + ":" + std::to_string(stack.line);
    for (StackId caller = stack.caller; caller; caller = batch.declarations.stacks[caller.index()].caller) {
      text = name_of(caller) + ";" + text;
      with_lines =
          name_of(caller) + ":" + std::to_string(batch.declarations.stacks[caller.index()].line) + ";" + with_lines;
    }
    all.insert(text);
    all_with_lines.insert(with_lines);
  }
  for (const std::string path :
       {"kymo::threads::bake", "kymo::threads::bake;kymo::threads::blend (inlined)",
        "kymo::threads::bake;kymo::threads::Mixer::stir (inlined)",
        "kymo::threads::bake;kymo::threads::blend (inlined);kymo::threads::Mixer::stir (inlined)"}) {
    EXPECT_EQ(all.count(path), 1U) << path;
  }
  EXPECT_EQ(all_with_lines.count("kymo::threads::bake:" + std::to_string(line_of_stirring) +
                                 ";kymo::threads::Mixer::stir (inlined):" + std::to_string(line_of_division)),
            1U);
  const auto& functions = batch.declarations.functions;
  EXPECT_EQ(std::count_if(functions.begin(), functions.end(),
                          [](const auto& function) { return function.name == "kymo::threads::Mixer::stir (inlined)"; }),
            1)
      << "it is one function wherever it is inlined";
  const auto bake = std::find_if(functions.begin(), functions.end(),
                                 [](const auto& function) { return function.name == "kymo::threads::bake"; });
  ASSERT_NE(bake, functions.end());
  EXPECT_EQ(bake->file, __FILE__);
}

TEST_F(SourceFramesTest, AFileThatWasReplacedOrHasNoDebugInformationHasNone) {
  const ModuleSymbols symbols(mapping_.name, mapping_.inode);
  const std::uint64_t address = symbols.address_of(begin_ - mapping_.address + mapping_.file_offset);
  FrameProcess process;
  for (std::uint64_t place = address; place < address + 64; ++place) {
    EXPECT_TRUE(process.find_source(1, mapping_.name, mapping_.inode + 1, place).empty());
    EXPECT_TRUE(process.find_source(2, "/proc/self/maps", 0, place).empty());
  }
  EXPECT_TRUE(process.is_running());
}

TEST_F(SourceFramesTest, DamagedFilesCostTheirOwnAlone) {
  std::ifstream program(INLINED_PROGRAM, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(program), {});
  const std::size_t headers = 0x400;  // a file whose own are damaged has nothing to look at
  ASSERT_GT(whole.size(), 2 * headers);
  const test::TemporaryDirectory directory;
  const std::string path = directory / "damaged";
  FrameProcess process;
  std::mt19937 random(7);
  std::size_t found = 0;
  for (std::uint32_t module = 1; module <= 30; ++module) {
    std::string bytes = whole;
    for (std::uint32_t change = 1; change < module; ++change) {
      bytes[headers + random() % (bytes.size() - headers)] = static_cast<char>(random());
    }
    bytes.resize(module % 10 == 9 ? random() % bytes.size() : bytes.size());
    std::ofstream(path, std::ios::binary) << bytes;
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    for (std::uint64_t address = 0x400; address < 0x2000; address += 8) {
      found += process.find_source(module, path, status.st_ino, address).empty() ? 0U : 1U;
    }
  }
  EXPECT_GT(found, 0U) << "in the whole file at least";
  const ModuleSymbols symbols(mapping_.name, mapping_.inode);
  const std::uint64_t own = symbols.address_of(begin_ - mapping_.address + mapping_.file_offset);
  found = 0;
  for (std::uint64_t address = own; address < own + (end_ - begin_); ++address) {
    found += process.find_source(1'000, mapping_.name, mapping_.inode, address).empty() ? 0U : 1U;
  }
  EXPECT_GT(found, 0U) << "of a file that is whole";
}

}  // namespace
}  // namespace kymo::threads

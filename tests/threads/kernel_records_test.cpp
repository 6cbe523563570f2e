#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <linux/perf_event.h>

#include "threads/record_bytes.hpp"
#include "threads/states/kernel_records.hpp"
#include "threads/states/unwind_rule.hpp"
#include "threads/states/wake_tracepoint.hpp"

namespace kymo::threads {
namespace {

using Kind = KernelRecord::Kind;
using test::RecordBytes;

TEST(KernelRecords, ASwitchSaysWhetherTheThreadWasPushedOff) {
  const auto parse_switch = [](int misc) {
    return parse_record(RecordBytes(PERF_RECORD_SWITCH, static_cast<std::uint16_t>(misc)).by(10, 11, 12'345, 3));
  };
  const KernelRecord in = parse_switch(0);
  EXPECT_EQ(in.kind, Kind::switched_in);
  EXPECT_EQ(in.pid, 10U);
  EXPECT_EQ(in.tid, 11U);
  EXPECT_EQ(in.time_ns, 12'345);
  EXPECT_EQ(in.cpu, 3U);
  EXPECT_EQ(parse_switch(PERF_RECORD_MISC_SWITCH_OUT).kind, Kind::blocked);
  EXPECT_EQ(parse_switch(PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT).kind, Kind::pushed_off);
}

TEST(KernelRecords, AForkNamesTheNewThreadNotTheOneThatForks) {
  const auto fork = [](std::uint32_t type) {
    return parse_record(RecordBytes(type, 0)
                            .add(std::uint32_t{20})
                            .add(std::uint32_t{10})
                            .add(std::uint32_t{21})
                            .add(std::uint32_t{11})
                            .add(std::uint64_t{5})
                            .by(10, 11, 5, 0));
  };
  EXPECT_EQ(fork(PERF_RECORD_FORK).kind, Kind::forked);
  EXPECT_EQ(fork(PERF_RECORD_FORK).pid, 20U);
  EXPECT_EQ(fork(PERF_RECORD_FORK).tid, 21U);
  EXPECT_EQ(fork(PERF_RECORD_FORK).parent_tid, 11U);
  EXPECT_EQ(fork(PERF_RECORD_EXIT).kind, Kind::exited);
}

TEST(KernelRecords, AWakeNamesTheWokenThreadUnlessAnInterruptWokeIt) {
  const std::optional<WakeTracepoint> tracepoint{{375, 24}};
  const auto wake_bytes = [](std::uint8_t flags, std::uint32_t size) {
    RecordBytes record(PERF_RECORD_SAMPLE, 0);
    record.add(std::uint32_t{10}).add(std::uint32_t{11}).add(std::uint64_t{7}).add(std::uint32_t{3}).add(0U);
    record.add(size).add(std::uint16_t{375}).add(flags).add(std::uint8_t{0}).add(std::uint32_t{11});
    record.add(std::uint64_t{0}).add(std::uint64_t{0});  // the woken thread's name
    return record.add(std::uint32_t{12}).add(std::uint32_t{120}).add(std::uint32_t{1}).finish();
  };
  const KernelRecord wake = parse_record(wake_bytes(0x05, 36), tracepoint);
  EXPECT_EQ(wake.kind, Kind::waking);
  EXPECT_EQ(wake.tid, 11U);
  EXPECT_EQ(wake.woken_tid, 12U);
  EXPECT_EQ(wake.time_ns, 7);
  EXPECT_EQ(parse_record(wake_bytes(0x08, 36), tracepoint).kind, Kind::other) << "a timer, a disk";
  EXPECT_EQ(parse_record(wake_bytes(0x10, 36), tracepoint).kind, Kind::other) << "a network card";
  EXPECT_EQ(parse_record(wake_bytes(0, 27), tracepoint).kind, Kind::other) << "too short";
  EXPECT_EQ(parse_record(wake_bytes(0, 0xFFFFFFFF), {{375, 1000}}).kind, Kind::other) << "more than there is";
}

TEST(WakeTracepoint, ItsNumberAndItsFieldAreThoseOfTheKernelsDescription) {
  const std::string described =
      "name: sched_waking\nID: 375\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
      "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
      "\n\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
  const auto found = parse_wake_format(described);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, 375U);
  EXPECT_EQ(found->woken_offset, 24U);
  for (const char* const changed : {"ID: 375", "pid_t pid", "\toffset:24", "size:4", "common_flags;\toffset:2"}) {
    std::string other = described;
    other.replace(other.find(changed), std::string(changed).size() - 1, "x");
    EXPECT_FALSE(parse_wake_format(other)) << changed;
  }
  std::string far = described;
  far.replace(far.find("offset:24"), 9, "offset:99999999999");
  EXPECT_FALSE(parse_wake_format(far));
  EXPECT_FALSE(parse_wake_format(""));
}

TEST(KernelRecords, ANameEndsAtItsZeroAndALossHasItsNumber) {
  const KernelRecord named = parse_record(RecordBytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC)
                                              .add(std::uint32_t{10})
                                              .add(std::uint32_t{11})
                                              .text("worker")
                                              .by(10, 11, 7, 0));
  EXPECT_EQ(named.kind, Kind::named);
  EXPECT_EQ(named.name, "worker");
  EXPECT_TRUE(named.is_exec);
  const KernelRecord lost =
      parse_record(RecordBytes(PERF_RECORD_LOST, 0).add(std::uint64_t{1}).add(std::uint64_t{77}).by(10, 11, 7, 0));
  EXPECT_EQ(lost.kind, Kind::lost_records);
  EXPECT_EQ(lost.lost, 77U);
}

TEST(KernelRecords, AMappingHasItsFilesPathAndPlace) {
  const KernelRecord mapped = parse_record(RecordBytes(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER)
                                               .add(std::uint32_t{10})
                                               .add(std::uint32_t{11})
                                               .add(std::uint64_t{0x400000})
                                               .add(std::uint64_t{0x3000})
                                               .add(std::uint64_t{0x1000})
                                               .add(std::uint64_t{0})
                                               .add(std::uint64_t{77})
                                               .add(std::uint64_t{0})
                                               .add(std::uint64_t{0})
                                               .text("/usr/bin/true")
                                               .by(10, 11, 7, 0));
  EXPECT_EQ(mapped.kind, Kind::mapped);
  EXPECT_EQ(mapped.pid, 10U);
  EXPECT_EQ(mapped.address, 0x400000U);
  EXPECT_EQ(mapped.size, 0x3000U);
  EXPECT_EQ(mapped.file_offset, 0x1000U);
  EXPECT_EQ(mapped.inode, 77U);
  EXPECT_EQ(mapped.name, "/usr/bin/true");
}

TEST(KernelRecords, ASampleHasTheStacksOfTheProgramAndTheKernel) {
  const auto context = [](auto marker) { return static_cast<std::uint64_t>(marker); };
  const std::vector<std::byte> bytes = test::sample_bytes(
      {10, 11, 12'345, 3}, PERF_RECORD_MISC_KERNEL,
      {context(PERF_CONTEXT_KERNEL), 0xffffffff81000000, context(PERF_CONTEXT_USER), 0x401234, 0x401300});
  const KernelRecord sample = parse_record(bytes);
  EXPECT_EQ(sample.kind, Kind::sampled);
  EXPECT_EQ(sample.tid, 11U);
  EXPECT_EQ(sample.cpu, 3U);
  EXPECT_EQ(sample.time_ns, 12'345);
  EXPECT_TRUE(sample.is_in_kernel);
  EXPECT_EQ(sample.chain, (std::vector<std::uint64_t>{0x401234, 0x401300}));
  EXPECT_EQ(sample.kernel_chain, (std::vector<std::uint64_t>{0xffffffff81000000}));
  const KernelRecord leaving = parse_record(
      test::sample_bytes({10, 11, 12'345, 3}, PERF_RECORD_MISC_KERNEL, {context(PERF_CONTEXT_USER), 0x401234}, 0));
  EXPECT_EQ(leaving.kind, Kind::leaving) << "without a period it is a switch";
  EXPECT_EQ(leaving.chain, std::vector<std::uint64_t>{0x401234});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(parse_record(std::span(bytes).first(size)).kind, Kind::other) << size;
  }
}

#if defined(__x86_64__) || defined(__aarch64__)
/// Of a sample by CPU time, or without a period of a thread that leaves.
class CopiedStack : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Periods, CopiedStack, ::testing::Values(0U, 1'001'001U));

TEST_P(CopiedStack, ComesWithTheRegistersOrNotAtAll) {
  std::vector<std::byte> bytes = test::sample_bytes({10, 11, 12'345, 3}, PERF_RECORD_MISC_USER, {}, GetParam());
  const Kind kind = GetParam() == 0 ? Kind::leaving : Kind::sampled;
  const auto add = [&bytes](std::uint64_t word) {
    const auto* const first = reinterpret_cast<const std::byte*>(&word);
    bytes.insert(bytes.end(), first, first + sizeof word);
  };
  const std::size_t plain = bytes.size();
  add(PERF_SAMPLE_REGS_ABI_64);
  for (std::uint64_t i = 0; i < register_count; ++i) {
    add(100 + i);
  }
  add(3 * 8);  // room
  for (const std::uint64_t word : {1U, 2U, 0U}) {
    add(word);
  }
  add(2 * 8);  // of which so much was copied
  const KernelRecord sample = parse_record(bytes);
  EXPECT_EQ(sample.kind, kind);
  ASSERT_EQ(sample.registers.size(), register_count);
#ifdef __aarch64__
  EXPECT_EQ(sample.registers[1], 101U);
  EXPECT_EQ(sample.registers[return_address], 130U);
  EXPECT_EQ(sample.registers[stack_pointer], 131U);
  EXPECT_EQ(sample.registers[program_counter], 132U);
#else
  EXPECT_EQ(sample.registers[0], 100U) << "rax, the kernel's number 0";
  EXPECT_EQ(sample.registers[1], 103U) << "rdx";
  EXPECT_EQ(sample.registers[stack_pointer], 107U);
  EXPECT_EQ(sample.registers[program_counter], 108U) << "rip";
#endif
  EXPECT_EQ(sample.stack.size(), 16U);
  for (std::size_t size = plain; size < bytes.size(); ++size) {
    const KernelRecord cut = parse_record(std::span(bytes).first(size));
    EXPECT_EQ(cut.kind, kind);
    EXPECT_TRUE(cut.registers.empty() && cut.stack.empty()) << size;
  }
}
#endif

TEST(KernelRecords, ARecordCutAnywhereIsNoneOrOfNoKnownKind) {
  const std::vector<std::byte> whole = RecordBytes(PERF_RECORD_FORK, 0)
                                           .add(std::uint64_t{1})
                                           .add(std::uint64_t{2})
                                           .add(std::uint64_t{3})
                                           .by(10, 11, 5, 0);
  EXPECT_EQ(record_size(whole), whole.size());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::span<const std::byte> cut(whole.data(), size);
    EXPECT_EQ(record_size(cut), 0U) << size;
    EXPECT_EQ(parse_record(cut).kind, Kind::other) << size;
  }
}

}  // namespace
}  // namespace kymo::threads

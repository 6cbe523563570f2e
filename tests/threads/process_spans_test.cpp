// Spans of processes from the kernel's records.
#include "threads/processes/process_spans.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace kymo::threads {
namespace {

using Kind = KernelRecord::Kind;

// No process has these ids, so that none is asked by mistake.
constexpr std::uint32_t base_pid = 0x40000000;

KernelRecord record(Kind kind, std::uint32_t pid, std::int64_t time_ns, std::uint32_t tid = 0) {
  KernelRecord made;
  made.kind = kind;
  made.pid = base_pid + pid;
  made.tid = base_pid + (tid == 0 ? pid : tid);
  made.time_ns = time_ns;
  return made;
}

class ProcessSpansTest : public ::testing::Test {
 protected:
  void start(std::uint32_t pid, std::uint32_t parent, std::int64_t time_ns, const std::string& name = {}) {
    KernelRecord fork = record(Kind::forked, pid, time_ns);
    fork.parent_pid = base_pid + parent;
    spans_.take(fork, {});
    if (!name.empty()) {
      execute(pid, time_ns, name);
    }
  }
  void execute(std::uint32_t pid, std::int64_t time_ns, const std::string& name) {
    KernelRecord exec = record(Kind::named, pid, time_ns);
    exec.is_exec = true;
    exec.name = name;
    spans_.take(exec, {});
  }
  void run(std::uint32_t pid, std::int64_t from_ns, std::int64_t until_ns, std::uint32_t tid = 0) {
    spans_.take(record(Kind::switched_in, pid, from_ns, tid), {});
    spans_.take(record(Kind::blocked, pid, until_ns, tid), {});
  }
  void end(std::uint32_t pid, std::int64_t time_ns, std::uint32_t tid = 0) {
    spans_.take(record(Kind::exited, pid, time_ns, tid), {});
  }
  /// "make 1 0+900 on processes 1" by ascending pid, with the arguments that are numbers.
  std::vector<std::string> collected(bool is_last = true) {
    batch_.spans.clear();
    batch_.span_arguments.clear();
    spans_.collect(1000, is_last, batch_);
    std::map<std::uint64_t, std::string> by_pid;
    for (const SpanEvent& span : batch_.spans) {
      const auto name_of = [this](NameId id) { return batch_.declarations.names.at(id.index()).text; };
      std::string text = name_of(span.name) + " " + std::to_string(span.start_ns) + "+" +
                         std::to_string(span.duration_ns) + " on " +
                         batch_.declarations.tracks.at(span.track.index()).name;
      std::uint64_t pid = 0;
      for (std::uint32_t i = span.first_argument; i < span.first_argument + span.argument_count; ++i) {
        const ArgumentValue& value = batch_.span_arguments[i];
        const std::string name = name_of(value.name);
        pid = name == "pid" ? value.bits : pid;
        if (name != "pid") {
          text += ", " + name + " " + std::to_string(name == "parent" ? value.bits - base_pid : value.bits);
        }
      }
      by_pid[pid] = text;
    }
    std::vector<std::string> texts;
    texts.reserve(by_pid.size());
    for (auto& [pid, text] : by_pid) {
      texts.push_back(std::move(text));
    }
    return texts;
  }

  ProcessSpans spans_{true, true};
  EventBatch batch_;
};

TEST_F(ProcessSpansTest, EachProcessHasItsTimeItsParentItsCpuTimeAndATrackThatNoneRunsOnMeanwhile) {
  spans_.take(record(Kind::switched_in, 1, 0), {});
  execute(1, 0, "make");
  start(2, 1, 100, "cc");
  start(3, 1, 200, "cc");
  run(2, 110, 160);
  run(3, 210, 260);
  run(2, 270, 300);
  end(2, 400);
  start(4, 1, 500, "ld");
  spans_.take(record(Kind::switched_in, 4, 510), {});
  end(4, 600);
  end(3, 700);
  spans_.take(record(Kind::pushed_off, 1, 800), {});
  end(1, 900);
  EXPECT_EQ(collected(),
            (std::vector<std::string>{
                "make 0+900 on processes 1, cpu_ns 800", "cc 100+300 on processes 2, parent 1, cpu_ns 80",
                "cc 200+500 on processes 3, parent 1, cpu_ns 50", "ld 500+100 on processes 2, parent 1, cpu_ns 90"}));
  EXPECT_EQ(spans_.started(), 4U);
  EXPECT_EQ(spans_.most_at_once(), 3U);
  EXPECT_EQ(collected(), std::vector<std::string>{}) << "each is told once";
}

TEST_F(ProcessSpansTest, AProcessEndsWithItsLastThreadAndAnExecutionEndsTheOthers) {
  execute(1, 0, "sh");
  start(2, 1, 10);
  const auto thread = [this](std::uint32_t tid) {
    KernelRecord fork = record(Kind::forked, 2, 20, tid);
    fork.parent_pid = base_pid + 2;
    spans_.take(fork, {});
  };
  thread(3);
  thread(4);
  run(2, 30, 40, 4);
  end(2, 50, 3);
  EXPECT_EQ(collected(false), std::vector<std::string>{});
  execute(2, 60, "tool");
  end(2, 65, 4);  // whose record came late
  EXPECT_EQ(collected(false), std::vector<std::string>{});
  end(2, 70);
  EXPECT_EQ(collected(false), std::vector<std::string>{"tool 10+60 on processes 2, parent 1, cpu_ns 10"});
}

TEST_F(ProcessSpansTest, AForkWithoutAnExecutionHasItsParentsNameAndWhatGoesOnEndsWithTheRecording) {
  execute(1, 0, "server");
  start(2, 1, 300);
  EXPECT_EQ(collected(), (std::vector<std::string>{"server 0+1000 on processes 1, cpu_ns 0",
                                                   "server 300+700 on processes 2, parent 1, cpu_ns 0"}));
}

TEST_F(ProcessSpansTest, WithoutAllRecordsThereIsNoCpuTime) {
  execute(1, 0, "make");
  start(2, 1, 100, "cc");
  spans_.take(record(Kind::switched_in, 2, 110), {});
  spans_.lose();
  end(2, 400);
  start(3, 1, 500, "cc");
  end(3, 600);
  EXPECT_EQ(collected(false), (std::vector<std::string>{"cc 100+300 on processes 2, parent 1",
                                                        "cc 500+100 on processes 2, parent 1, cpu_ns 0"}));
}

TEST_F(ProcessSpansTest, ACommandAloneHasNoSpans) {
  execute(1, 0, "program");
  run(1, 10, 20);
  end(1, 900);
  EXPECT_EQ(collected(), std::vector<std::string>{});
  EXPECT_TRUE(batch_.declarations.empty());
}

TEST_F(ProcessSpansTest, TheLongestAreNeitherCollectionsNorPartsOfOneAnother) {
  execute(1, 0, "make");
  start(2, 1, 10, "make -C sub");
  std::uint32_t pid = 3;
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::uint32_t driver = pid++;
    start(driver, 2, 100 * i, "g++ " + std::to_string(i));
    start(pid, driver, 100 * i + 10, "cc1plus");
    end(pid++, 100 * i + 20 + 5 * i);
    end(driver, 100 * i + 30 + 5 * i);
  }
  end(2, 800);
  end(1, 900);
  static_cast<void>(collected());
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const ProcessSpans::Ended& ended : spans_.longest(3)) {
    found.emplace_back(ended.command, ended.duration_ns);
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::int64_t>>{{"g++ 4", 50}, {"g++ 3", 45}, {"g++ 2", 40}}));
}

}  // namespace
}  // namespace kymo::threads

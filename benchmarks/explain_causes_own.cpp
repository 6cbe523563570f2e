// Causes in what the frame's own thread does.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <sys/mman.h>

#include "explain_program_parts.hpp"

namespace explained {

namespace {

Body blocked() {
  return [](Nanoseconds extra) {
    KYMO_SCOPE("save");
    const Nanoseconds took = timed([extra] { std::this_thread::sleep_for(std::chrono::nanoseconds(200'000 + extra)); });
    kymo::record_io(static_cast<std::uint64_t>(took), 4096);
    return extra;
  };
}

Body growing_argument() {
  return [](Nanoseconds extra) {
    // So many numbers are sorted in some 70 ns each.
    const auto count = static_cast<std::int64_t>(10'000 + extra / 70);
    KYMO_SCOPE("sort", {"count", count});
    return timed([count] {
      std::mt19937 random(1);
      std::vector<std::uint32_t> numbers(static_cast<std::size_t>(count));
      std::generate(numbers.begin(), numbers.end(), std::ref(random));
      std::sort(numbers.begin(), numbers.end());
    });
  };
}

Body more_calls() {
  return [](Nanoseconds extra) {
    KYMO_SCOPE("draw");
    return timed([extra] {
      for (Nanoseconds left = ms + extra; left > 0; left -= 50'000) {
        KYMO_SCOPE("tile");
        compute(50'000);
      }
    });
  };
}

Body first_time() {
  return [](Nanoseconds extra) {
    KYMO_SCOPE("draw");
    compute(ms);
    static bool is_first = true;
    if (extra == 0 || !is_first) {
      return Nanoseconds{0};
    }
    is_first = false;
    KYMO_SCOPE("compile shader");
    return timed([extra] { compute(extra); });
  };
}

Body logging() {
  const std::shared_ptr<std::FILE> file(std::tmpfile(), &std::fclose);
  return [file](Nanoseconds extra) {
    return timed([&] {
      const Nanoseconds end = now() + extra;
      do {
        KYMO_SCOPE("log line");
        std::fprintf(file.get(), "%s\n", std::string(200, 'x').c_str());
        std::fflush(file.get());
      } while (now() < end);
    });
  };
}

Body page_faults() {
  constexpr std::size_t size = std::size_t{1} << 20U;
  void* const known = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return [known](Nanoseconds extra) {
    KYMO_SCOPE("fill buffer");
    std::memset(known, 1, size);
    return timed([extra] {
      for (const Nanoseconds end = now() + extra; now() < end;) {
        void* const fresh = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::memset(fresh, 1, size);
        ::munmap(fresh, size);
      }
    });
  };
}

/// One kind of input is slow.
Body slow_category() {
  return [](Nanoseconds extra) {
    KYMO_SCOPE("decode", {"format", extra != 0 ? "webp" : "png"});
    return timed([extra] { compute(300'000 + extra); }) - 300'000;
  };
}

/// Everything computes at a lower clock, for some frames on end: so says the made-up machine whose files EXPLAIN_ROOT
/// has.
Body throttle() {
  const char* const root = std::getenv("EXPLAIN_ROOT");
  const std::string clock_file =
      std::string(root == nullptr ? "" : root) + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";
  constexpr Nanoseconds usual = 3 * ms;  // of a frame
  return [clock_file](Nanoseconds extra) {
    std::FILE* const file = std::fopen(clock_file.c_str(), "r+");
    if (file != nullptr) {
      std::fprintf(file, "%07lld\n", static_cast<long long>(3'000'000 * usual / (usual + extra)));
      std::fclose(file);
    }
    KYMO_SCOPE("simulate");
    return timed([extra] { compute(ms + extra); }) - ms;
  };
}

/// Written data goes to the disk, as often as the cause is strong. It adds what the thread waits; what it computes is
/// not that. So much at once that the waits are long: the thread's clock counts what a switch takes as computing.
Body fsync() {
  const std::shared_ptr<std::FILE> file(std::tmpfile(), &std::fclose);
  return [file](Nanoseconds extra) {
    KYMO_SCOPE("save");
    compute(100'000);
    const Nanoseconds start = now();
    const Nanoseconds cpu_start = read_clock(CLOCK_THREAD_CPUTIME_ID);
    while (now() - start < extra) {
      const std::string text(std::size_t{1} << 18U, 'x');
      if (::write(::fileno(file.get()), text.data(), text.size()) < 0 || ::fsync(::fileno(file.get())) != 0) {
        break;
      }
    }
    return now() - start - (read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_start);
  };
}

/// Much memory is taken and given back, without a scope of its own.
Body allocator() {
  return [](Nanoseconds extra) {
    KYMO_SCOPE("build list");
    compute(500'000);
    std::mt19937 random(1);
    std::vector<void*> blocks(2'000);
    return timed([&] {
      for (const Nanoseconds end = now() + extra; now() < end;) {
        for (void*& block : blocks) {
          block = std::malloc(16 + random() % 4'000);
        }
        std::shuffle(blocks.begin(), blocks.end(), random);
        for (void* const block : blocks) {
          std::free(block);
        }
      }
    });
  };
}

}  // namespace

const std::map<std::string, Make>& own_causes() {
  static const std::map<std::string, Make> all{{"blocked", blocked},
                                               {"growing argument", growing_argument},
                                               {"more calls", more_calls},
                                               {"first time", first_time},
                                               {"logging", logging},
                                               {"page faults", page_faults},
                                               {"slow category", slow_category},
                                               {"thermal throttle", throttle},
                                               {"allocator", allocator},
                                               {"fsync", fsync}};
  return all;
}

}  // namespace explained

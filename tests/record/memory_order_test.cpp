// The recorder's lock-free parts under every interleaving of a few threads, with the old values that loads may see on
// processors such as arm64. Each part is also broken in the way that its orders are there against: that must be found.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "record/platform/signal_safe_lock.hpp"
#include "record/pool/chunk_chain.hpp"
#include "record/pool/collector_sleep.hpp"
#include "record/pool/free_list.hpp"
#include "record/recorder/gate.hpp"
#include "support/interleavings.hpp"

namespace kymo::record {
namespace {

using test::Exploration;
using test::explore;
using test::ModelAtomic;
using test::Plain;
using test::require;
using test::Scenario;

void expect_sound(const Exploration& exploration) {
  EXPECT_EQ(exploration.failure, "");
  EXPECT_GT(exploration.orders, 10U);
}

void expect_failure(const Exploration& exploration, const std::string& what) {
  EXPECT_EQ(exploration.failure.substr(0, what.size()), what) << exploration.failure;
}

/// An atomic whose orders are weaker than those that the code asks for.
template <typename T>
struct RelaxedAtomic {
  explicit RelaxedAtomic(T initial) : value(initial) {}
  T load(std::memory_order) { return value.load(std::memory_order_relaxed); }
  void store(T wanted, std::memory_order) { value.store(wanted, std::memory_order_relaxed); }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order, std::memory_order) {
    return value.compare_exchange_weak(expected, desired, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  ModelAtomic<T> value;
};

/// A head that does not count its changes.
struct UntaggedHead {
  explicit UntaggedHead(std::uint64_t initial) : value(initial) {}
  std::uint64_t load(std::memory_order order) { return value.load(order); }
  bool compare_exchange_weak(std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                             std::memory_order failure) {
    return value.compare_exchange_weak(expected, desired & (free_head_tag - 1), success, failure);
  }
  ModelAtomic<std::uint64_t> value;
};

/// Chunks, all of them free, and what their holders write into them.
template <typename Head, typename Link>
class FreeChunks {
 public:
  explicit FreeChunks(std::uint32_t count) : head_(count == 0 ? no_chunk : 1) {
    for (std::uint32_t i = 0; i < count; ++i) {
      links_.emplace_back(i + 1 < count ? i + 2 : no_chunk);
      contents_.emplace_back(0);
    }
  }

  std::uint32_t take() {
    const std::uint32_t top = pop_free(head_, links());
    if (top != no_chunk) {
      Plain<int>& content = contents_[top - 1];
      content = content + 1;
    }
    return top;
  }

  void give_back(std::uint32_t top) {
    if (top != no_chunk) {
      Plain<int>& content = contents_[top - 1];
      content = content + 1;
      push_free(head_, links(), top - 1);
    }
  }

  /// Each of the chunks is free once.
  void require_all_free() {
    std::array<bool, 8> is_free{};
    for (std::size_t left = links_.size(); left > 0; --left) {
      const std::uint32_t top = pop_free(head_, links());
      require(top != no_chunk, "a chunk is lost");
      require(top == no_chunk || !is_free[top], "a chunk is free twice");
      is_free[top] = true;
    }
    require(pop_free(head_, links()) == no_chunk, "a chunk is free twice");
  }

 private:
  auto links() {
    return [this](std::uint32_t index) -> Link& { return links_[index]; };
  }

  Head head_;
  std::deque<Link> links_;
  std::deque<Plain<int>> contents_;
};

/// One thread takes and gives back; another takes two and gives the first back before the second, so that the first's
/// number stands on top again above another link.
template <typename Head, typename Link>
Scenario one_beside_two() {
  const auto chunks = std::make_shared<FreeChunks<Head, Link>>(3);
  Scenario scenario;
  scenario.threads.emplace_back([chunks] { chunks->give_back(chunks->take()); });
  scenario.threads.emplace_back([chunks] {
    const std::uint32_t first = chunks->take();
    const std::uint32_t second = chunks->take();
    chunks->give_back(first);
    chunks->give_back(second);
  });
  scenario.at_end = [chunks] { chunks->require_all_free(); };
  return scenario;
}

TEST(FreeListOrders, NoChunkIsLostOrHeldTwiceWhereANumberComesBackOnTop) {
  expect_sound(explore(one_beside_two<ModelAtomic<std::uint64_t>, ModelAtomic<std::uint32_t>>));
}

TEST(FreeListOrders, ThreeThreadsThatShareTwoChunksHandThemOnWhole) {
  expect_sound(explore(
      [] {
        const auto chunks = std::make_shared<FreeChunks<ModelAtomic<std::uint64_t>, ModelAtomic<std::uint32_t>>>(2);
        Scenario scenario;
        for (int i = 0; i < 3; ++i) {
          scenario.threads.emplace_back([chunks] { chunks->give_back(chunks->take()); });
        }
        scenario.at_end = [chunks] { chunks->require_all_free(); };
        return scenario;
      },
      1));
}

TEST(FreeListOrders, AHeadThatDoesNotCountItsChangesIsFoundOut) {
  const Exploration exploration = explore(one_beside_two<UntaggedHead, ModelAtomic<std::uint32_t>>);
  EXPECT_NE(exploration.failure, "");
}

TEST(FreeListOrders, AHeadWithoutOrderIsFoundOut) {
  expect_failure(explore(one_beside_two<RelaxedAtomic<std::uint64_t>, ModelAtomic<std::uint32_t>>), "a data race");
}

struct ModelThreads {
  using Word = ModelAtomic<std::uintptr_t>;
  static std::uintptr_t identity() { return 2 * (test::current_thread() + 1); }
  static void sleep(Word& owner, std::uintptr_t seen) { owner.wait_while(seen); }
  static void wake_all(Word& owner) { owner.wake_all(); }
};

struct ThreadsThatWakeNobody : ModelThreads {
  static void wake_all(Word& /*owner*/) {}
};

template <typename Threads>
Scenario threads_with_a_lock(std::size_t count) {
  struct State {
    BasicSignalSafeLock<Threads> lock;
    Plain<int> total{0};
  };
  const auto state = std::make_shared<State>();
  Scenario scenario;
  for (std::size_t i = 0; i < count; ++i) {
    scenario.threads.emplace_back([state] {
      require(state->lock.lock(), "a lock that nobody of this thread holds is refused");
      require(!state->lock.lock(), "a lock is given to its holder");
      state->total = state->total + 1;
      state->lock.unlock();
    });
  }
  scenario.at_end = [state, count] { require(state->total == static_cast<int>(count), "an addition is lost"); };
  return scenario;
}

TEST(SignalSafeLockOrders, HasOneOwnerAtATimeAndWakesWhoSleeps) {
  expect_sound(explore([] { return threads_with_a_lock<ModelThreads>(3); }, 1));
}

TEST(SignalSafeLockOrders, ASleeperThatIsNotWokenIsFoundOut) {
  expect_failure(explore([] { return threads_with_a_lock<ThreadsThatWakeNobody>(2); }),
                 "every thread that has not ended sleeps");
}

/// Two threads make one piece of work each; the collector, which nothing else wakes, ends when it has seen both.
Scenario work_and_sleep(std::memory_order order_of_work) {
  struct State {
    ModelAtomic<std::uint32_t> wake{0};
    ModelAtomic<std::uint32_t> is_asleep{0};
    ModelAtomic<std::uint32_t> work{0};
    std::array<Plain<int>, 2> made;
  };
  const auto state = std::make_shared<State>();
  Scenario scenario;
  for (std::size_t i = 0; i < state->made.size(); ++i) {
    scenario.threads.emplace_back([state, i, order_of_work] {
      state->made[i] = 1;
      state->work.fetch_add(1, order_of_work);
      wake_sleeper(state->wake, state->is_asleep, [](ModelAtomic<std::uint32_t>& wake) { wake.wake_all(); });
    });
  }
  scenario.threads.emplace_back([state] {
    std::uint32_t done = 0;
    while (done < 2) {
      sleep_unless(
          state->wake, state->is_asleep, [&] { return state->work.load(std::memory_order_seq_cst) != done; },
          [](ModelAtomic<std::uint32_t>& wake, std::uint32_t seen) { wake.wait_while(seen); });
      done = state->work.load(std::memory_order_acquire);
    }
    require(state->made[0] + state->made[1] == 2, "work that was counted is not seen");
  });
  return scenario;
}

TEST(CollectorSleepOrders, NoWorkIsSleptOver) {
  expect_sound(explore([] { return work_and_sleep(std::memory_order_seq_cst); }));
}

TEST(CollectorSleepOrders, WorkThatIsNotSequentiallyConsistentIsFoundOut) {
  expect_failure(explore([] { return work_and_sleep(std::memory_order_acq_rel); }),
                 "every thread that has not ended sleeps");
}

template <typename Update>
Scenario switches(const Update& update) {
  struct State {
    ModelAtomic<std::uint32_t> gate{1};
    ModelAtomic<std::uint32_t> reasons{0};
  };
  const auto state = std::make_shared<State>();
  const auto refresh = [state, update] {
    update(state->gate, [&]() -> std::uint32_t { return state->reasons.load() == 0 ? 1 : 0; });
  };
  Scenario scenario;
  // A frame that is skipped and one that is not, beside the end of the room on the disk.
  scenario.threads.emplace_back([state, refresh] {
    state->reasons.fetch_or(1);
    refresh();
    state->reasons.fetch_and(~1U);
    refresh();
  });
  scenario.threads.emplace_back([state, refresh] {
    state->reasons.fetch_or(2);
    refresh();
  });
  scenario.at_end = [state] { require(state->gate.load() == 0, "the gate stands open though there is a reason"); };
  return scenario;
}

TEST(GateOrders, TheLastOfSeveralChangesDecides) {
  expect_sound(explore([] { return switches([](auto& gate, const auto& wanted) { update_gate_to(gate, wanted); }); }));
}

TEST(GateOrders, AGateThatIsStoredOnceIsFoundOut) {
  expect_failure(explore([] { return switches([](auto& gate, const auto& wanted) { gate.store(wanted()); }); }),
                 "the gate stands open");
}

/// A track of two chunks. A cursor is a number here: word w of chunk c is at 100 * c + w.
struct ModelTrack {
  struct Chunk {
    struct Header {
      Plain<std::uint32_t> used_words{0};
      ModelAtomic<std::uint32_t> next{0};
    };
    std::uint64_t words = 0;
    Header header;
    std::array<Plain<int>, 2> written;
  };

  ModelTrack() { chunks[1].words = 100; }

  /// As the hot path does: the word, then the cursor.
  void write(std::uint32_t chunk, std::uint32_t word, std::memory_order order) {
    chunks[chunk].written[word] = 1;
    cursor.store(chunks[chunk].words + word + 1, order);
  }

  ModelAtomic<std::uint64_t> cursor{~std::uint64_t{0}};  // none
  ModelAtomic<std::uint32_t> first_chunk{0};
  ModelAtomic<std::uint32_t> has_ended{0};
  std::array<Chunk, 2> chunks;
};

/// One drain, as the collector's: how many words it reads.
std::size_t drain(const ModelTrack& track) {
  const bool has_ended = track.has_ended.load(std::memory_order_acquire) != 0;
  const std::uint64_t published = track.cursor.load(std::memory_order_acquire);
  const std::uint32_t first = track.first_chunk.load(std::memory_order_acquire);
  std::size_t read = 0;
  std::uint32_t at = published == ~std::uint64_t{0} ? 0 : first;
  while (at != 0) {
    require(at <= track.chunks.size(), "a link leads nowhere");
    const ModelTrack::Chunk& chunk = track.chunks[at - 1];
    const auto [end, is_last, next] = readable_words(chunk, published, chunk.written.size());
    for (std::size_t word = 0; word < end; ++word) {
      require(chunk.written[word] == 1, "a word is read before it was written");
      ++read;
    }
    require(is_last || next != 0, "the way to the cursor breaks off");
    at = is_last ? 0 : next;
  }
  require(!has_ended || read == 3, "a track that has ended is not read to its end");
  return read;
}

Scenario record_and_drain(std::memory_order order_of_words) {
  const auto track = std::make_shared<ModelTrack>();
  Scenario scenario;
  scenario.threads.emplace_back([track, order_of_words] {
    ModelTrack::Chunk* const none = nullptr;
    continue_in(*track, none, track->chunks[0], 0);
    track->write(0, 0, order_of_words);
    track->write(0, 1, order_of_words);
    track->chunks[0].header.used_words = 2;
    continue_in(*track, &track->chunks[0], track->chunks[1], 1);
    track->write(1, 0, order_of_words);
    track->has_ended.store(1, std::memory_order_release);
  });
  scenario.threads.emplace_back([track] {
    const std::size_t first = drain(*track);
    require(drain(*track) >= first, "words that were read are gone");
  });
  scenario.at_end = [track] { require(drain(*track) == 3, "a word is lost"); };
  return scenario;
}

TEST(ChunkChainOrders, WordsAreReadOnceTheyArePublishedFromChunkToChunk) {
  expect_sound(explore([] { return record_and_drain(std::memory_order_release); }, 12));
}

TEST(ChunkChainOrders, WordsThatArePublishedWithoutOrderAreFoundOut) {
  expect_failure(explore([] { return record_and_drain(std::memory_order_relaxed); }), "a data race");
}

// The explorer itself, by what textbooks say of C++'s memory model.

/// Two threads that each store one word and load the other; whether both may load the old value.
bool may_both_miss(std::memory_order store, std::memory_order load) {
  return !explore([&] {
            struct State {
              std::array<ModelAtomic<int>, 2> words;
              std::array<Plain<int>, 2> loaded;
            };
            const auto state = std::make_shared<State>();
            Scenario scenario;
            for (std::size_t i = 0; i < 2; ++i) {
              scenario.threads.emplace_back([=] {
                state->words[i].store(1, store);
                state->loaded[i] = state->words[1 - i].load(load);
              });
            }
            scenario.at_end = [state] { require(state->loaded[0] + state->loaded[1] > 0, "both missed"); };
            return scenario;
          }).failure.empty();
}

TEST(Interleavings, StoresThatAreOvertakenByLoadsAreOnlyRuledOutBySequentialConsistency) {
  EXPECT_FALSE(may_both_miss(std::memory_order_seq_cst, std::memory_order_seq_cst));
  EXPECT_TRUE(may_both_miss(std::memory_order_release, std::memory_order_acquire));
  EXPECT_TRUE(may_both_miss(std::memory_order_seq_cst, std::memory_order_acquire));
}

/// Whether a message's bytes, written before its flag, may be missed by who sees the flag.
std::string message_passing(std::memory_order store, std::memory_order load) {
  return explore([&] {
           struct State {
             ModelAtomic<int> flag{0};
             Plain<int> message{0};
           };
           const auto state = std::make_shared<State>();
           Scenario scenario;
           scenario.threads.emplace_back([=] {
             state->message = 7;
             state->flag.store(1, store);
           });
           scenario.threads.emplace_back([=] {
             if (state->flag.load(load) == 1) {
               require(state->message == 7, "the message is missed");
             }
           });
           return scenario;
         })
      .failure;
}

TEST(Interleavings, AMessageIsPassedByReleaseAndAcquireTogether) {
  EXPECT_EQ(message_passing(std::memory_order_release, std::memory_order_acquire), "");
  EXPECT_NE(message_passing(std::memory_order_relaxed, std::memory_order_acquire), "");
  EXPECT_NE(message_passing(std::memory_order_release, std::memory_order_relaxed), "");
}

TEST(Interleavings, OneWordsChangesAreSeenInOneOrder) {
  expect_sound(explore([] {
    const auto word = std::make_shared<ModelAtomic<int>>(0);
    Scenario scenario;
    scenario.threads.emplace_back([word] {
      word->store(1, std::memory_order_relaxed);
      word->store(2, std::memory_order_relaxed);
    });
    for (int i = 0; i < 2; ++i) {
      scenario.threads.emplace_back([word] {
        const int first = word->load(std::memory_order_relaxed);
        require(word->load(std::memory_order_relaxed) >= first, "a word runs backwards");
      });
    }
    return scenario;
  }));
}

}  // namespace
}  // namespace kymo::record

#include "record/pool/pool.hpp"
#include "record/pool/spool_sweep.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::record {
namespace {

PoolOptions small_pool() {
  PoolOptions options;
  options.bytes = smallest_pool_bytes;
  return options;
}

/// Removes its spool file when the test is over.
struct OwnedPool {
  explicit OwnedPool(const PoolOptions& options = small_pool()) : pool(Pool::create(options)) {}
  OwnedPool(const OwnedPool&) = delete;
  OwnedPool& operator=(const OwnedPool&) = delete;
  ~OwnedPool() { pool->remove_spool(); }
  std::unique_ptr<Pool> pool;
};

TEST(PoolTest, TheSpoolIsAPrivateFileInSharedMemory) {
  const OwnedPool owned;
  ASSERT_EQ(owned.pool->backing(), PoolBacking::spool);
  struct stat status {};
  ASSERT_EQ(::stat(owned.pool->spool_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_NE(owned.pool->spool_path().find(owned.pool->spool_id()), std::string::npos);
}

TEST(PoolTest, EveryChunkIsTakenOnceAndThenThePoolIsEmpty) {
  const OwnedPool owned;
  Pool& pool = *owned.pool;
  std::set<std::uint32_t> taken;
  std::size_t before_scarce = 0;
  while (const auto chunk = pool.take_chunk()) {
    EXPECT_LT(*chunk, pool.chunk_count());
    EXPECT_TRUE(taken.insert(*chunk).second);
    before_scarce = pool.is_scarce() ? before_scarce : taken.size();
  }
  EXPECT_EQ(taken.size(), pool.chunk_count());
  EXPECT_EQ(pool.header().free_count.load(), 0U);
  EXPECT_EQ(taken.size() - before_scarce, taken.size() / 16 + 1) << "from when a sixteenth is left";
  EXPECT_FALSE(pool.may_have_chunk());
  pool.return_chunk(5);
  EXPECT_TRUE(pool.may_have_chunk());
  EXPECT_EQ(pool.take_chunk(), 5U);
}

TEST(PoolTest, ThreadsThatTakeAndReturnNeverHoldTheSameChunk) {
  const OwnedPool owned;
  Pool& pool = *owned.pool;
  std::vector<std::atomic<int>> holders(pool.chunk_count());
  std::atomic<int> collisions{0};
  std::atomic<std::uint64_t> holdings{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < test::rounds(20'000); ++round) {
        if (const auto chunk = pool.take_chunk()) {
          // Nothing but the pool orders one holder's plain write before the next one's.
          collisions += holders[*chunk].fetch_add(1, std::memory_order_relaxed);
          ++pool.chunk(*chunk).words[0];
          holders[*chunk].fetch_sub(1, std::memory_order_relaxed);
          pool.return_chunk(*chunk);
          holdings.fetch_add(1, std::memory_order_relaxed);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(collisions.load(), 0);
  std::uint64_t writes = 0;
  for (std::uint32_t i = 0; i < pool.chunk_count(); ++i) {
    writes += pool.chunk(i).words[0];
  }
  EXPECT_EQ(writes, holdings.load());
  EXPECT_EQ(pool.header().free_count.load(), pool.chunk_count() * pieces_a_chunk);
}

TEST(PoolTest, SmallChunksArePiecesOfLargeOnesAndShareNothing) {
  const OwnedPool owned;
  Pool& pool = *owned.pool;
  std::set<std::uint32_t> taken;
  std::map<const std::uint64_t*, std::uint32_t> begins;
  while (const auto chunk = pool.take_chunk(taken.size() % 3 == 0 ? ChunkSize::large : ChunkSize::small)) {
    EXPECT_TRUE(taken.insert(*chunk).second);
    begins[pool.chunk(*chunk).words] = *chunk;
  }
  for (auto next = begins.begin(), at = next++; next != begins.end(); at = next++) {
    EXPECT_LE(at->first + pool.words_of(at->second), reinterpret_cast<const std::uint64_t*>(&pool.chunk(next->second)));
  }
  for (const std::uint32_t chunk : taken) {
    pool.return_chunk(chunk);
  }
  EXPECT_EQ(pool.header().free_count.load(), pool.chunk_count() * pieces_a_chunk);
}

TEST(PoolTest, ThreadsThatSplitChunksWhileOthersTakeThemWhole) {
  for (int round = 0; round < test::rounds(100); ++round) {
    const OwnedPool owned;
    Pool& pool = *owned.pool;
    std::atomic<bool> is_over{false};
    std::thread whole([&] {
      while (!is_over.load(std::memory_order_relaxed)) {
        if (const auto chunk = pool.take_chunk()) {
          pool.return_chunk(*chunk);
        }
      }
    });
    std::set<std::uint32_t> pieces;
    while (const auto piece = pool.take_chunk(ChunkSize::small)) {
      EXPECT_TRUE(pieces.insert(*piece).second);
    }
    is_over.store(true, std::memory_order_relaxed);
    whole.join();
    // The other thread may have held one large chunk.
    EXPECT_GE(pieces.size(), (pool.chunk_count() - 1) * pieces_a_chunk);
  }
}

TEST(PoolTest, APoolHasRoomForThousandsOfThreadsThatRecordLittle) {
  PoolOptions options;
  options.spool_directory = "/proc/self";
  const OwnedPool owned(options);
  Pool& pool = *owned.pool;
  for (int i = 0; i < 4000; ++i) {
    ASSERT_NE(pool.claim_slot(), nullptr);
    ASSERT_TRUE(pool.take_chunk(ChunkSize::small).has_value());
  }
  // Half of the pool is left to those that record much.
  EXPECT_GE(pool.header().free_count.load() + (pool.most_chunks() - pool.chunk_count()) * pieces_a_chunk,
            pool.most_chunks() * pieces_a_chunk / 2);
}

TEST(PoolTest, WhatIsReservedOnDemandGrowsToTheWholePool) {
  PoolOptions options;
  options.is_on_demand = true;
  const OwnedPool owned(options);
  Pool& pool = *owned.pool;
  struct stat status {};
  ASSERT_EQ(::stat(pool.spool_path().c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 256 * 1024);
  std::uint32_t taken = 0;
  while (pool.take_chunk()) {
    ++taken;
  }
  EXPECT_EQ(taken, default_pool_bytes / chunk_bytes);
}

TEST(PoolTest, NobodyIsRefusedWhileAnotherThreadReservesMore) {
  PoolOptions options;
  options.is_on_demand = true;
  for (int round = 0; round < test::rounds(20); ++round) {
    const OwnedPool owned(options);
    Pool& pool = *owned.pool;
    std::atomic<int> refused{0};
    std::atomic<bool> is_over{false};
    std::thread collector([&] {
      while (!is_over.load()) {
        pool.reserve_ahead();
      }
    });
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int taken = 0; taken < 30; ++taken) {
          refused += pool.take_chunk() ? 0 : 1;
          refused += pool.claim_slot() != nullptr ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    is_over = true;
    collector.join();
    EXPECT_EQ(refused.load(), 0);
  }
}

TEST(PoolTest, APoolTakesNoMoreThanHalfOfWhatIsFree) {
  struct statvfs before {};
  ASSERT_EQ(::statvfs("/dev/shm", &before), 0);
  PoolOptions options;
  options.bytes = std::uint64_t{1} << 60U;
  const OwnedPool owned(options);
  const std::uint64_t free_bytes = std::uint64_t{before.f_bavail} * before.f_bsize;
  const std::uint64_t freed_by_others = free_bytes / 16;  // other programs may end meanwhile
  EXPECT_LE(std::uint64_t{owned.pool->most_chunks()} * chunk_bytes, (free_bytes + freed_by_others) / 2 + chunk_bytes);
  struct stat status {};
  ASSERT_EQ(::stat(owned.pool->spool_path().c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 16 * 1024 * 1024) << "reserved at the start, whatever the size";
}

TEST(PoolTest, ALimitOnTheSizeOfFilesMakesThePoolSmallerAndHarmsNobody) {
  const auto backing_below = [](rlim_t limit_bytes) {
    const pid_t child = ::fork();
    if (child == 0) {
      const struct rlimit limit { limit_bytes, limit_bytes };
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const std::unique_ptr<Pool> pool = Pool::create(PoolOptions{});
      pool->remove_spool();
      ::_exit(static_cast<int>(pool->backing()));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  };
  EXPECT_EQ(backing_below(64 * 1024), static_cast<int>(PoolBacking::private_memory));
  EXPECT_EQ(backing_below(12 * 1024 * 1024), static_cast<int>(PoolBacking::spool));
}

TEST(PoolTest, WithoutATmpfsItIsPrivateMemoryAndSaysWhy) {
  const test::TemporaryDirectory directory;
  PoolOptions options = small_pool();
  options.spool_directory = "/proc/self";
  const OwnedPool owned(options);
  EXPECT_EQ(owned.pool->backing(), PoolBacking::private_memory);
  EXPECT_NE(owned.pool->complaint().find("tmpfs"), std::string::npos);
  EXPECT_TRUE(owned.pool->take_chunk().has_value());
}

TEST(PoolTest, WithoutATmpfsAHolderKeepsTheMemoryAlive) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, static_cast<int*>(sockets)), 0);
  const base::FileDescriptor ours(sockets[0]);
  const base::FileDescriptor holders(sockets[1]);
  PoolOptions options = small_pool();
  options.spool_directory = "/proc/self";
  options.holder_socket = ours.get();
  const OwnedPool owned(options);
  EXPECT_EQ(owned.pool->backing(), PoolBacking::held_memfd);

  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = static_cast<void*>(control);
  message.msg_controllen = sizeof control;
  ASSERT_EQ(::recvmsg(holders.get(), &message, 0), 1);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  ASSERT_NE(header, nullptr);
  int received = -1;
  std::memcpy(&received, CMSG_DATA(header), sizeof received);
  const base::FileDescriptor file(received);
  std::uint64_t magic = 0;
  ASSERT_EQ(::pread(file.get(), &magic, sizeof magic, 0), static_cast<ssize_t>(sizeof magic));
  EXPECT_EQ(magic, spool_magic);
}

TEST(PoolTest, SpoolsOfDeadProcessesGoUnlessACaptureLacksEventsInThem) {
  // Any process that records here may sweep /dev/shm itself.
  const test::TemporaryDirectory directory("/dev/shm");
  PoolOptions options = small_pool();
  options.spool_directory = directory.path();
  const auto make_spool_in_child = [&options](bool is_saved, const char* capture, std::uint64_t away = 0) {
    int pipe_ends[2];
    EXPECT_EQ(::pipe(static_cast<int*>(pipe_ends)), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const std::unique_ptr<Pool> pool = Pool::create(options);
      pool->header().is_saved.store(is_saved ? 1 : 0);
      pool->header().owner_pid_namespace += away;
      std::strcpy(static_cast<char*>(pool->header().capture_path), capture);
      ChunkHeader& used = pool->chunk(0).header;
      used.used_words = 7;
      used.next.store(2);
      used.track.store(1);
      const std::string& path = pool->spool_path();
      ::_exit(::write(pipe_ends[1], path.c_str(), path.size()) == static_cast<ssize_t>(path.size()) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    char path[256] = "";
    EXPECT_GT(::read(pipe_ends[0], static_cast<char*>(path), sizeof path - 1), 0);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    return std::string(static_cast<char*>(path));
  };
  const std::string unsaved = make_spool_in_child(false, "/run.kymo");
  const std::string saved = make_spool_in_child(true, "/run.kymo");
  const std::string without_capture = make_spool_in_child(false, "");
  const std::string of_a_container = make_spool_in_child(true, "/run.kymo", 1);
  EXPECT_EQ(::access(saved.c_str(), F_OK), 0);
  const OwnedPool owned(options);
  const std::string& own = owned.pool->spool_path();
  SpoolSweep sweep(options.spool_directory, own);
  int steps = 1;
  while (!sweep.step(0) && steps < 100) {
    ++steps;
  }
  EXPECT_EQ(steps, 5) << "each step goes on where the last one stopped";
  EXPECT_NE(::access(saved.c_str(), F_OK), 0);
  EXPECT_NE(::access(without_capture.c_str(), F_OK), 0);
  EXPECT_EQ(::access(unsaved.c_str(), F_OK), 0);
  EXPECT_EQ(::access(of_a_container.c_str(), F_OK), 0)
      << "its process may live, without descriptors and so without locks";
  EXPECT_EQ(::access(own.c_str(), F_OK), 0);
}

TEST(PoolTest, SizesAreClampedToWhatIsAllowed) {
  PoolOptions options;
  options.bytes = 1;
  const OwnedPool owned(options);
  while (owned.pool->reserve_ahead()) {
  }
  EXPECT_EQ(owned.pool->chunk_count(), smallest_pool_bytes / chunk_bytes);
}

}  // namespace
}  // namespace kymo::record

// The table of hooked functions, with functions of this program and of a library that comes and goes.
#include "record/hooks/function_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kymo::record {
namespace {

const SiteFilter all_sites;

__attribute__((noinline)) void wanted() {
  __asm__ volatile("nop");
}
__attribute__((noinline)) void unwanted() {
  __asm__ volatile("nop; nop");
}

std::uintptr_t address_of(void (*function)()) {
  return reinterpret_cast<std::uintptr_t>(function);
}

/// Addresses where no module is.
std::uintptr_t nowhere(std::size_t i) {
  return 0x1000 + i * 16;
}

TEST(FunctionTable, FindsWhatItAdmitted) {
  const auto table = std::make_unique<FunctionTable>();
  EXPECT_EQ(table->find(address_of(wanted)), nullptr);
  FunctionEntry* const entry = table->admit(address_of(wanted), all_sites);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(table->find(address_of(wanted)), entry);
  EXPECT_EQ(table->admit(address_of(wanted), all_sites), entry);
  EXPECT_EQ(table->find(address_of(unwanted)), nullptr);
  EXPECT_FALSE(entry->is_filtered);
  ASSERT_NE(entry->module, nullptr);
  EXPECT_TRUE(entry->module->is_executable);
}

TEST(FunctionTable, AdmitsFunctionsOfNoModule) {
  const auto table = std::make_unique<FunctionTable>();
  FunctionEntry* const entry = table->admit(nowhere(0), all_sites);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->module, nullptr);
}

TEST(FunctionTable, KeepsAllEntriesAsItGrowsAndSaysWhenItIsFull) {
  const auto table = std::make_unique<FunctionTable>();
  std::vector<FunctionEntry*> entries;
  for (std::size_t i = 0; i < FunctionTable::largest_count; ++i) {
    entries.push_back(table->admit(nowhere(i), all_sites));
    ASSERT_NE(entries.back(), nullptr);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ASSERT_EQ(table->find(nowhere(i)), entries[i]);
  }
  testing::internal::CaptureStderr();
  EXPECT_EQ(table->admit(nowhere(FunctionTable::largest_count), all_sites), nullptr);
  EXPECT_EQ(table->admit(nowhere(FunctionTable::largest_count + 1), all_sites), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "kymo: only the first 262,144 functions are recorded\n");
  EXPECT_EQ(table->admit(nowhere(7), all_sites), entries[7]);
}

TEST(FunctionTable, AdmitsAFunctionOnceForAllThreads) {
  constexpr std::size_t functions = 3000;
  const auto table = std::make_unique<FunctionTable>();
  std::vector<std::vector<FunctionEntry*>> seen(4);
  std::vector<std::thread> threads;
  for (std::vector<FunctionEntry*>& mine : seen) {
    threads.emplace_back([&table, &mine] {
      for (std::size_t i = 0; i < functions; ++i) {
        FunctionEntry* const known = table->find(nowhere(i));
        mine.push_back(known != nullptr ? known : table->admit(nowhere(i), all_sites));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[0], seen[3]);
}

struct Patterns {
  std::vector<const char*> include;
  std::vector<const char*> exclude;
};

bool is_recorded(const Patterns& patterns, void (*function)()) {
  static kymo_function_filter_v1 filter;
  std::vector<const char*> include = patterns.include;
  std::vector<const char*> exclude = patterns.exclude;
  include.push_back(nullptr);
  exclude.push_back(nullptr);
  filter.include = include.data();
  filter.exclude = exclude.data();
  const auto table = std::make_unique<FunctionTable>();
  table->add_filter(filter);
  const FunctionEntry* const entry = table->admit(address_of(function), all_sites);
  table->remove_filter(filter);
  return entry != nullptr && !entry->is_filtered;
}

TEST(FunctionTable, FiltersByTheNamesOfTheModule) {
  EXPECT_TRUE(is_recorded({}, wanted));
  EXPECT_TRUE(is_recorded({{"*::wanted"}, {}}, wanted));
  EXPECT_FALSE(is_recorded({{"*::wanted"}, {}}, unwanted));
  EXPECT_TRUE(is_recorded({{}, {"*::unwanted"}}, wanted));
  EXPECT_FALSE(is_recorded({{}, {"*::unwanted"}}, unwanted));
  EXPECT_FALSE(is_recorded({{"*wanted"}, {"*unwanted"}}, unwanted));
  EXPECT_FALSE(is_recorded({{"wanted"}, {}}, wanted));
  EXPECT_TRUE(is_recorded({{"*::wanted()"}, {}}, wanted));
  EXPECT_FALSE(is_recorded({{"*::wanted(int)"}, {}}, wanted));
}

TEST(FunctionTable, PatternsOfOneModuleSayNothingAboutAnother) {
  static kymo_function_filter_v1 filter;
  const char* const none[] = {nullptr};
  const char* const all[] = {"*", nullptr};
  filter.include = none;
  filter.exclude = all;
  const auto table = std::make_unique<FunctionTable>();
  table->add_filter(filter);
  const FunctionEntry* const entry =
      table->admit(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")), all_sites);
  ASSERT_NE(entry, nullptr);
  EXPECT_FALSE(entry->is_filtered);
  table->remove_filter(filter);
}

/// A small library that nothing else here uses.
class Library {
 public:
  Library() : handle_(dlopen("libanl.so.1", RTLD_NOW)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { close(); }

  void close() {
    if (handle_ != nullptr) {
      dlclose(handle_);
      handle_ = nullptr;
    }
  }
  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  [[nodiscard]] std::uintptr_t address() const {
    link_map* map = nullptr;
    dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map));
    return map->l_addr;
  }

 private:
  void* handle_;
};

TEST(FunctionTable, RetiresFunctionsOfAnUnloadedModule) {
  const auto table = std::make_unique<FunctionTable>();
  Library library;
  if (!library.is_open()) {
    GTEST_SKIP() << "libanl.so.1 is not installed";
  }
  const std::uintptr_t address = library.address();
  FunctionEntry* const entry = table->admit(address, all_sites);
  ASSERT_NE(entry, nullptr);
  library.close();
  ASSERT_NE(table->admit(nowhere(0), all_sites), nullptr);
  EXPECT_EQ(table->find(address), nullptr);
  // Its pages are free for others now.
  FunctionEntry* const other = table->admit(address, all_sites);
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other, entry);
}

TEST(FunctionTable, GivesAModuleThatReturnsItsSitesBack) {
  const auto table = std::make_unique<FunctionTable>();
  Library library;
  if (!library.is_open()) {
    GTEST_SKIP() << "libanl.so.1 is not installed";
  }
  const std::uintptr_t address = library.address();
  FunctionEntry* const entry = table->admit(address, all_sites);
  library.close();
  ASSERT_NE(table->admit(nowhere(0), all_sites), nullptr);
  const Library again;
  if (again.address() == address) {
    EXPECT_EQ(table->admit(address, all_sites), entry);
  }
}

TEST(FunctionTable, WorksOnInAForkedChild) {
  const auto table = std::make_unique<FunctionTable>();
  FunctionEntry* const entry = table->admit(address_of(wanted), all_sites);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_whole =
        table->find(address_of(wanted)) == entry && table->admit(address_of(unwanted), all_sites) != nullptr;
    _exit(is_whole ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kymo::record

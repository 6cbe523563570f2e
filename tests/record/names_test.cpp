// Interned names and the log of declarations.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "record/names/declaration_log.hpp"
#include "record/names/declaration_reader.hpp"
#include "record/names/intern_table.hpp"
#include "record/pool/pool.hpp"

namespace kymo::record {
namespace {

TEST(InternTableTest, TheSameTextIsTheSameEntryInItsNameSpace) {
  InternTable table;
  InternedName* const loss = table.find_or_insert(NameSpace::metric, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->text(), "loss");
  EXPECT_EQ(table.find_or_insert(NameSpace::metric, std::string("lo") + "ss"), loss);
  EXPECT_NE(table.find_or_insert(NameSpace::text, "loss"), loss);
  EXPECT_NE(table.find_or_insert(NameSpace::metric, ""), nullptr);
}

TEST(InternTableTest, LongNamesAreCutAtACharacterWithAMark) {
  InternTable table;
  std::string name;
  while (name.size() < 300) {
    name += "\xC3\xA4";  // two bytes a character
  }
  const std::string_view kept = table.find_or_insert(NameSpace::text, name)->text();
  EXPECT_LE(kept.size(), InternTable::longest_text);
  EXPECT_EQ(kept.substr(kept.size() - 3), "\xE2\x80\xA6");
  EXPECT_EQ((kept.size() - 3) % 2, 0U);
}

TEST(InternTableTest, AFullTableRefusesNewNamesAndKeepsOldOnes) {
  InternTable table;
  std::size_t count = 0;
  while (table.find_or_insert(NameSpace::text, std::to_string(count)) != nullptr) {
    ++count;
  }
  EXPECT_EQ(count, InternTable::largest_count);
  EXPECT_NE(table.find_or_insert(NameSpace::text, "0"), nullptr);
}

TEST(InternTableTest, ThreadsAgreeOnEntries) {
  InternTable table;
  constexpr int names = 2'000;
  std::vector<std::vector<InternedName*>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<InternedName*>& mine : found) {
    threads.emplace_back([&table, &mine] {
      for (int i = 0; i < names; ++i) {
        mine.push_back(table.find_or_insert(NameSpace::metric, std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::vector<InternedName*>& others : found) {
    EXPECT_EQ(others, found.front());
  }
  EXPECT_EQ(std::set<InternedName*>(found.front().begin(), found.front().end()).size(), std::size_t{names});
}

class DeclarationLogTest : public ::testing::Test {
 protected:
  DeclarationLogTest() : pool_(Pool::create({smallest_pool_bytes, false, "/proc/self", -1})) { log_.attach(*pool_); }

  /// Everything in the log, chunk after chunk.
  Declarations read() const {
    Declarations declarations;
    std::vector<HookedSite> hooked;
    const TrackSlot& slot = pool_->slot(0);
    std::uint32_t index = slot.first_chunk.load() - 1;
    for (;;) {
      const Chunk& chunk = pool_->chunk(index);
      const std::uint32_t next = chunk.header.next.load();
      const std::size_t words =
          next != no_chunk ? chunk.header.used_words : static_cast<std::size_t>(slot.cursor.load() - chunk.words);
      read_declarations({chunk.words, words}, declarations, hooked);
      if (next == no_chunk) {
        return declarations;
      }
      index = next - 1;
    }
  }

  std::unique_ptr<Pool> pool_;
  DeclarationLog log_;
  InternTable names_;
};

TEST_F(DeclarationLogTest, WhatIsDeclaredIsReadBack) {
  kymo_site site{0, 0, "work", "void work(int)", "work.cpp", 42, KYMO_SITE_SCOPE};
  ASSERT_TRUE(log_.declare(site));
  ASSERT_TRUE(log_.declare(site));
  EXPECT_EQ(site.id, 1U);
  std::uint32_t first_name = 0;
  const std::vector<std::string_view> texts{"objects", "visible"};
  ASSERT_TRUE(log_.declare_names(first_name, texts));
  InternedName* const loss = names_.find_or_insert(NameSpace::metric, "loss");
  EXPECT_EQ(log_.declare(*loss, "1"), 1U);
  ASSERT_TRUE(log_.declare_thread(TrackId{7}, 1234, "worker"));
  ASSERT_TRUE(log_.declare_info("key", "value"));
  const Declarations read_back = read();
  ASSERT_EQ(read_back.sites.size(), 1U);
  EXPECT_EQ(read_back.sites[0].name, "work");
  EXPECT_EQ(read_back.sites[0].file, "work.cpp");
  EXPECT_EQ(read_back.sites[0].line, 42U);
  ASSERT_EQ(read_back.names.size(), 2U);
  EXPECT_EQ(read_back.names[1].id, NameId{first_name + 1});
  EXPECT_EQ(read_back.names[1].text, "visible");
  ASSERT_EQ(read_back.metrics.size(), 1U);
  EXPECT_EQ(read_back.metrics[0].unit, "1");
  ASSERT_EQ(read_back.tracks.size(), 1U);
  EXPECT_EQ(read_back.tracks[0].os_thread_id, 1234U);
  EXPECT_EQ(read_back.infos[0].value, "value");
}

TEST_F(DeclarationLogTest, ManyDeclarationsFillSeveralChunksAndNoneIsLost) {
  std::vector<kymo_site> sites(3'000, kymo_site{0, 0, "a name of some length", "function", "file", 1, KYMO_SITE_SCOPE});
  for (kymo_site& site : sites) {
    site.line = static_cast<std::uint32_t>(&site - sites.data());
    ASSERT_TRUE(log_.declare(site));
  }
  const Declarations read_back = read();
  ASSERT_EQ(read_back.sites.size(), sites.size());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    EXPECT_EQ(read_back.sites[i].id, SiteId::from_index(i));
  }
}

TEST_F(DeclarationLogTest, EqualSitesAndNamesOfAModuleThatIsLoadedAgainKeepTheirIds) {
  const auto load = [this](std::uint32_t lines) {
    std::vector<std::uint32_t> ids;
    for (std::uint32_t line = 1; line <= lines; ++line) {
      // Its texts are elsewhere each time.
      const std::string name("work"), function("void work()"), file("work.cpp");
      kymo_site site{0, 0, name.c_str(), function.c_str(), file.c_str(), line, KYMO_SITE_SCOPE};
      std::uint32_t names = 0;
      EXPECT_TRUE(log_.declare(site));
      EXPECT_TRUE(log_.declare_names(names, std::vector<std::string_view>{"line", std::to_string(line)}));
      ids.insert(ids.end(), {site.id, names});
    }
    return ids;
  };
  constexpr std::uint32_t lines = 2'000;
  const std::vector<std::uint32_t> first = load(lines);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(load(lines), first);
  }
  EXPECT_EQ(read().sites.size(), lines);
  EXPECT_EQ(read().names.size(), 2 * lines);
}

TEST_F(DeclarationLogTest, SitesThatDifferInAnythingAreDifferent) {
  std::vector<kymo_site> sites{
      {0, 0, "a", "f", "file", 1, KYMO_SITE_SCOPE}, {0, 0, "b", "f", "file", 1, KYMO_SITE_SCOPE},
      {0, 0, "a", "g", "file", 1, KYMO_SITE_SCOPE}, {0, 0, "a", "f", "other", 1, KYMO_SITE_SCOPE},
      {0, 0, "a", "f", "file", 2, KYMO_SITE_SCOPE}, {0, 0, "a", "f", "file", 1, KYMO_SITE_WAIT},
      {0, 0, "af", "", "file", 1, KYMO_SITE_SCOPE}, {0, 0, "", "af", "file", 1, KYMO_SITE_SCOPE}};
  for (kymo_site& site : sites) {
    ASSERT_TRUE(log_.declare(site));
  }
  EXPECT_EQ(sites.back().id, sites.size());
}

TEST_F(DeclarationLogTest, WithoutRoomNothingIsDeclaredAndLaterItIs) {
  std::vector<std::uint32_t> taken;
  while (const auto chunk = pool_->take_chunk()) {
    taken.push_back(*chunk);
  }
  kymo_site site{0, 0, "work", "", "", 0, KYMO_SITE_SCOPE};
  EXPECT_FALSE(log_.declare(site));
  EXPECT_EQ(site.id, 0U);
  pool_->return_chunk(taken.back());
  EXPECT_TRUE(log_.declare(site));
}

TEST_F(DeclarationLogTest, AMegabyteLongNameIsCutWithAMark) {
  const std::string name(1'000'000, 'n');
  kymo_site site{0, 0, name.c_str(), name.c_str(), name.c_str(), 0, KYMO_SITE_SCOPE};
  ASSERT_TRUE(log_.declare(site));
  const Declarations read_back = read();
  EXPECT_EQ(read_back.sites[0].name.size(), longest_declared_text);
  EXPECT_EQ(read_back.sites[0].name.substr(longest_declared_text - 3), "\xE2\x80\xA6");
}

}  // namespace
}  // namespace kymo::record

// Which captures are served, and what is known of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "capture/capture_fixture.hpp"
#include "serve/growing_capture.hpp"
#include "serve/live/catalogue.hpp"

namespace kymo::serve {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;
using test::write_file;

constexpr std::size_t plenty = 100;

std::vector<std::string> names_of(const Catalogue& catalogue) {
  std::vector<std::string> names;
  for (const CaptureState& capture : catalogue.captures()) {
    names.push_back(capture.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Catalogue, HoldsNamedFilesAndWhatDirectoriesHold) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "more");
  write_file(directory / "run.kymo", test::small_capture());
  write_file(directory / "more/b.kymo", test::small_capture());
  write_file(directory / "more/a.kymo", test::small_capture());
  write_file(directory / "more/secret.txt", test::small_capture());
  write_file(directory / "more/no-capture.kymo", test::Bytes(100, std::byte{1}));
  const Catalogue catalogue({directory / "run.kymo", directory / "more", directory / "run.kymo"}, plenty);
  EXPECT_EQ(names_of(catalogue), (Names{"run.kymo", "a.kymo", "b.kymo"}));
  const CaptureState first = catalogue.captures().front();
  EXPECT_EQ(first.size, fs::file_size(directory / "run.kymo"));
  EXPECT_FALSE(first.is_growing);
}

TEST(Catalogue, RefusesNamedFilesThatAreNoCaptures) {
  const TemporaryDirectory directory;
  write_file(directory / "notes.kymo", test::Bytes(100, std::byte{'x'}));
  EXPECT_THROW(Catalogue({directory / "notes.kymo"}, plenty), CaptureError);
  EXPECT_THROW(Catalogue({directory / "missing.kymo"}, plenty), CaptureError);
  EXPECT_THROW(Catalogue({"/dev/null"}, plenty), CaptureError);
}

TEST(Catalogue, NamesThatMeetAreToldApart) {
  const TemporaryDirectory directory;
  for (const char* const folder : {"a", "b"}) {
    fs::create_directory(directory / folder);
    write_file(directory / folder + "/run.kymo", test::small_capture());
  }
  const Catalogue catalogue({directory / "a", directory / "b"}, plenty);
  EXPECT_EQ(names_of(catalogue), (Names{"run.kymo", "b/run.kymo"}));
}

TEST(Catalogue, NewFilesOfADirectoryGetNewIds) {
  const TemporaryDirectory directory;
  write_file(directory / "first.kymo", test::small_capture());
  Catalogue catalogue({directory / ""}, 2);
  std::uint64_t generation = catalogue.generation();
  EXPECT_FALSE(catalogue.look(true));
  write_file(directory / "another.kymo", test::small_capture());
  EXPECT_TRUE(catalogue.look(true));
  EXPECT_EQ(names_of(catalogue), (Names{"first.kymo", "another.kymo"}));
  const std::vector<CaptureChange> changes = catalogue.changes_since(generation);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].is_new);
  EXPECT_EQ(changes[0].state.id, 1U);
  EXPECT_TRUE(catalogue.changes_since(generation).empty());
  EXPECT_FALSE(catalogue.is_full());
  write_file(directory / "beyond.kymo", test::small_capture());
  EXPECT_FALSE(catalogue.look(true));
  EXPECT_TRUE(catalogue.is_full());
}

TEST(Catalogue, FollowsACaptureUntilItIsClosed) {
  const TemporaryDirectory directory;
  test::GrowingCapture growing(directory / "run.kymo");
  Catalogue catalogue({directory / "run.kymo"}, plenty);
  const CaptureState before = catalogue.captures().front();
  EXPECT_TRUE(before.is_growing);
  catalogue.look(true);
  EXPECT_TRUE(catalogue.captures().front().is_growing) << "its process lives";
  growing.grow();
  EXPECT_TRUE(catalogue.look(false));
  EXPECT_GT(catalogue.captures().front().size, before.size);
  EXPECT_FALSE(catalogue.look(false));
  growing.close();
  EXPECT_TRUE(catalogue.look(false));
  EXPECT_FALSE(catalogue.captures().front().is_growing);
  EXPECT_EQ(catalogue.captures().front().size, fs::file_size(directory / "run.kymo"));
}

TEST(Catalogue, ACaptureThatWasSeenBeforeItsFirstBlockIsKnownLater) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  test::GrowingCapture elsewhere(directory / "elsewhere");
  const test::Bytes bytes = test::read_file(directory / "elsewhere");
  write_file(path, test::Bytes(bytes.begin(), bytes.begin() + 16));
  Catalogue catalogue({path}, plenty);
  EXPECT_FALSE(catalogue.captures().front().is_growing);
  write_file(path, bytes);
  EXPECT_TRUE(catalogue.look(true)) << "it grew";
  EXPECT_TRUE(catalogue.look(true)) << "nobody writes it";
  EXPECT_FALSE(catalogue.look(true));
  ASSERT_NE(catalogue.open(0), nullptr);
  EXPECT_EQ(catalogue.open(0)->size(), bytes.size());
}

TEST(Catalogue, AnEmptyFileBesideOthersIsServedOnceItIsACapture) {
  const TemporaryDirectory directory;
  write_file(directory / "run.kymo", test::small_capture());
  write_file(directory / "begun.kymo", {});
  EXPECT_THROW(Catalogue({directory / "begun.kymo"}, plenty), CaptureError);
  Catalogue catalogue({directory / "run.kymo", directory / "begun.kymo"}, plenty);
  EXPECT_EQ(names_of(catalogue), (Names{"run.kymo"}));
  write_file(directory / "begun.kymo", test::small_capture());
  EXPECT_TRUE(catalogue.look(true));
  EXPECT_EQ(names_of(catalogue), (Names{"run.kymo", "begun.kymo"}));
}

TEST(Catalogue, AFileThatTookAnothersPlaceIsNotReadInItsName) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  write_file(path, test::write_capture({}, false));
  Catalogue catalogue({path}, plenty);
  ASSERT_NE(catalogue.open(0), nullptr);
  EXPECT_EQ(catalogue.open(1), nullptr);
  write_file(directory / "new", test::small_capture());
  fs::rename(directory / "new", path);
  EXPECT_EQ(catalogue.open(0), nullptr);
  EXPECT_TRUE(catalogue.look(true));
  EXPECT_EQ(catalogue.captures().size(), 1U);
  ASSERT_NE(catalogue.open(1), nullptr);
  EXPECT_EQ(catalogue.open(1)->size(), fs::file_size(path));
}

}  // namespace
}  // namespace kymo::serve

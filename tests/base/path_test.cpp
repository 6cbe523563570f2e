#include <kymo/path.hpp>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace kymo {
namespace {

TEST(Path, OwnsACopyOfWhatItIsMadeFrom) {
  std::string text = "runs/run.kymo";
  const Path path = text;
  text.assign(text.size(), '?');
  EXPECT_EQ(std::string_view(path), "runs/run.kymo");
  EXPECT_STREQ(path.c_str(), "runs/run.kymo");
  EXPECT_FALSE(path.is_too_long());
}

TEST(Path, OfNothingIsEmpty) {
  for (const Path& path : {Path(), Path(""), Path(std::string_view()), Path(static_cast<const char*>(nullptr))}) {
    EXPECT_TRUE(path.empty());
    EXPECT_STREQ(path.c_str(), "");
  }
}

TEST(Path, SaysWhenATextIsLongerThanAPathCanBe) {
  EXPECT_FALSE(Path(std::string(Path::most_bytes, 'a')).is_too_long());
  const Path path = std::string(Path::most_bytes + 1, 'a');
  EXPECT_TRUE(path.is_too_long());
  EXPECT_EQ(path.size(), Path::most_bytes);
}

}  // namespace
}  // namespace kymo

// Writes the initial inputs of the panel's fuzzer: small captures with everything that it shows.
//
//     make_panel_corpus fuzz/corpus
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "capture/capture_fixture.hpp"
#include "capture/sample_batches.hpp"
#include "panel/marked_game.hpp"

int main(int argument_count, char** arguments) {
  using namespace kymo::test;
  if (argument_count != 2) {
    std::fputs("usage: make_panel_corpus DIRECTORY\n", stderr);
    return 2;
  }
  const std::filesystem::path files = std::filesystem::path(arguments[1]) / "panel_fuzzer";
  std::filesystem::create_directories(files);
  const std::vector<kymo::EventBatch> all = MarkedGame::batches();
  const auto block = all.begin() + MarkedGame::frame / Game().frames_in_block;
  std::vector<kymo::EventBatch> game = {*block, *(block + 1)};
  game[0].declarations = all[0].declarations;
  write_file((files / "game").string(), write_capture(game));
  write_file((files / "torn").string(), write_capture(game, false));
  write_file((files / "ordinary").string(), write_capture({BatchSource(1).ordinary(60)}));
  return 0;
}

// Records a trace until it is killed: recorded_engine OUTPUT ROOT READY. Writes the number of samples to READY after
// 200 of them.
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

#include <kymo/nvmetrics.hpp>

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  kymo::nvmetrics::EngineConfig config;
  config.root = argv[2];
  kymo::nvmetrics::Engine engine(argv[1], kymo::detect_board(argv[2]), config);
  engine.start();
  engine.wait_for_warmup();
  engine.sync();
  while (engine.sample_count() < 200) {
    std::this_thread::yield();
  }
  const std::string ready = argv[3];
  std::ofstream(ready + ".part") << engine.sample_count() << '\n';
  std::rename((ready + ".part").c_str(), ready.c_str());
  ::pause();
  return 0;
}

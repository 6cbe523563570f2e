// Lays out a Jetson board made of files: jetson_tree MODEL DIRECTORY. Prints a line for each channel of its power
// monitors, "LABEL MILLIVOLTS MILLIAMPERES", and one for each thermal zone, "NAME".
#include <cstdio>
#include <filesystem>
#include <string>

#include "sense/jetson_tree.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  const std::string name = argv[1];
  const kymo::test::JetsonModel model = name == "agx_orin"  ? kymo::test::agx_orin_model()
                                        : name == "orin_nx" ? kymo::test::orin_nx_model()
                                                            : kymo::test::orin_nano_model();
  kymo::test::JetsonTree tree(model);
  tree.set_gpu_load("451\n");
  tree.set_emc(10'000'000, 2'000'000'000, 50'000);
  std::filesystem::copy(tree.root(), argv[2], std::filesystem::copy_options::recursive);
  for (const kymo::test::JetsonChannel& channel : tree.channels()) {
    std::printf("%s %u %u\n", channel.label.c_str(), channel.millivolts, channel.milliamperes);
  }
  for (const std::string& zone : model.zones) {
    std::printf("%s\n", zone.c_str());
  }
  return 0;
}

// Trains a small classifier on a machine without a screen, then analyses the recording.
//
//     ./headless --record run.kymo && ./headless --read run.kymo
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <kymo/kymo.hpp>

#include "model.hpp"
#include "summary.hpp"

namespace {

constexpr const char* usage =
    "Usage: headless [--steps N] [--record FILE]\n"
    "       headless --read FILE\n"
    "Trains a small classifier; the second form summarises a capture of it.\n"
    "\n"
    "  --steps N      training steps (2000)\n"
    "  --record FILE  record the training; KYMO_RECORD=FILE does the same\n"
    "  --read FILE    print what a capture holds\n"
    "  --help         print this and exit\n";

struct Options {
  std::uint32_t steps = 2000;
  std::string record;
  std::string read;
  bool wants_help = false;
};

/// Returns nothing, after a message on stderr, for invalid arguments.
std::optional<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.wants_help = true;
      return options;
    }
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    bool is_understood = !value.empty();
    if (argument == "--steps") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.steps);
      is_understood = error == std::errc() && end == value.data() + value.size();
    } else if (argument == "--record") {
      options.record = value;
    } else if (argument == "--read") {
      options.read = value;
    } else {
      is_understood = false;
    }
    if (!is_understood) {
      std::fprintf(stderr, "headless: %s is not understood; see --help\n", arguments[i]);
      return std::nullopt;
    }
  }
  return options;
}

/// Decreases from 0.2 to 0 along a cosine.
float learning_rate(std::uint32_t step, std::uint32_t steps) {
  return 0.1F * (1.0F + std::cos(3.14159265F * static_cast<float>(step) / static_cast<float>(steps)));
}

headless::Score train(std::uint32_t steps) {
  constexpr std::size_t batch_size = 128;
  constexpr std::size_t hidden_count = 96;
  headless::SpiralData data(3000, 1);
  headless::Model model(hidden_count, 2);
  kymo::set_info("model.parameters", std::to_string(model.parameter_count()));
  kymo::set_info("batch_size", std::to_string(batch_size));

  headless::Batch batch;
  headless::Score score;
  kymo::frame_mark();
  for (std::uint32_t step = 0; step < steps; ++step) {
    KYMO_SCOPE("step", {"number", step});
    data.load(batch_size, batch);
    score = model.forward(batch);
    model.backward(batch);
    const float rate = learning_rate(step, steps);
    model.update(rate);
    kymo::record_metric("loss", score.loss);
    kymo::record_metric("accuracy", score.accuracy);
    kymo::record_metric("learning_rate", static_cast<double>(rate));
    kymo::frame_mark();
  }
  return score;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::optional<Options> options = parse(argument_count, arguments);
  if (!options) {
    return 2;
  }
  if (options->wants_help) {
    std::fputs(usage, stdout);
    return 0;
  }
  if (!options->read.empty()) {
    try {
      headless::print_summary(options->read);
      return 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "headless: %s\n", error.what());
      return 1;
    }
  }

  if (options->record.empty()) {
    kymo::enable();
  } else {
    kymo::CaptureOptions capture;
    capture.path = options->record;
    if (!kymo::start_capture(capture)) {
      return 1;  // stderr has the reason
    }
  }
  const headless::Score score = train(options->steps);
  std::printf("after %u steps: loss %.4f, accuracy %.3f\n", options->steps, score.loss, score.accuracy);
  if (const kymo::Path path = kymo::capture_path(); !path.empty()) {
    // Not required for the data, which is safe without it. It reports where the completed file is.
    kymo::stop_capture();
    std::printf("recorded in %s\n", path.c_str());
  }
  return 0;
}

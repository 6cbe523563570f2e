// A classifier with one hidden layer, its data and its optimiser. Small, realistic, and reproducible by seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace headless {

constexpr std::size_t inputs = 2;
constexpr std::size_t classes = 3;

/// Points and their classes: `inputs` coordinates per point.
struct Batch {
  std::vector<float> points;
  std::vector<std::uint32_t> labels;
};

/// Noisy points on three spiral arms; the class is the arm. Each epoch returns them in a new order.
class SpiralData {
 public:
  SpiralData(std::size_t count, std::uint64_t seed);

  /// Fills `batch` with the next `size` points.
  void load(std::size_t size, Batch& batch);

 private:
  Batch all_;
  std::vector<std::uint32_t> order_;
  std::size_t next_ = 0;
  std::mt19937_64 random_;
};

/// A layer's weights with their gradients and the optimiser's velocities.
struct Layer {
  Layer(std::size_t input_size, std::size_t output_size, std::mt19937_64& random);

  std::size_t input_count;
  std::size_t output_count;
  std::vector<float> weights;  ///< a row of output_count weights per input, then the row of biases
  std::vector<float> gradients;
  std::vector<float> velocities;
};

struct Score {
  double loss = 0;      ///< mean cross entropy
  double accuracy = 0;  ///< share that was classified correctly
};

/// inputs -> hidden units (rectified) -> classes (softmax).
class Model {
 public:
  Model(std::size_t hidden_count, std::uint64_t seed);

  /// Classifies the batch.
  Score forward(const Batch& batch);
  /// Computes the gradients of the loss of the last forward().
  void backward(const Batch& batch);
  /// Gradient descent with momentum.
  void update(float learning_rate);

  std::size_t parameter_count() const { return first_.weights.size() + second_.weights.size(); }

 private:
  Model(std::size_t hidden_count, std::mt19937_64 random);

  Layer first_;
  Layer second_;
  std::vector<float> hidden_;
  std::vector<float> probabilities_;
  std::vector<float> hidden_gradients_;
};

}  // namespace headless

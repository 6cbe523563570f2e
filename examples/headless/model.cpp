#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <kymo/kymo.hpp>

namespace headless {

namespace {

/// A number between -1 and 1. Unlike the distributions of <random>, it is the same with every C++ library.
float next_value(std::mt19937_64& random) {
  return static_cast<float>(static_cast<double>(random() >> 11U) * 0x1p-52 - 1.0);
}

/// outputs = inputs * weights + biases, for each of `count` rows.
void multiply(const Layer& layer, const std::vector<float>& input, std::size_t count, std::vector<float>& output) {
  KYMO_SCOPE("multiply", {"rows", count}, {"columns", layer.output_count});
  output.resize(count * layer.output_count);
  const float* const biases = layer.weights.data() + layer.input_count * layer.output_count;
  for (std::size_t row = 0; row < count; ++row) {
    float* const out = output.data() + row * layer.output_count;
    std::copy_n(biases, layer.output_count, out);
    for (std::size_t i = 0; i < layer.input_count; ++i) {
      const float value = input[row * layer.input_count + i];
      const float* const weights = layer.weights.data() + i * layer.output_count;
      for (std::size_t j = 0; j < layer.output_count; ++j) {
        out[j] += value * weights[j];
      }
    }
  }
}

/// The gradients of a layer's weights, from its input and the gradients of its output.
void differentiate(Layer& layer, const std::vector<float>& input, const std::vector<float>& output_gradients,
                   std::size_t count) {
  KYMO_SCOPE("differentiate", {"rows", count}, {"columns", layer.output_count});
  std::fill(layer.gradients.begin(), layer.gradients.end(), 0.0F);
  float* const biases = layer.gradients.data() + layer.input_count * layer.output_count;
  for (std::size_t row = 0; row < count; ++row) {
    const float* const out = output_gradients.data() + row * layer.output_count;
    for (std::size_t i = 0; i < layer.input_count; ++i) {
      const float value = input[row * layer.input_count + i];
      float* const gradients = layer.gradients.data() + i * layer.output_count;
      for (std::size_t j = 0; j < layer.output_count; ++j) {
        gradients[j] += value * out[j];
      }
    }
    for (std::size_t j = 0; j < layer.output_count; ++j) {
      biases[j] += out[j];
    }
  }
}

void descend(Layer& layer, float learning_rate) {
  constexpr float momentum = 0.9F;
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    layer.velocities[i] = momentum * layer.velocities[i] - learning_rate * layer.gradients[i];
    layer.weights[i] += layer.velocities[i];
  }
}

/// Turns each row of scores into probabilities and computes loss and accuracy.
Score rate(std::vector<float>& scores, const std::vector<std::uint32_t>& labels) {
  Score score;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    float* const begin = scores.data() + row * classes;
    float* const end = begin + classes;
    const float* const best = std::max_element(begin, end);
    score.accuracy += best == begin + labels[row] ? 1.0 : 0.0;
    const float largest = *best;
    std::transform(begin, end, begin, [largest](float value) { return std::exp(value - largest); });
    const float sum = std::accumulate(begin, end, 0.0F);
    std::transform(begin, end, begin, [sum](float value) { return value / sum; });
    score.loss -= std::log(std::max(1e-7, static_cast<double>(begin[labels[row]])));
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, labels.size()));
  return {score.loss / count, score.accuracy / count};
}

}  // namespace

SpiralData::SpiralData(std::size_t count, std::uint64_t seed) : order_(count), random_(seed) {
  KYMO_FUNCTION();
  for (std::size_t i = 0; i < count; ++i) {
    const auto arm = static_cast<std::uint32_t>(i % classes);
    const float radius = static_cast<float>(i) / static_cast<float>(count);
    const float angle = 4.0F * (static_cast<float>(arm) + radius) + 0.3F * next_value(random_);
    all_.points.insert(all_.points.end(), {radius * std::sin(angle), radius * std::cos(angle)});
    all_.labels.push_back(arm);
  }
  std::iota(order_.begin(), order_.end(), 0U);
  next_ = count;
}

void SpiralData::load(std::size_t size, Batch& batch) {
  KYMO_SCOPE("load batch", {"size", size});
  batch.points.clear();
  batch.labels.clear();
  while (batch.labels.size() < size) {
    if (next_ == order_.size()) {
      KYMO_SCOPE("shuffle");
      for (std::size_t i = order_.size(); i > 1; --i) {
        std::swap(order_[i - 1], order_[random_() % i]);
      }
      next_ = 0;
    }
    const std::size_t point = order_[next_++];
    batch.points.insert(batch.points.end(), {all_.points[point * inputs], all_.points[point * inputs + 1]});
    batch.labels.push_back(all_.labels[point]);
  }
}

Layer::Layer(std::size_t input_size, std::size_t output_size, std::mt19937_64& random)
    : input_count(input_size),
      output_count(output_size),
      weights((input_size + 1) * output_size),
      gradients(weights.size()),
      velocities(weights.size()) {
  const float scale = std::sqrt(2.0F / static_cast<float>(input_size));
  std::generate_n(weights.begin(), input_size * output_size, [&] { return scale * next_value(random); });
}

Model::Model(std::size_t hidden_count, std::uint64_t seed) : Model(hidden_count, std::mt19937_64(seed)) {}

Model::Model(std::size_t hidden_count, std::mt19937_64 random)
    : first_(inputs, hidden_count, random), second_(hidden_count, classes, random) {}

Score Model::forward(const Batch& batch) {
  KYMO_SCOPE("forward");
  multiply(first_, batch.points, batch.labels.size(), hidden_);
  for (float& value : hidden_) {
    value = std::max(0.0F, value);
  }
  multiply(second_, hidden_, batch.labels.size(), probabilities_);
  const Score score = rate(probabilities_, batch.labels);
  KYMO_ARG("loss", score.loss);
  return score;
}

void Model::backward(const Batch& batch) {
  KYMO_SCOPE("backward");
  const std::size_t count = batch.labels.size();
  // The gradient of the scores: the probabilities, minus 1 for the true class.
  std::vector<float>& gradients = probabilities_;
  for (std::size_t row = 0; row < count; ++row) {
    gradients[row * classes + batch.labels[row]] -= 1.0F;
  }
  for (float& gradient : gradients) {
    gradient /= static_cast<float>(count);
  }
  differentiate(second_, hidden_, gradients, count);

  hidden_gradients_.assign(hidden_.size(), 0.0F);
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t i = 0; i < second_.input_count; ++i) {
      const std::size_t unit = row * second_.input_count + i;
      for (std::size_t j = 0; hidden_[unit] > 0.0F && j < classes; ++j) {
        hidden_gradients_[unit] += gradients[row * classes + j] * second_.weights[i * classes + j];
      }
    }
  }
  differentiate(first_, batch.points, hidden_gradients_, count);
}

void Model::update(float learning_rate) {
  KYMO_SCOPE("optimizer", {"learning_rate", learning_rate});
  descend(first_, learning_rate);
  descend(second_, learning_rate);
}

}  // namespace headless

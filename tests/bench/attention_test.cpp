// The attention example: cuts against brute force, gates, and the same bits everywhere.
#include <gtest/gtest.h>

#include <kymo/witness.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gate.hpp"
#include "min_cut.hpp"
#include "softmax.hpp"
#include "workload.hpp"

namespace attention {
namespace {

/// The least that any division of the nodes severs; the source is node 0, the sink the last.
std::int64_t least_cut(const std::vector<std::vector<std::int32_t>>& capacities) {
  const std::size_t nodes = capacities.size();
  std::int64_t least = INT64_MAX;
  for (std::uint32_t side = 1; side < (1U << (nodes - 1)); side += 2) {
    std::int64_t severed = 0;
    for (std::size_t from = 0; from < nodes; ++from) {
      for (std::size_t to = 0; to < nodes; ++to) {
        const bool leaves = ((side >> from) & 1U) != 0 && ((side >> to) & 1U) == 0;
        severed += leaves ? capacities[from][to] : 0;
      }
    }
    least = std::min(least, severed);
  }
  return least;
}

TEST(MinCut, IsTheLeastOfAllCuts) {
  Generator generator(7);
  for (int round = 0; round < 400; ++round) {
    const std::size_t nodes = generator.between(2, 8);
    const std::size_t one_in = generator.between(1, 4);
    const std::int32_t greatest = round % 2 == 0 ? 5 : FlowGraph::greatest_capacity;
    FlowGraph graph(nodes);
    std::vector<std::vector<std::int32_t>> capacities(nodes, std::vector<std::int32_t>(nodes));
    for (std::size_t from = 0; from < nodes; ++from) {
      for (std::size_t to = 0; to < nodes; ++to) {
        if (from != to && generator.between(1, one_in) == 1) {
          capacities[from][to] = static_cast<std::int32_t>(generator.between(0, static_cast<std::size_t>(greatest)));
          graph.set_capacity(from, to, capacities[from][to]);
        }
      }
    }
    const std::int64_t flow = graph.send(0, nodes - 1);
    ASSERT_EQ(flow, least_cut(capacities)) << round;
    std::int64_t severed = 0;
    for (std::size_t from = 0; from < nodes; ++from) {
      for (std::size_t to = 0; to < nodes; ++to) {
        severed += graph.is_on_source_side(from) && !graph.is_on_source_side(to) ? capacities[from][to] : 0;
      }
    }
    ASSERT_EQ(severed, flow) << round;
    ASSERT_TRUE(graph.is_on_source_side(0));
    ASSERT_FALSE(graph.is_on_source_side(nodes - 1));
  }
}

/// Logits of three tokens: the only way from 0 to 2 is 0 -> 1 (4.0) -> 2 (0.5), so the cut severs 1 -> 2. The mean
/// weight of the edges is 2.25.
const Matrix chain{-1, 4, -2, -1, -3, 0.5F, -1, -1, -1};

TEST(Gate, DropsWhatIsNoEdgeAndTheCutIfItIsCheapEnough) {
  const Decision cut = Gate(3, {0.3F, 0, 0.01F}).decide(chain);
  EXPECT_EQ(cut.cut_cost, 0.5);
  EXPECT_EQ(cut.dropped, 8U);
  EXPECT_EQ(cut.kept, (Mask{0, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(cut.kept_keys, (std::vector<bool>{false, true, false}));
  const Decision whole = Gate(3, {0.2F, 0, 0.01F}).decide(chain);
  EXPECT_EQ(whole.cut_cost, 0) << "no cut was made";
  EXPECT_EQ(whole.dropped, 7U);
  EXPECT_EQ(Gate(3, {0.2F, 0, 0.6F}).decide(chain).dropped, 8U) << "0.5 is no edge";
}

/// The cases of one kind, as streams behind the word.
std::vector<std::istringstream> cases(const std::string& kind) {
  std::ifstream file(GATE_CASES);
  std::vector<std::istringstream> found;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (words >> word && word == kind) {
      found.push_back(std::move(words));
    }
  }
  EXPECT_GT(found.size(), 3U) << GATE_CASES;
  return found;
}

Mask read_mask(std::istringstream& words) {
  std::string digits;
  words >> digits;
  Mask mask;
  for (const char digit : digits) {
    mask.push_back(digit == '1' ? 1 : 0);
  }
  return mask;
}

Matrix read_numbers(std::istringstream& words, std::size_t count) {
  Matrix numbers(count);
  for (float& number : numbers) {
    words >> number;
  }
  EXPECT_FALSE(words.fail());
  return numbers;
}

TEST(Gate, DecidesAsTheCrateDoes) {
  std::size_t cuts = 0;
  for (std::istringstream& words : cases("cut")) {
    std::size_t tokens = 0;
    GateOptions options;
    double cost = 0;
    words >> tokens >> options.lambda >> options.eps >> cost;
    const Mask mask = read_mask(words);
    const Matrix logits = read_numbers(words, tokens * tokens);
    const Cut cut = cut_logits(logits, tokens, options);
    ASSERT_EQ(cut.mask, mask) << words.str();
    ASSERT_NEAR(cut.cost, cost, 1e-5) << words.str();
    cuts += cost > 0 ? 1 : 0;
  }
  EXPECT_GT(cuts, 20U) << "the cases test no cut";
}

TEST(Gate, FlipsWhenTheCrateFlips) {
  for (std::istringstream& words : cases("flips")) {
    unsigned tau = 0;
    words >> tau;
    Hysteresis hysteresis(tau);
    for (Mask mask = read_mask(words); !mask.empty(); mask = read_mask(words)) {
      ASSERT_EQ(hysteresis.apply(mask), read_mask(words)) << words.str();
    }
  }
}

TEST(Gate, AttentionIsThatOfTheCrate) {
  for (std::istringstream& words : cases("attend")) {
    Tokens tokens;
    GateOptions options;
    words >> tokens.count >> options.lambda >> options.eps;
    const std::size_t size = tokens.count * dimension;
    tokens.queries = read_numbers(words, size);
    tokens.keys = read_numbers(words, size);
    tokens.values = read_numbers(words, size);
    const Matrix expected = read_numbers(words, size);
    const Matrix logits = logits_of(tokens);
    const Cut cut = cut_logits(logits, tokens.count, options);
    const Matrix output = attend(tokens, logits, &cut.mask);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(output[i], expected[i], 1e-5) << tokens.count << " tokens, number " << i;
    }
  }
}

TEST(Gate, ARowWithoutLogitsGivesZeros) {
  const Tokens tokens = make_sample(1, 0);
  Mask mask(tokens.count * tokens.count, 0);
  for (std::size_t token = 1; token < tokens.count; ++token) {
    mask[token * tokens.count + token] = 1;
  }
  Matrix expected = tokens.values;
  std::fill_n(expected.begin(), dimension, 0.0F);
  EXPECT_EQ(attend(tokens, logits_of(tokens), &mask), expected);
}

TEST(Softmax, IsThatOfTheTextbook) {
  for (float x = 0; x > -87; x -= 0.37F) {
    ASSERT_NEAR(exponential(x) / std::exp(static_cast<double>(x)), 1, 3e-7) << x;
  }
  EXPECT_EQ(exponential(-100), 0);
  EXPECT_EQ(exponential(-INFINITY), 0);
  const Tokens tokens = make_sample(3, 2);
  const Matrix output = attend(tokens, logits_of(tokens), nullptr);
  double greatest_error = 0;
  for (std::size_t query = 0; query < tokens.count; ++query) {
    std::vector<double> expected(dimension);
    double sum = 0;
    for (std::size_t key = 0; key < tokens.count; ++key) {
      double logit = 0;
      for (std::size_t part = 0; part < dimension; ++part) {
        logit += static_cast<double>(tokens.queries[query * dimension + part]) * tokens.keys[key * dimension + part];
      }
      const double weight = std::exp(logit / std::sqrt(static_cast<double>(dimension)));
      sum += weight;
      for (std::size_t part = 0; part < dimension; ++part) {
        expected[part] += weight * tokens.values[key * dimension + part];
      }
    }
    for (std::size_t part = 0; part < dimension; ++part) {
      greatest_error = std::max(greatest_error, std::abs(output[query * dimension + part] - expected[part] / sum));
    }
  }
  EXPECT_LT(greatest_error, 1e-5);
}

TEST(Workload, IsTheSameOnEveryMachine) {
  const Tokens tokens = make_sample(42, 0);
  ASSERT_GE(tokens.count, 16U);
  ASSERT_LE(tokens.count, 128U);
  const std::size_t many = make_sample(42, 1).count;
  EXPECT_GE(many, 256U);
  EXPECT_LE(many, 1024U);
  const Matrix output = attend(tokens, logits_of(tokens), nullptr);
  EXPECT_EQ(kymo::tensor_hash(tokens.queries.data(), tokens.queries.size()),
            "a07fc0e5d049c45e7cb044ffe51c0db37034dcf6fecfb4f7c81d432c19f2b235");
  EXPECT_EQ(kymo::tensor_hash(output.data(), output.size()),
            "8ae2caf82292afa5180ae048dde6bace9247b126b74d14d35e7228f73302be56");
}

}  // namespace
}  // namespace attention

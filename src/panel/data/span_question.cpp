// Looks up a span: its facts and its energy.
#include <utility>

#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

/// Limits on the blocks read for concurrent activity and for samples.
constexpr std::size_t most_shared_blocks = 64;
constexpr std::size_t most_sampled_blocks = 1024;

}  // namespace

struct PanelData::EnergyQuestion {
  struct NeededBlock {
    std::size_t capture = 0;
    std::size_t number = 0;
    BatchParts parts = BatchParts::samples;
  };

  stats::SpanEnergyQuestion sharing;
  std::uint64_t number = 0;
  std::vector<NeededBlock> blocks;
  std::size_t next = 0;
};

void PanelData::ask_for_span(const SpanKey& key) {
  span_facts_.reset();
  span_energy_ = {};
  worker_.ask([this, key, number = ++span_question_] {
    SpanFacts facts;
    try {
      facts = provider_->find_span(key);
    } catch (const std::exception&) {
      facts = {};
    }
    facts.key = key;
    return [this, number, facts = std::move(facts)] {
      if (number != span_question_) {
        return;
      }
      span_facts_ = facts;
      if (facts.is_found) {
        ask_for_energy(facts.key, {facts.span.start_ns, add_length(facts.span.start_ns, facts.span.duration_ns)});
      }
    };
  });
}

void PanelData::ask_for_energy(const SpanKey& key, TimeRange span) {
  stats::SpanEnergyQuestion sharing(provider_->declarations(), key.track, span);
  if (!sharing.has_source()) {
    span_energy_.state = SpanEnergyFacts::State::no_source;
    return;
  }
  auto question = std::make_shared<EnergyQuestion>(EnergyQuestion{std::move(sharing), span_question_, {}, 0});
  const TimeRange reach = question->sharing.reach();
  const std::vector<CaptureBlocks>& lists = provider_->blocks();
  std::size_t shared = 0;
  for (std::size_t capture = 0; capture < lists.size(); ++capture) {
    for (std::size_t i = 0; i < lists[capture].blocks.size(); ++i) {
      const timeline::BlockPlace& block = lists[capture].blocks[i];
      if (overlaps(block.start_ns, block.end_ns, reach)) {
        const bool is_shared = overlaps(block.start_ns, block.end_ns, span);
        shared += is_shared ? 1 : 0;
        question->blocks.push_back(
            {capture, provider_->first_block() + i, is_shared ? BatchParts::everything : BatchParts::samples});
      }
    }
  }
  if (question->blocks.size() > most_sampled_blocks) {
    span_energy_.state = SpanEnergyFacts::State::too_long;
    return;
  }
  if (shared > most_shared_blocks) {
    question->sharing.share_nothing();
    for (EnergyQuestion::NeededBlock& block : question->blocks) {
      block.parts = BatchParts::samples;
    }
  }
  read_energy(std::move(question));
}

void PanelData::read_energy(std::shared_ptr<EnergyQuestion> question) {
  worker_.ask([this, question = std::move(question)]() -> Worker::Delivery {
    // A few blocks at a time, so that the view's data is loaded in between.
    constexpr unsigned most_at_once = 16;
    for (unsigned i = 0; i < most_at_once && question->next < question->blocks.size(); ++i) {
      const EnergyQuestion::NeededBlock& block = question->blocks[question->next++];
      try {
        if (const auto batch = provider_->read(block.capture, block.number, block.parts); batch != nullptr) {
          question->sharing.take(*batch);
        }
      } catch (const std::exception&) {
        // In unreadable blocks the source is unknown for their time.
      }
    }
    SpanEnergyFacts facts;
    if (question->next == question->blocks.size()) {
      facts.state = SpanEnergyFacts::State::known;
      facts.joules = question->sharing.finish();
    }
    return [this, question, facts] {
      if (question->number != span_question_) {
        return;
      }
      span_energy_ = facts;
      if (facts.state == SpanEnergyFacts::State::reading) {
        read_energy(question);
      }
    };
  });
}

}  // namespace kymo::panel

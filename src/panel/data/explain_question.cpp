// Asks why something takes longer than usual.
#include <exception>
#include <memory>
#include <utility>

#include "panel/data/panel_data.hpp"

namespace kymo::panel {

namespace {

/// Thrown out of an explanation that nobody waits for any more.
class Superseded : public std::exception {};

Explained explain_or_run(const BlockProvider& provider, const ExplainOptions& asked) {
  Explained explained;
  try {
    auto explanations = provider.explain(asked);
    explained.state = explanations ? Explained::State::known : Explained::State::impossible;
    explained.explanations = std::move(explanations).value_or(std::vector<Explanation>());
    explained.of_energy = provider.explain_energy(asked);
  } catch (const SelectionError& nothing_to_compare) {
    if (!asked.site.empty() || asked.slow.time) {
      throw;
    }
    explained.of_run = provider.explain_run(asked.on_progress);
    if (!explained.of_run) {
      throw;
    }
    explained.of_run->notes.insert(explained.of_run->notes.begin(), nothing_to_compare.what());
    explained.state = Explained::State::known;
  }
  return explained;
}

}  // namespace

void PanelData::ask_to_explain(const ExplainOptions& options) {
  stop_explaining();
  explained_ = {Explained::State::reading, {}, {}, {}, {}, data_version_, explained_.version + 1};
  const std::uint64_t number = *explanation_;
  if (explainer_ == nullptr) {
    explainer_ = std::make_unique<Worker>(options_.has_thread, Worker::Load());
  }
  explainer_->ask([this, asked = options, number, latest = explanation_]() mutable -> Worker::Delivery {
    asked.on_progress = [number, latest](double) {
      if (*latest != number) {
        throw Superseded();
      }
    };
    Explained explained;
    try {
      asked.on_progress(0);
      explained = explain_or_run(*provider_, asked);
    } catch (const std::exception& failure) {
      explained.state = Explained::State::failed;
      explained.failure = failure.what();
    }
    return [this, number, explained = std::move(explained)] {
      if (number == *explanation_) {
        explained_.state = explained.state;
        explained_.explanations = explained.explanations;
        explained_.of_energy = explained.of_energy;
        explained_.of_run = explained.of_run;
        explained_.failure = explained.failure;
        ++explained_.version;
      }
    };
  });
}

}  // namespace kymo::panel

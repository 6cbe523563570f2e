// The explain tab: why the slow frames of the selection, or its slow scopes, take longer than the others; where there
// is nothing to compare, where the time of the run went.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/layout/metric_layout.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"
#include "stats/common/value_text.hpp"
#include "stats/explain/explanation_text.hpp"

namespace kymo::panel {

namespace {

/// A finding, what took less time, or what is unexplained: of an explanation, or of joules.
struct FindingLine {
  const Explanation* why = nullptr;
  const Finding* finding = nullptr;  ///< nullptr: unexplained, or of joules
  const EnergyExplanation* of_energy = nullptr;
  const EnergyFinding* energy_finding = nullptr;  ///< likewise
  bool is_less = false;

  [[nodiscard]] bool is_unexplained() const { return finding == nullptr && energy_finding == nullptr; }
  [[nodiscard]] bool has_evidence() const { return !is_unexplained() && !is_less; }
  [[nodiscard]] double excess() const {
    return finding != nullptr          ? finding->excess_ns
           : energy_finding != nullptr ? energy_finding->excess_joules
           : why != nullptr            ? why->unexplained_ns
                                       : of_energy->unexplained_joules;
  }
  [[nodiscard]] double share() const {
    return excess() / (why != nullptr ? why->excess_ns() : of_energy->excess_joules());
  }
  [[nodiscard]] std::optional<Interval> interval() const {
    return finding != nullptr ? finding->interval : energy_finding != nullptr ? energy_finding->interval : std::nullopt;
  }
  [[nodiscard]] std::size_t with_it() const {
    return finding != nullptr ? finding->in_instances : energy_finding->in_instances;
  }
  [[nodiscard]] std::size_t of_all() const { return why != nullptr ? why->slow : of_energy->costly; }
  [[nodiscard]] std::string cause() const {
    const std::string less = finding != nullptr ? "less time " : "less ";
    return is_unexplained()
               ? "unexplained"
               : (is_less ? less : "") + clean_text(finding != nullptr ? finding->text : energy_finding->text, 400);
  }
  [[nodiscard]] std::string excess_text() const {
    return (excess() < 0 ? "-" : "") + (of_energy == nullptr
                                            ? duration_text(static_cast<std::int64_t>(std::abs(excess())))
                                            : stats::value_text(std::abs(excess()), "J"));
  }
};

/// The findings of all explanations; last those of joules.
std::vector<FindingLine> findings_of(const Explained& explained) {
  std::vector<FindingLine> lines;
  const auto add = [&lines](FindingLine line, auto FindingLine::*finding, const auto& findings) {
    for (const auto& one : findings) {
      line.*finding = &one;
      lines.push_back(line);
    }
  };
  for (const Explanation& why : explained.explanations) {
    add({&why, nullptr, nullptr, nullptr, false}, &FindingLine::finding, why.findings);
    add({&why, nullptr, nullptr, nullptr, true}, &FindingLine::finding, why.shorter);
    if (!why.findings.empty() || !why.shorter.empty()) {
      lines.push_back({&why, nullptr, nullptr, nullptr, false});
    }
  }
  if (explained.of_energy && !explained.of_energy->findings.empty()) {
    const EnergyExplanation& why = *explained.of_energy;
    add({nullptr, nullptr, &why, nullptr, false}, &FindingLine::energy_finding, why.findings);
    add({nullptr, nullptr, &why, nullptr, true}, &FindingLine::energy_finding, why.less);
    lines.push_back({nullptr, nullptr, &why, nullptr, false});
  }
  return lines;
}

TableColumn share_of_excess_column(std::function<double(std::size_t row)> share) {
  TableColumn column = number_column("share", std::move(share), stats::share_of_excess_text);
  column.has_bar = true;
  return column;
}

TableRows finding_rows(const std::vector<FindingLine>& lines) {
  const auto texts_of = [&lines](auto member) {
    return [&lines, member](std::size_t row) { return std::invoke(member, lines[row]); };
  };
  const auto of = numbers_of(lines);
  const auto interval_text = [&lines](std::size_t row) {
    return lines[row].has_evidence() ? stats::share_interval_text(lines[row].interval()) : "";
  };
  const auto interval_start = [&lines](std::size_t row) {
    return lines[row].interval() ? lines[row].interval()->low : -1;
  };
  const auto with_it_text = [&lines](std::size_t row) {
    const FindingLine& line = lines[row];
    return line.has_evidence() ? count_text(line.with_it()) + " of " + count_text(line.of_all()) : "";
  };
  const auto with_it = [&lines](std::size_t row) {
    return lines[row].is_unexplained() ? -1 : static_cast<double>(lines[row].with_it());
  };
  return {lines.size(),
          {{"cause", 7, texts_of(&FindingLine::cause)},
           {"excess", 1, texts_of(&FindingLine::excess_text), of(&FindingLine::excess)},
           share_of_excess_column(of(&FindingLine::share)),
           {"95 % interval", 1, interval_text, interval_start},
           {"slow with it", 1, with_it_text, with_it}}};
}

/// The parts of a run's time, and the rest.
TableRows run_rows(const RunExplanation& run) {
  const auto is_other = [&run](std::size_t row) { return row == run.parts.size(); };
  const auto what = [&run, is_other](std::size_t row) {
    return is_other(row) ? "other" : clean_text(run.parts[row].text, 400);
  };
  const auto time_ns = [&run, is_other](std::size_t row) {
    return is_other(row) ? run.other_ns : run.parts[row].duration_ns;
  };
  const auto share = [&run, time_ns](std::size_t row) { return time_ns(row) / run.duration_ns(); };
  return {run.parts.size() + 1,
          {{"what", 7, what},
           number_column("time", time_ns, [](double time) { return duration_text(std::llround(time)); }),
           share_of_excess_column(share)}};
}

class ExplainTab final : public Tab {
 public:
  ExplainTab() : Tab("Explain") {}

  void draw(TabContext& context) override {
    PanelData& data = context.state.data();
    if (is_new_selection(context)) {
      is_asked_ = false;
    }
    // Without a thread, an answer would hold up the page: it is asked for by a click.
    if (!is_asked_ && data.has_thread()) {
      ask(context);
    }
    draw_focus_button(context);
    const bool is_outdated = is_asked_ && data.explained().data_version != data.data_version() &&
                             data.explained().state != Explained::State::reading;
    if ((!is_asked_ || is_outdated) && ImGui::SmallButton(is_asked_ ? "Explain anew###explain" : "Explain###explain")) {
      ask(context);
    }
    const Explained& explained = data.explained();
    if (!is_asked_ || explained.state != Explained::State::known) {
      say(state_text(explained));
      return;
    }
    for (const std::string& sentence : sentences(explained)) {
      draw_sentence(sentence);
    }
    with_rows(explained, [&](Table& table, const TableRows& rows) {
      table.update(rows, explained.version);
      if (rows.count == 0) {
        return;
      }
      // What goes along stands below the rows, or below the window where there is no room.
      const float line = ImGui::GetTextLineHeightWithSpacing();
      const float all = (static_cast<float>(rows.count) + 1.7F) * line;
      const float room = ImGui::GetContentRegionAvail().y - static_cast<float>(remarks(context).size()) * line;
      const float height = std::clamp(room, std::min(4 * line, all), all);
      if (const auto clicked = table.draw(rows, chosen_, height, context.theme)) {
        choose(context, *clicked);
      }
    });
    for (const std::string& remark : remarks(context)) {
      say(remark);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    if (!is_asked_) {
      ask(context);
      return;
    }
    with_rows(context.state.data().explained(), [&](const Table& table, const TableRows& rows) {
      if (const auto next = table.neighbour(chosen_, down); next && *next < rows.count) {
        choose(context, *next);
      }
    });
  }
  void sort_by(std::size_t column) override {
    findings_.sort_by(column);
    parts_.sort_by(column);
  }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    static const Explained nothing;
    const Explained& explained = is_asked_ ? context.state.data().explained() : nothing;
    std::string text;
    if (as == CopyAs::text) {
      for (const std::string& sentence : sentences(explained)) {
        text += sentence + "\n";
      }
    }
    const std::vector<FindingLine> findings = findings_of(explained);
    return text + (explained.of_run ? parts_.copied(run_rows(*explained.of_run), as)
                                    : findings_.copied(finding_rows(findings), as));
  }

 private:
  [[nodiscard]] static std::vector<std::string> sentences(const Explained& explained) {
    std::vector<std::string> all;
    for (const Explanation& why : explained.explanations) {
      all.push_back(clean_text(describe(why), 1000));
    }
    if (explained.of_energy) {
      all.push_back(clean_text(describe(*explained.of_energy), 1000));
    }
    if (explained.of_run) {
      all.push_back(clean_text(describe(*explained.of_run), 1000));
    }
    return all;
  }

  template <typename Use>
  void with_rows(const Explained& explained, const Use& use) {
    if (explained.of_run) {
      use(parts_, run_rows(*explained.of_run));
    } else {
      const std::vector<FindingLine> findings = findings_of(explained);
      use(findings_, finding_rows(findings));
    }
  }

  static void draw_sentence(const std::string& text) {
    ImGui::PushTextWrapPos(0);
    say(text);
    ImGui::PopTextWrapPos();
  }

  [[nodiscard]] std::string state_text(const Explained& explained) const {
    if (!is_asked_) {
      return "reads the captures once; up or down, or a click, begins";
    }
    return explained.state == Explained::State::failed       ? clean_text(explained.failure, 400)
           : explained.state == Explained::State::impossible ? "needs a capture: record this program with KYMO_RECORD"
                                                             : "reading...";
  }

  /// Whether something else is selected than what was asked about.
  [[nodiscard]] bool is_new_selection(TabContext& context) {
    const TimeRange range = context.state.table_range();
    const SiteId site = context.state.focused_site();
    if (is_same(range, range_) && site == site_) {
      return false;
    }
    range_ = range;
    site_ = site;
    return true;
  }

  void ask(TabContext& context) {
    ExplainOptions options;
    if (site_) {
      options.site = context.state.data().provider().site(site_).name;
    }
    if (!is_everything(range_)) {
      options.slow.time = range_;
    }
    context.state.data().ask_to_explain(options);
    context.state.light({});
    chosen_.reset();
    is_asked_ = true;
  }

  /// What goes along, and what limits the answers.
  [[nodiscard]] static std::vector<std::string> remarks(TabContext& context) {
    std::vector<std::string> all;
    const Declarations& declarations = context.state.data().provider().declarations();
    for (const Explanation& why : context.state.data().explained().explanations) {
      for (const Companion& companion : why.companions) {
        if (const MetricDeclaration* const metric = find_metric(declarations, companion.metric); metric != nullptr) {
          all.push_back(clean_text(stats::companion_text(*metric, companion), 200));
        }
      }
      for (const std::string& note : why.notes) {
        all.push_back("note: " + clean_text(note, 400));
      }
    }
    const Explained& explained = context.state.data().explained();
    for (const auto* const notes : {explained.of_energy ? &explained.of_energy->notes : nullptr,
                                    explained.of_run ? &explained.of_run->notes : nullptr}) {
      for (std::size_t i = 0; notes != nullptr && i < notes->size(); ++i) {
        all.push_back("note: " + clean_text((*notes)[i], 400));
      }
    }
    return all;
  }

  /// Lights the instances of a finding, and marks the scope where most of its time goes.
  void choose(TabContext& context, std::size_t row) {
    chosen_ = row;
    const Explained& explained = context.state.data().explained();
    if (explained.of_run) {
      return;  // its parts lie all over the run
    }
    std::vector<Instance> instances;
    const FindingLine chosen = findings_of(explained)[row];
    if (chosen.finding != nullptr) {
      for (const FindingInstance& one : chosen.finding->slow) {
        instances.push_back(one.instance);
      }
      if (!chosen.finding->parts.empty()) {
        context.state.mark_site(find_site(context, chosen.finding->parts.front().subject));
      }
    } else if (chosen.of_energy != nullptr) {
      for (const InstanceJoules& one :
           chosen.energy_finding != nullptr ? chosen.energy_finding->costly : chosen.of_energy->costliest) {
        instances.push_back(one.instance);
      }
      if (chosen.energy_finding != nullptr) {
        context.state.mark_site(find_site(context, chosen.energy_finding->subject));
      }
    } else {
      instances = chosen.why->slowest;
    }
    context.state.light(std::move(instances));
  }

  [[nodiscard]] static SiteId find_site(TabContext& context, const Subject& subject) {
    for (const SiteDeclaration& site : context.state.data().provider().declarations().sites) {
      if (site.name == subject.name && site.file == subject.file) {
        return site.id;
      }
    }
    return {};
  }

  bool is_asked_ = false;
  TimeRange range_;
  SiteId site_;
  std::optional<std::size_t> chosen_;
  Table parts_{"parts", Table::unsorted};
  Table findings_{"findings", Table::unsorted};
};

}  // namespace

std::unique_ptr<Tab> make_explain_tab() {
  return std::make_unique<ExplainTab>();
}

}  // namespace kymo::panel

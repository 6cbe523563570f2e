// What is done to one side of a comparison is done to the other.
#include <algorithm>
#include <limits>
#include <string_view>

#include "panel/compare/compare_view.hpp"
#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

bool is_same_or_none(const std::optional<TimeRange>& a, const std::optional<TimeRange>& b) {
  return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
}

std::string_view without_directory(std::string_view file) {
  return file.substr(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
}

}  // namespace

void CompareView::link() {
  std::uint64_t version = 0;
  for (Side& side : sides_) {
    side.marks.keep_fresh(side.state().data(), ListKey({}, side.state().stream().value()));
    version += side.marks.version();
  }
  // The side that was moved leads.
  const auto has_moved = [this](std::size_t side) {
    return !is_same(sides_[side].state().flame().range(), sides_[side].told.flame) ||
           !is_same(sides_[side].state().overview().range(), sides_[side].told.overview);
  };
  const std::size_t other = 1 - active_;
  const bool has_other_moved = !has_moved(active_) && has_moved(other);
  const std::size_t leader = has_other_moved ? other : active_;
  const bool is_new = aligns_anew_ || version != marks_version_;
  if (is_new && sides_[0].state().pinned().has_value() != sides_[1].state().pinned().has_value()) {
    sides_[0].told.is_pinned = sides_[1].told.is_pinned = false;  // the partner may be known at last
  }
  link_pins(active_);
  link_pins(other);
  if (is_new || has_moved(leader)) {
    aligns_anew_ = false;
    marks_version_ = version;
    place_anchors(leader);
    link_ranges(leader);
  } else {
    make_room();  // captures may have grown
  }
  link_marks(active_);
  link_marks(other);
  remember();
}

void CompareView::place_anchors(std::size_t leader) {
  ViewState& state = sides_[leader].state();
  is_unaligned_ = false;
  if (align_ == Align::start) {
    anchors_ns_ = {sides_[0].state().data().range().start_ns, sides_[1].state().data().range().start_ns};
    number_ = 0;
    return;
  }
  const TimeRange seen = state.flame().range();
  const bool is_pinned = align_ == Align::frame && state.pinned();
  // With everything in view the first ones are aligned.
  const std::int64_t at_ns = is_pinned ? state.pinned()->start_ns
                             : state.flame().shows_all()
                                 ? std::numeric_limits<std::int64_t>::min()
                                 : seen.start_ns + length_between(seen.start_ns, seen.end_ns) / 2;
  const auto found = find_anchors(align_, sides_[leader].marks.list(), sides_[1 - leader].marks.list(), at_ns);
  if (found) {
    anchors_ns_[leader] = found->here_ns;
    anchors_ns_[1 - leader] = found->there_ns;
    number_ = found->number;
  } else {
    is_unaligned_ = !sides_[0].marks.is_reading() && !sides_[1].marks.is_reading();
  }
}

void CompareView::make_room() {
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    sides_[side].state().set_room(range_there(sides_[1 - side].state().data().range(), anchors_from(1 - side)));
  }
}

void CompareView::link_ranges(std::size_t leader) {
  make_room();
  ViewState& from = sides_[leader].state();
  ViewState& to = sides_[1 - leader].state();
  to.flame().show(range_there(from.flame().range(), anchors_from(leader)));
  to.overview().show(range_there(from.overview().range(), anchors_from(leader)));
  to.hold();
}

void CompareView::link_pins(std::size_t leader) {
  Side& from = sides_[leader];
  Side& to = sides_[1 - leader];
  if (from.state().is_paused() != from.told.is_paused && from.state().is_paused() != to.state().is_paused()) {
    to.state().toggle_pause();
    to.told.is_paused = to.state().is_paused();
  }
  const std::optional<Frame>& pinned = from.state().pinned();
  const bool is_new = pinned.has_value() != from.told.is_pinned || (pinned && pinned->start_ns != from.told.pinned_ns);
  if (!is_new || align_ != Align::frame || from.marks.is_reading() || to.marks.is_reading()) {
    return;
  }
  std::optional<Frame> partner;
  if (pinned) {
    const auto found = find_anchors(Align::frame, from.marks.list(), to.marks.list(), pinned->start_ns);
    partner = found ? frame_of(to.marks.list(), found->number) : std::nullopt;
    // Both fit.
    const std::int64_t length = std::max(pinned->duration_ns, partner ? partner->duration_ns : 0);
    from.state().flame().show({pinned->start_ns, add_length(pinned->start_ns, length)});
  }
  to.state().pin_out_of_view(partner);
  to.told.is_pinned = partner.has_value();
  to.told.pinned_ns = partner ? partner->start_ns : 0;
  from.told.is_pinned = pinned.has_value();
  from.told.pinned_ns = pinned ? pinned->start_ns : 0;
}

void CompareView::link_marks(std::size_t leader) {
  Side& from = sides_[leader];
  Side& to = sides_[1 - leader];
  if (from.state().marked_site() != from.told.site) {
    to.state().mark_site(partner_of(leader, from.state().marked_site()));
    from.told.site = from.state().marked_site();
    to.told.site = to.state().marked_site();
    active_ = leader;
    choose_row_of_site();
  }
  if (!is_same_or_none(from.state().measured(), from.told.measured)) {
    const std::optional<TimeRange>& measured = from.state().measured();
    to.state().measure(measured ? std::optional(range_there(*measured, anchors_from(leader))) : std::nullopt);
    from.told.measured = measured;
    to.told.measured = to.state().measured();
  }
}

void CompareView::remember() {
  for (Side& side : sides_) {
    const ViewState& state = side.state();
    side.told = {side.state().flame().range(),
                 side.state().overview().range(),
                 state.marked_site(),
                 state.measured(),
                 state.pinned() ? state.pinned()->start_ns : 0,
                 state.pinned().has_value(),
                 state.is_paused()};
  }
}

SiteId CompareView::partner_of(std::size_t side, SiteId site) const {
  if (!site) {
    return {};
  }
  const SiteDeclaration& wanted = sides_[side].state().data().provider().site(site);
  SiteId by_name;
  for (const SiteDeclaration& other : sides_[1 - side].state().data().provider().declarations().sites) {
    if (other.name != wanted.name || other.role != wanted.role) {
      continue;
    }
    if (other.function == wanted.function && without_directory(other.file) == without_directory(wanted.file)) {
      return other.id;
    }
    by_name = by_name ? by_name : other.id;
  }
  return by_name;
}

void CompareView::choose_row_of_site() {
  const SiteId site = sides_[active_].state().marked_site();
  if (!judged_ || !site) {
    return;
  }
  const SiteDeclaration& wanted = sides_[active_].state().data().provider().site(site);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < judged_->comparison.things.size(); ++i) {
    const stats::ThingName& name = judged_->comparison.things[i].name;
    if (name.kind != stats::ThingKind::site || name.name != wanted.name) {
      continue;
    }
    const bool is_it = name.function == wanted.function && name.file == without_directory(wanted.file);
    best = is_it || !best ? std::optional(i) : best;
    if (is_it) {
      break;
    }
  }
  verdicts_.choose(best);
}

void CompareView::choose_site_of_row() {
  const stats::ComparedThing* const thing = chosen_thing();
  if (thing == nullptr) {
    return;
  }
  for (Side& side : sides_) {
    SiteId found;
    const Declarations& declared = side.state().data().provider().declarations();
    for (const SiteDeclaration& site : declared.sites) {
      if (thing->name.kind == stats::ThingKind::site && site.name == thing->name.name &&
          (!found || (site.function == thing->name.function && without_directory(site.file) == thing->name.file))) {
        found = site.id;
      }
    }
    side.state().mark_site(found);
    side.told.site = found;
    for (const MetricDeclaration& metric : declared.metrics) {
      if (thing->name.kind == stats::ThingKind::metric && metric.name == thing->name.name) {
        side.state().show_metric(metric.id);
      }
    }
  }
}

}  // namespace kymo::panel

// The locks tab: who waited for whom. A row is a lock and the place that held it meanwhile.
#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/site_table_tab.hpp"

namespace kymo::panel {

namespace {

using stats::SiteFigures;

class LocksTab final : public SiteTableTab {
 public:
  LocksTab() : SiteTableTab("Locks", Table("locks", by_total)) {}

  void draw(TabContext& context) override {
    keep_fresh(context);
    draw_filter(context);
    const TableRows waits = rows(context);
    table_.update(waits, field_.version() + version());
    say((table_.order().empty() ? "no thread waited for a kymo::Lockable"
                                : "waits of threads; a click marks them in the chart") +
        std::string(state_text()));
    draw_table(context, waits);
  }

 private:
  static constexpr std::size_t by_total = 3;

  [[nodiscard]] TableRows rows(TabContext& context) const override {
    const auto of = numbers_of(sites(context));
    const auto holder = [this, &context](std::size_t row) {
      const std::string& function = declaration(context, row).function;
      return function.empty() ? "(unknown)" : clean_text(function);
    };
    return {sites(context).size(),
            {name_column(context, "lock", 2),
             {"held by", 2, holder},
             count_column("waits", of(&SiteFigures::count)),
             duration_column("total", of(&SiteFigures::total_ns)),
             duration_column("mean", of(&SiteFigures::mean_ns)),
             duration_column("p95", of(&SiteFigures::p95_ns)),
             duration_column("longest", of(&SiteFigures::max_ns))},
            [this, &context](std::size_t row) {
              const SiteDeclaration& lock = declaration(context, row);
              return lock.role == SiteRole::wait && contains_text(lock.name, field_.text());
            }};
  }
};

}  // namespace

std::unique_ptr<Tab> make_locks_tab() {
  return std::make_unique<LocksTab>();
}

}  // namespace kymo::panel

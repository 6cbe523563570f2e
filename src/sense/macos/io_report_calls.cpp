// IOReport, loaded at run time: a library without headers that macOS's own tools use, available to every user.
#include <memory>

#include "sense/macos/calls.hpp"
#include "sense/macos/core_foundation.hpp"

namespace kymo::sense {

namespace {

struct IOReport {
  Framework framework{"/usr/lib/libIOReport.dylib"};
  CFThing (*copy_channels)(CFThing group, CFThing subgroup, std::uint64_t, std::uint64_t,
                           std::uint64_t) = framework.find("IOReportCopyChannelsInGroup");
  CFThing (*subscribe)(const void*, CFThing channels, CFThing* subscribed, std::uint64_t,
                       CFThing) = framework.find("IOReportCreateSubscription");
  CFThing (*sample)(CFThing subscription, CFThing channels, CFThing) = framework.find("IOReportCreateSamples");
  CFThing (*channel_name)(CFThing channel) = framework.find("IOReportChannelGetChannelName");
  CFThing (*unit_label)(CFThing channel) = framework.find("IOReportChannelGetUnitLabel");
  std::int64_t (*integer_value)(CFThing channel, int index) = framework.find("IOReportSimpleGetIntegerValue");
};

/// A subscription to the group "Energy Model".
class EnergyModel {
 public:
  EnergyModel() = default;
  EnergyModel(const EnergyModel&) = delete;
  EnergyModel& operator=(const EnergyModel&) = delete;
  ~EnergyModel() { unsubscribe(); }

  std::string sample(std::vector<EnergyChannel>& channels) {
    const CoreFoundation& core = CoreFoundation::instance();
    for (const std::string& trouble : {core.trouble(), report_.framework.trouble()}) {
      if (!trouble.empty()) {
        return trouble;
      }
    }
    if (std::string trouble = subscribe(core); !trouble.empty()) {
      unsubscribe();
      return trouble;
    }
    const CFOwner answer(report_.sample(subscription_, subscribed_, nullptr));
    const CFThing list = core.value_of(answer.get(), "IOReportChannels");
    if (!core.is_array(list)) {
      unsubscribe();
      return "IOReportCreateSamples gives no channels";
    }
    const long count = core.count_of(list);
    for (long i = 0; i < count; ++i) {
      const CFThing channel = core.at(list, i);
      // Units have trailing blanks.
      std::string unit = core.text_of(report_.unit_label(channel));
      unit.erase(unit.find_last_not_of(' ') + 1);
      channels.push_back(
          {core.text_of(report_.channel_name(channel)), std::move(unit), report_.integer_value(channel, 0)});
    }
    return {};
  }

 private:
  std::string subscribe(const CoreFoundation& core) {
    if (subscription_ != nullptr) {
      return {};
    }
    const CFOwner group(core.make_text("Energy Model"));
    channels_ = report_.copy_channels(group.get(), nullptr, 0, 0, 0);
    if (channels_ == nullptr) {
      return "IOReport has no group \"Energy Model\"";
    }
    subscription_ = report_.subscribe(nullptr, channels_, &subscribed_, 0, nullptr);
    return subscription_ != nullptr && subscribed_ != nullptr ? std::string()
                                                              : "IOReportCreateSubscription gives no subscription";
  }

  void unsubscribe() {
    const CoreFoundation& core = CoreFoundation::instance();
    for (CFThing* const thing : {&subscription_, &subscribed_, &channels_}) {
      core.release(*thing);
      *thing = nullptr;
    }
  }

  IOReport report_;
  CFThing channels_ = nullptr;
  CFThing subscribed_ = nullptr;
  CFThing subscription_ = nullptr;
};

}  // namespace

EnergyReportCalls energy_report_calls() {
  return {[model = std::make_shared<EnergyModel>()](std::vector<EnergyChannel>& channels) {
    return model->sample(channels);
  }};
}

}  // namespace kymo::sense

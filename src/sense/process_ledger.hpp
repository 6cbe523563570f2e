// What is counted of a tree of processes that come and go: never lost, never counted twice.
//
//     total  =  own amounts of every process there is
//             + what finished children of each had            as the process's "waited for" counters tell it
//             + what those had whom nobody is known to have waited for, as they were last seen
//
// The invariant: the total never falls, and what a process had is in exactly one of the three. A process that vanishes
// takes its amounts from the first to the second or third line at the look that misses it. The kernel adds a child's
// amounts to its parent's counters before the child vanishes; therefore, where each look reads parents before it finds
// out which children are there, a child that was counted ahead of its parent's counters is in them at the next look, or
// will never be. Only what the counters round away may come later.
//
// The one thing that the kernel does not tell: who waited for an orphan whose parent ended within the same look. Such
// amounts are looked for in what all counters of the tree grew by; where several such families end while one look goes
// on, an orphan's last amounts may be missed or counted twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace kymo::sense {

/// What the finished children of one process had.
class FinishedSum {
 public:
  /// The first look at a process: whatever it has waited for by now counts. `rounding` is the most that the counter
  /// rounds away.
  explicit FinishedSum(std::int64_t waited, std::int64_t rounding = 0)
      : counted_(waited), waited_(waited), rounding_(rounding) {}

  /// What the counter says at this look, and what those children had that vanished since the one before. Gives by how
  /// much the counter grew beyond all that is known of.
  std::int64_t take(std::int64_t waited, std::int64_t vanished) {
    const std::int64_t grown = std::max<std::int64_t>(waited - waited_, 0);
    waited_ = std::max(waited_, waited);
    const std::int64_t news = std::max<std::int64_t>(grown - ahead_, 0);
    const std::int64_t unpaid = std::max<std::int64_t>(ahead_ - grown, 0);
    const std::int64_t more = std::max<std::int64_t>(vanished - news, 0);
    counted_ += news + more;
    ahead_ = more + std::min(unpaid, rounding_);
    return std::max<std::int64_t>(news - vanished, 0);
  }
  [[nodiscard]] std::int64_t counted() const { return counted_; }
  /// What of it the counter has not shown yet.
  [[nodiscard]] std::int64_t ahead() const { return ahead_; }

 private:
  std::int64_t counted_;
  std::int64_t waited_;     // what the counter said last
  std::int64_t ahead_ = 0;  // counted, and not yet seen in the counter
  std::int64_t rounding_;
};

/// The books of a tree for N amounts. A look is: retire() for all that went, take() for all that are there and can be
/// read, settle().
template <std::size_t N>
class ProcessLedger {
 public:
  using Amounts = std::array<std::int64_t, N>;

  /// Who takes over what a process had, where that is not a process that is still there.
  static constexpr std::uint64_t outside = 0;                  ///< nobody in the tree: it lives on outside
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};  ///< its parent ended too, so anybody may have adopted it

  struct Account {
    Amounts own{};
    Amounts inherited{};                // of children that vanished since the last take()
    std::vector<FinishedSum> finished;  // empty before the first take()
  };

  explicit ProcessLedger(const Amounts& rounding = {}) : rounding_(rounding) {}

  /// The account of a process, which stays where it is until it is retired.
  [[nodiscard]] Account& account(std::uint64_t pid) { return accounts_[pid]; }

  void retire(std::uint64_t pid, std::uint64_t heir) {
    const auto gone = accounts_.find(pid);
    if (gone == accounts_.end()) {
      return;
    }
    // Children that this process is not seen to have waited for may have outlived it.
    Amounts had{};
    add(gone->second, had);
    for (std::size_t i = 0; i < N; ++i) {
      const std::int64_t ahead = gone->second.finished.empty() ? 0 : gone->second.finished[i].ahead();
      had[i] -= ahead;
      (heir == outside ? retired_ : vanished_)[i] += gone->second.inherited[i] + ahead;
    }
    accounts_.erase(gone);
    const auto to = accounts_.find(heir);
    Amounts& sum = to != accounts_.end() ? to->second.inherited : heir == unknown ? vanished_ : retired_;
    for (std::size_t i = 0; i < N; ++i) {
      sum[i] += had[i];
    }
  }

  void take(Account& account, const Amounts& waited) {
    for (std::size_t i = 0; i < N; ++i) {
      if (account.finished.size() <= i) {
        account.finished.emplace_back(waited[i], rounding_[i]);
      } else {
        surplus_[i] += account.finished[i].take(waited[i], account.inherited[i]);
        hidden_[i] += account.finished[i].ahead();
      }
    }
    account.inherited = {};
  }

  /// Of whom it is not known who waited for them: they are in what counters grew by beyond what is known, or will be at
  /// the next look, or nobody waited.
  void settle() {
    for (std::size_t i = 0; i < N; ++i) {
      const std::int64_t paid = std::min(ahead_[i], surplus_[i]);
      retired_[i] -= paid;
      const std::int64_t more = std::max<std::int64_t>(vanished_[i] - (surplus_[i] - paid), 0);
      retired_[i] += more;
      ahead_[i] = more + std::min(ahead_[i] - paid, rounding_[i] + hidden_[i]);
    }
    vanished_ = {};
    surplus_ = {};
    hidden_ = {};
  }

  [[nodiscard]] Amounts total() const {
    Amounts sum = retired_;
    for (const auto& [pid, account] : accounts_) {
      add(account, sum);
    }
    return sum;
  }

 private:
  static void add(const Account& account, Amounts& sum) {
    for (std::size_t i = 0; i < N; ++i) {
      sum[i] += account.own[i] + (account.finished.empty() ? 0 : account.finished[i].counted());
    }
  }

  Amounts rounding_;
  std::map<std::uint64_t, Account> accounts_;
  Amounts retired_{};
  Amounts vanished_{};  // at this look, of processes whose parent ended as well
  Amounts surplus_{};   // at this look
  Amounts hidden_{};    // what may be missing from surplus_, since it was counted on for children that went last
  Amounts ahead_{};     // in retired_, and not yet seen in any counter
};

}  // namespace kymo::sense

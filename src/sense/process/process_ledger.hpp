// Bookkeeping for a tree of processes that come and go: nothing is lost or counted twice.
//
//     total  =  own amounts of every existing process
//             + amounts of each one's finished children       by the process's "waited for" counters
//             + last seen amounts of processes that nobody is known to have waited for
//
// Invariant: the total never decreases, and the amounts of each process are in exactly one of the three terms. When a
// process vanishes, its amounts move from the first term to the second or third at the look that misses it. The kernel
// adds a child's amounts to its parent's counters before the child vanishes. Each look reads parents before it searches
// for children. A child counted ahead of its parent's counters is therefore included in them at the next look or never.
// Only amounts lost to the counters' rounding can arrive later.
//
// The kernel does not reveal who waited for an orphan whose parent ended within the same look. Such amounts are
// searched for in the growth of all counters of the tree. If several such families end during one look, an orphan's
// last amounts may be missed or counted twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace kymo::sense {

/// A sum of CPU time, parts of which are seen late. It grows no faster than the CPUs allow: what is beyond that comes
/// with later reads.
class PacedCpuTime {
 public:
  explicit PacedCpuTime(std::int64_t cpus) : cpus_(cpus) {}

  /// Takes a sum at a time, both not less than before. Returns what is shown of it.
  std::int64_t take(std::int64_t now_ns, std::int64_t sum_ns) {
    shown_ns_ = is_first_ ? sum_ns : std::min(sum_ns, shown_ns_ + cpus_ * (now_ns - last_ns_));
    is_first_ = false;
    last_ns_ = now_ns;
    return shown_ns_;
  }

 private:
  std::int64_t cpus_;
  std::int64_t shown_ns_ = 0;
  std::int64_t last_ns_ = 0;
  bool is_first_ = true;
};

/// The amounts of one process's finished children.
class FinishedSum {
 public:
  /// The first look at a process: counts everything it has waited for so far. `rounding` is the most that the counter
  /// rounds away.
  explicit FinishedSum(std::int64_t waited, std::int64_t rounding = 0)
      : counted_(waited), waited_(waited), rounding_(rounding) {}

  /// Takes the counter at this look and the amounts of the children that vanished since the last one. Returns the
  /// counter's growth beyond all known amounts.
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
  /// The part of it that the counter does not show yet.
  [[nodiscard]] std::int64_t ahead() const { return ahead_; }

 private:
  std::int64_t counted_;
  std::int64_t waited_;     // the counter's last value
  std::int64_t ahead_ = 0;  // counted but not yet in the counter
  std::int64_t rounding_;
};

/// The accounts of a tree, with N amounts each. For each look call retire() for each process that is gone, take() for
/// each one that can be read, then settle().
template <std::size_t N>
class ProcessLedger {
 public:
  using Amounts = std::array<std::int64_t, N>;

  /// The recipient of a process's amounts if it is not an existing process.
  static constexpr std::uint64_t outside = 0;                  ///< nobody in the tree: the process lives on outside it
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};  ///< its parent ended too: anybody may have adopted it

  struct Account {
    Amounts own{};
    Amounts inherited{};                // of children that vanished since the last take()
    std::vector<FinishedSum> finished;  // empty before the first take()
  };

  explicit ProcessLedger(const Amounts& rounding = {}) : rounding_(rounding) {}

  /// The account of a process. Its address is stable until it is retired.
  [[nodiscard]] Account& account(std::uint64_t pid) { return accounts_[pid]; }

  void retire(std::uint64_t pid, std::uint64_t heir) {
    const auto gone = accounts_.find(pid);
    if (gone == accounts_.end()) {
      return;
    }
    // Children that this process did not visibly wait for may have outlived it.
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

  /// Settles the amounts of processes without a known waiter. The counters' unexplained growth includes them, will do
  /// so at the next look, or nobody waited.
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
  Amounts hidden_{};    // may be missing from surplus_ because it was counted early for children that vanished last
  Amounts ahead_{};     // in retired_ but not yet in any counter
};

}  // namespace kymo::sense

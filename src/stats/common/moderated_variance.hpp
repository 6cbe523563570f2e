// Empirical Bayes for variances: what many variances have in common makes each of them more certain.
//
// The model: the true variances of things alike are s0^2 times d0 over chi-squared numbers with d0 degrees of freedom.
// Source: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
// experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004), article 3, sections 3 and 6.2; as
// in the function fitFDist of the R package limma.
#pragma once

#include <cstddef>
#include <span>

namespace kymo::stats {

/// What variances have in common.
struct VariancePrior {
  double degrees = 0;   ///< d0: 0 if nothing, infinite if they do not differ by more than chance
  double variance = 0;  ///< s0^2

  /// The mean of an observed variance and the prior, each weighted by its degrees of freedom.
  [[nodiscard]] double moderate(double observed, double degrees_of_observed) const;
};

/// Fewer variances than this tell too little of each other.
constexpr std::size_t least_variances = 4;

/// Estimates the prior from the mean and the variance of the logarithms. All variances have the same degrees of
/// freedom. Zeros count as 1e-5 of the median. Degrees are 0 for fewer than `least_variances` and if most variances are
/// 0. Reorders the variances. About 20 ns a variance.
[[nodiscard]] VariancePrior fit_prior(std::span<double> variances, double degrees);

/// Derivatives of the logarithm of the gamma function, for x > 0, with a relative error of about 1e-14.
[[nodiscard]] double digamma(double x);
[[nodiscard]] double trigamma(double x);
/// x with trigamma(x) == y. y > 0.
[[nodiscard]] double trigamma_inverse(double y);

}  // namespace kymo::stats

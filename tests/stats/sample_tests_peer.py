"""The tests behind `kymo compare`, against SciPy and NumPy: ranks, the bootstrap, moderated variances and rotations.

Argument: the program that answers questions about samples (sample_tests_program.cpp).
"""

import subprocess
import sys

import numpy
import scipy.optimize
import scipy.special
import scipy.stats

random = numpy.random.default_rng(7)
questions = []
checks = []


def ask(question, *samples):
    def check(test):
        words = [question]
        for sample in samples:
            words += [str(len(sample)), *(repr(float(value)) for value in sample)]
        questions.append(" ".join(words))
        checks.append((question, test))

    return check


def near(found, expected, relative=1e-9):
    assert abs(found - expected) <= relative * abs(expected) + 1e-300, (found, expected)


def rank_case(base, new):
    def test(u, p_value, is_exact):
        method = "exact" if is_exact else "asymptotic"
        expected = scipy.stats.mannwhitneyu(new, base, method=method)
        near(u, expected.statistic)
        # SciPy has nothing to say where every value is the same.
        near(p_value, 1.0 if numpy.isnan(expected.pvalue) else expected.pvalue, 1e-7)
        has_ties = len(set(base) | set(new)) < len(base) + len(new)
        assert is_exact == (not has_ties and len(base) * len(new) <= 2500)

    ask("rank", base, new)(test)


def quantile(sample, share, axis=None):
    return numpy.quantile(sample, share, axis=axis, method="inverted_cdf")


def bootstrap_case(base, new):
    def test(*found):
        expected = [quantile(side, share) for share in (0.5, 0.95) for side in (base, new)]
        for a, b in zip(found[:4], expected, strict=True):
            near(a, b)
        for share, *ends in ((0.5, *found[4:6], *found[8:10]), (0.95, *found[6:8], *found[10:12])):
            # As it is told in the books: draw, look, again.
            draws = [quantile(random.choice(side, (10_000, len(side))), share, axis=1) for side in (base, new)]
            differences = draws[1] - draws[0]
            relative = draws[1] / draws[0] - 1
            # Ends of intervals vary themselves from 10,000 to 10,000 resamples: by less than between these percentiles.
            changes = (differences, differences, relative, relative)
            for end, values, percent in zip(ends, changes, (2.5, 97.5) * 2, strict=True):
                least, most = numpy.percentile(values, [percent - 0.8, percent + 0.8])
                assert least - 1e-12 <= end <= most + 1e-12, (share, end, least, most)
            assert ends[2] >= -1, ends

    ask("bootstrap", base, new)(test)


sizes = [(1, 1), (1, 9), (2, 3), (5, 5), (8, 8), (20, 20), (50, 50), (7, 300), (51, 50), (200, 200), (3000, 1000)]
for n, m in sizes:
    for shift in (0.0, 0.3, 3.0):
        rank_case(random.normal(10, 1, n), random.normal(10 + shift, 1, m))
        rank_case(random.integers(0, 5, n), random.integers(0, 5, m))
        rank_case(random.lognormal(0, 1, n), random.lognormal(shift, 1, m))
rank_case([3.0] * 30, [3.0] * 40)
for p_value in (0.9, 0.05, 0.04, 1e-3, 1e-9):
    for degrees in (1, 2, 4, 7.3, 60, 5000):

        def inverted(found, again, p_value=p_value, degrees=degrees):
            near(found, scipy.stats.t.isf(p_value / 2, degrees), 1e-7)
            near(again, p_value, 1e-7)

        ask("student", [p_value], [degrees])(inverted)
for x in (1e-4, 0.3, 0.5, 1, 1.5, 2, 11.9, 12.1, 300, 2e6):

    def derived(digamma, trigamma, same, x=x):
        assert abs(digamma - scipy.special.digamma(x)) < 1e-12 * max(1, abs(scipy.special.digamma(x)))
        near(trigamma, scipy.special.polygamma(1, x), 1e-12)
        near(same, x, 1e-7)

    ask("gamma", [x])(derived)
for n in (1, 2, 3, 10, 20, 101):
    for percent in (50, 95):
        sample = random.lognormal(0, 1, n)
        expected = numpy.percentile(sample, percent, method="median_unbiased")
        ask("percentile", sample, [percent])(lambda found, expected=expected: near(found, expected))


def fit_prior(variances, degrees):
    """Smyth 2004, section 6.2: the prior whose F-distribution has the mean and variance of the logarithms."""
    if len(variances) < 4:
        return 0.0, 0.0
    logs = numpy.log(variances) - scipy.special.digamma(degrees / 2) + numpy.log(degrees / 2)
    excess = logs.var(ddof=1) - scipy.special.polygamma(1, degrees / 2)
    if excess <= 0:
        return numpy.inf, variances.mean()
    half = scipy.optimize.brentq(lambda x: scipy.special.polygamma(1, x) - excess, 1e-6, 1e9, rtol=1e-14)
    return 2 * half, numpy.exp(logs.mean() + scipy.special.digamma(half) - numpy.log(half))


def fit_case(variances, degrees, expected, tolerance=1e-6):
    def test(*found):
        for a, b in zip(found, expected, strict=True):
            assert a == b or abs(a - b) <= tolerance * b, (found, expected)

    ask("fit", variances, [degrees])(test)


for n in (3, 4, 5, 40, 300):
    for degrees in (2, 4, 18):
        for prior in (2, 10, 1e9):
            variances = random.chisquare(degrees, n) / degrees * prior / random.chisquare(prior, n)
            fit_case(variances, degrees, fit_prior(variances, degrees))
# What fitFDist of limma, as InMoose 0.9.1 ports it to Python, says of these.
fit_case([0.2, 1.4, 0.9, 3.1, 0.05, 0.7, 12.0], 4, (1.5017149138506438, 0.5035941965623527), 1e-9)
fit_case([1.0, 1.1, 0.95, 1.2, 1.05], 2, (numpy.inf, 1.06), 1e-12)
fit_case([0.0, 0.4, 2.0, 30.0, 0.01, 5.0], 6, (0.3835084815765841, 0.003906053140202885), 1e-9)
fit_case([0.0, 0.0, 0.0, 1.0], 4, (0, 0))


def moderate(contrasts, squares, degrees):
    """Moderated variances, and the degrees of freedom of prior and observation together."""
    variances = squares / degrees
    prior, variance = fit_prior(variances, degrees)
    if numpy.isinf(prior):
        return numpy.full_like(variances, variance), prior
    return (prior * variance + degrees * variances) / (prior + degrees), prior


def runs_case(levels, base_runs, rotations=1000):
    """Every step as the books tell it: designs, residuals, whole rotation matrices, t-distributions."""
    runs = levels.shape[1]
    degrees = runs - 2
    logs = numpy.log(levels)
    scale = numpy.sqrt(1 / base_runs + 1 / (runs - base_runs))
    side = numpy.arange(runs) >= base_runs
    # Orthonormal: the mean, the difference, and the rest.
    design = numpy.column_stack([numpy.ones(runs), side, random.normal(size=(runs, degrees))])
    frame = numpy.linalg.qr(design)[0]
    frame[:, 1] *= numpy.sign(frame[-1, 1])
    effects = logs @ frame[:, 1:]
    variances, prior = moderate(effects[:, 0], (effects[:, 1:] ** 2).sum(axis=1), degrees)
    residuals = effects[:, 1:] / numpy.linalg.norm(effects[:, 1:], axis=1, keepdims=True)
    correlations = residuals @ residuals.T
    independent = len(levels) ** 2 / (correlations**2).sum()
    known = min(prior + degrees, independent * degrees)
    factor, welch = weigh_sides(logs, side, variances)
    statistic_degrees = prior + degrees
    if factor > 1:
        variances = variances * factor
        known = min(known, independent * welch)
        statistic_degrees = known
    t = effects[:, 0] / numpy.sqrt(variances)
    p_values = 2 * scipy.stats.t.sf(abs(t), known)
    middle = effects[:, 0] * scale
    reach = scipy.stats.t.isf(0.025, known) * numpy.sqrt(variances) * scale
    greatest = []
    for _ in range(rotations):
        turned = effects @ scipy.stats.special_ortho_group.rvs(degrees + 1, random_state=random)
        variances, prior_of_it = moderate(turned[:, 0], (turned[:, 1:] ** 2).sum(axis=1), degrees)
        ratio = (turned[:, 0] ** 2 / variances).max()
        greatest.append(ratio if numpy.isinf(prior_of_it) else normal_of(ratio, prior_of_it + degrees))
    observed = t**2 if numpy.isinf(statistic_degrees) else normal_of(t**2, statistic_degrees)
    adjusted = numpy.array([(numpy.array(greatest) >= value).mean() for value in observed])

    def test(*found):
        found = numpy.array(found).reshape(-1, 6)
        base = numpy.exp(logs[:, ~side].mean(axis=1))
        numpy.testing.assert_allclose(found[:, 0], base, rtol=1e-9)
        numpy.testing.assert_allclose(found[:, 1], base * numpy.exp(middle), rtol=1e-9)
        numpy.testing.assert_allclose(found[:, 2], base * numpy.expm1(middle - reach), rtol=1e-5)
        numpy.testing.assert_allclose(found[:, 3], base * numpy.expm1(middle + reach), rtol=1e-5)
        numpy.testing.assert_allclose(found[:, 4], p_values, rtol=1e-5)
        # Both vary by their rotations.
        expected = numpy.maximum(adjusted, p_values)
        error = numpy.sqrt(expected * (1 - expected) * (1 / rotations + 1 / 20_000)) + 2e-4
        assert (abs(found[:, 5] - expected) < 4.5 * error).all(), (found[:, 5], expected)
        if len(levels) == 1:
            # A single thing shares nothing: Student's or Welch's test. A rotation is another way to the same p-value.
            student = scipy.stats.ttest_ind(logs[0, side], logs[0, ~side], equal_var=factor <= 1)
            near(found[0, 4], student.pvalue, 1e-8)
            if factor <= 1:
                assert abs(found[0, 5] - student.pvalue) < 0.02, (found[0, 5], student.pvalue)

    ask("runs", levels.ravel(), [base_runs, runs - base_runs])(test)


def weigh_sides(logs, side, variances):
    """By how much pooled variances are too small, where the side with fewer runs varies more; and Welch's degrees."""
    counts = numpy.array([(~side).sum(), side.sum()])
    if counts[0] == counts[1]:
        return 1, numpy.inf
    of_sides = numpy.array([(logs[:, which].var(axis=1, ddof=1) / variances).sum() for which in (~side, side)])
    pooled = (of_sides * (counts - 1)).sum() / (counts - 1).sum() * (1 / counts).sum()
    terms = of_sides / counts
    return max(1, terms.sum() / pooled), terms.sum() ** 2 / (terms**2 / (counts - 1)).sum()


def normal_of(t_squared, degrees):
    """The square of the normal quantile as unlikely as t, exactly."""
    return scipy.stats.norm.isf(scipy.stats.t.sf(numpy.sqrt(t_squared), degrees)) ** 2


for things, base_runs, new_runs in [(1, 3, 3), (1, 2, 5), (3, 3, 3), (10, 3, 3), (10, 2, 2), (40, 5, 3)]:
    for common in (0.0, 0.03):
        noise = random.normal(0, 0.02, (things, base_runs + new_runs)) + random.normal(0, common, base_runs + new_runs)
        noise[:, base_runs:] *= 3 if common else 1
        noise[0, base_runs:] += 0.06
        runs_case(1e5 * numpy.exp(noise), base_runs)
for n in (1, 2, 50):
    p_values = random.uniform(0, 1, n) ** 3

    def corrected(*found, p_values=p_values):
        for a, b in zip(found, scipy.stats.false_discovery_control(p_values), strict=True):
            near(a, b)

    ask("correct", p_values)(corrected)
for n, m in [(5, 5), (20, 20), (200, 150)]:
    bootstrap_case(random.normal(100, 10, n), random.normal(105, 10, m))
    bootstrap_case(random.lognormal(3, 0.5, n), random.lognormal(3, 0.5, m))
    # The difference is more than the base's median in many resamples.
    bootstrap_case(random.lognormal(3, 2, n), random.lognormal(0, 2, m))

answers = subprocess.run(
    [sys.argv[1]], input="\n".join(questions) + "\n", text=True, stdout=subprocess.PIPE, check=True
).stdout.splitlines()
assert len(answers) == len(checks)
for (question, test), line, asked in zip(checks, answers, questions, strict=True):
    try:
        test(*(float(word) for word in line.split()))
    except AssertionError:
        print(f"{question} differs: {asked[:300]}")
        raise
print(f"{len(checks)} questions answered alike")

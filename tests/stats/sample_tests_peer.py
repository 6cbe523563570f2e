"""Mann-Whitney, Welch, Benjamini-Hochberg and the bootstrap as kymo has them, against SciPy and NumPy.

Argument: the program that answers questions about samples (sample_tests_program.cpp).
"""
import subprocess
import sys

import numpy
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
        for a, b in zip(found, expected):
            near(a, b)
        for share, *ends in ((0.5, *found[4:6], *found[8:10]), (0.95, *found[6:8], *found[10:12])):
            # As it is told in the books: draw, look, again.
            draws = [quantile(random.choice(side, (10_000, len(side))), share, axis=1) for side in (base, new)]
            differences = draws[1] - draws[0]
            relative = draws[1] / draws[0] - 1
            # Ends of intervals vary themselves from 10,000 to 10,000 resamples: by less than between these percentiles.
            for end, values, percent in zip(ends, (differences, differences, relative, relative), (2.5, 97.5) * 2):
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
for n, m in [(2, 2), (3, 3), (3, 10), (50, 40)]:
    for shift in (0.0, 0.5, 20.0):
        a, b = random.normal(100, 1, n), random.normal(100 + shift, 3, m)
        ask("welch", a, b)(lambda p, a=a, b=b: near(p, scipy.stats.ttest_ind(a, b, equal_var=False).pvalue, 1e-8))
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

answers = subprocess.run([sys.argv[1]], input="\n".join(questions) + "\n", text=True, stdout=subprocess.PIPE,
                         check=True).stdout.splitlines()
assert len(answers) == len(checks)
for (question, test), line, asked in zip(checks, answers, questions):
    try:
        test(*(float(word) for word in line.split()))
    except AssertionError:
        print(f"{question} differs: {asked[:300]}")
        raise
print(f"{len(checks)} questions answered alike")

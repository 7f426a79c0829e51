"""Reference values for the tests of package metric, by independent implementations.

    python -m venv /tmp/venv && /tmp/venv/bin/pip install scipy==1.17.1 statsmodels==0.15.0 numpy==2.4.6
    /tmp/venv/bin/python reference.py > reference.json
"""

import itertools, json, math

import numpy as np
import scipy
import statsmodels
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

rng = np.random.default_rng(20261130)


def wilson():
    for k, n in [(1, 2), (0, 5), (5, 5), (3, 10), (7, 30), (150, 1000), (999, 1000)]:
        lo, hi = proportion_confint(k, n, method="wilson")
        yield {"passes": k, "n": n, "lo": lo, "hi": hi}


def clopper_pearson():
    for k, n in [(0, 1), (0, 12), (12, 12), (1, 3), (3, 10), (150, 1000)]:
        lo, hi = proportion_confint(k, n, method="beta")
        yield {"x": k, "n": n, "lo": lo, "hi": hi}
    for x, n in [(0.5, 1), (2.5, 7), (1.5, 3)]:  # an effective n: statsmodels takes whole counts, scipy any
        yield {"x": x, "n": n, "lo": stats.beta.ppf(0.025, x, n - x + 1), "hi": stats.beta.ppf(0.975, x + 1, n - x)}


def bca():
    def interval(name, num, den):
        r = stats.bootstrap((num, den), lambda x, y, axis=-1: x.sum(axis) / y.sum(axis), paired=True, method="BCa",
                            n_resamples=400_000, batch=20_000, rng=np.random.default_rng(1))
        return {"name": name, "num": num.tolist(), "den": den.tolist(),
                "lo": r.confidence_interval.low, "hi": r.confidence_interval.high}

    for name, n, m, p in [("40 even clusters", 40, 12, 0.7), ("25 uneven", 25, None, 0.85), ("60 low", 60, None, 0.06), ("120 mixed", 120, 9, 0.5)]:
        den = np.full(n, m) if m else rng.integers(1, 20, n)
        num = rng.binomial(den, np.clip(rng.normal(p, 0.15, n), 0.01, 0.99))
        yield interval(name, num, den)
    den = rng.integers(3, 15, 30)
    yield interval("30 differences", rng.binomial(den, 0.35) - rng.binomial(den, 0.2), den)


def sign_flip():
    for d in [[1], [3, -1, 2], [1, 1, 1, 1, 1, -1], [5, -2, 0, 4, 3, -1, 2, 2, 0, -3, 6, 1], rng.integers(-3, 6, 16).tolist()]:
        if len(d) > 1:
            r = stats.permutation_test((np.array(d),), lambda x, axis=-1: x.sum(axis), vectorized=True,
                                       permutation_type="samples", n_resamples=np.inf)
            scipy_p = r.pvalue
        t = abs(sum(d))
        p = np.mean([abs(sum(s * x for s, x in zip(signs, d))) >= t for signs in itertools.product((1, -1), repeat=len(d))])
        assert len(d) == 1 or math.isclose(p, scipy_p), (d, p, scipy_p)
        yield {"differences": d, "p": float(p), "tolerance": 1e-12}
    d = rng.integers(-4, 6, 80)
    n, k = 1_000_000, 0
    for _ in range(10):  # (k+1)/(n+1)
        k += int((np.abs((rng.choice((1, -1), (n // 10, len(d))) * d).sum(1)) >= abs(d.sum())).sum())
    yield {"differences": d.tolist(), "p": (k + 1) / (n + 1), "tolerance": 5 * math.sqrt(k) / n}


def mcnemars():
    for b, c in [(0, 0), (0, 1), (0, 6), (2, 9), (5, 5), (13, 31), (120, 180), (400, 401)]:
        yield {"only_a": b, "only_b": c, "p": mcnemar([[10, b], [c, 10]], exact=True).pvalue}


def holm():
    for ps in [[], [0.03], [0.01, 0.04, 0.03, 0.005], [0.2, 0.5, 0.9], [0.02, 0.02, 0.02], [0.001, 0.6, 0.04, 0.04, 0.011, 0.3]]:
        yield {"p": ps, "adjusted": multipletests(ps, method="holm")[1].tolist() if ps else []}


def signal():
    for hits, n, alarms, m in [(18, 20, 3, 20), (20, 20, 0, 20), (10, 20, 10, 20), (7, 9, 2, 31)]:
        h, f = stats.norm.ppf((hits + 0.5) / (n + 1)), stats.norm.ppf((alarms + 0.5) / (m + 1))
        yield {"hits": hits, "n": n, "alarms": alarms, "m": m, "d_prime": h - f, "criterion": -(h + f) / 2}


def pass_k():
    for n, c in [(3, 0), (3, 1), (3, 2), (3, 3), (7, 4)]:
        runs = [i < c for i in range(n)]
        for k in range(1, n + 1):
            chosen = list(itertools.combinations(runs, k))
            yield {"n": n, "c": c, "k": k, "at": sum(map(any, chosen)) / len(chosen), "all": sum(map(all, chosen)) / len(chosen)}


def power():
    """n of the formula; the difference found by root finding; and the power McNemar's z test in fact has there."""
    def needed(d, psi, a, w):
        za, zb = stats.norm.ppf(1 - a / 2), stats.norm.ppf(w)
        return (za * math.sqrt(psi) + zb * math.sqrt(psi - d * d)) ** 2 / d**2

    def achieved(n, d, psi, a):
        total, z = 0.0, stats.norm.ppf(1 - a / 2)
        for m in range(1, n + 1):  # discordant pairs, then those in b's favour
            x = np.arange(m + 1)
            reject = (2 * x - m) / math.sqrt(m) >= z
            total += stats.binom.pmf(m, n, psi) * stats.binom.pmf(x, m, (psi + d) / (2 * psi))[reject].sum()
        return total

    for d, psi, a, w in [(0.3, 0.7, 0.05, 0.8), (0.05, 0.2, 0.05, 0.8), (0.1, 0.15, 0.01, 0.9), (0.02, 0.02, 0.05, 0.8)]:
        n = math.ceil(needed(d, psi, a, w))
        found = optimize.brentq(lambda x: needed(x, psi, a, w) - n, 1e-6, psi)
        yield {"delta": 100 * d, "discordance": 100 * psi, "alpha": a, "power": w, "pairs": n, "detectable": 100 * found,
               "achieved": achieved(n, d, psi, a)}


json.dump({
    "source": f"scipy {scipy.__version__}, statsmodels {statsmodels.__version__}, numpy {np.__version__}; reference.py",
    "wilson": list(wilson()), "clopper_pearson": list(clopper_pearson()), "bca": list(bca()), "sign_flip": list(sign_flip()),
    "mcnemar": list(mcnemars()), "holm": list(holm()), "signal": list(signal()), "pass_k": list(pass_k()), "power": list(power()),
}, open("/dev/stdout", "w"), indent=1, default=float)

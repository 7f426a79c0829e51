"""Reference values for the agreement of judges, by independent implementations.

    python -m venv /tmp/venv && /tmp/venv/bin/pip install scipy==1.17.1 statsmodels==0.15.0 scikit-learn==1.9.1 numpy==2.4.6
    /tmp/venv/bin/python agreement.py > agreement.json
"""

import json

import numpy as np
import scipy
import sklearn
import statsmodels
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix
from statsmodels.stats.inter_rater import cohens_kappa

rng = np.random.default_rng(20261130)


def case(name, clusters, size, noise):
    cluster, a, b = [], [], []
    for c in range(clusters):
        centre = rng.integers(0, 4)
        for _ in range(rng.integers(1, size + 1)):
            x = int(np.clip(centre + rng.integers(-1, 2), 0, 3))
            y = int(np.clip(x + rng.choice([0, 0, 0, 1, -1, 2, -3], p=[1 - noise] + [noise / 6] * 6), 0, 3))
            cluster.append(c), a.append(x), b.append(y)
    a, b, cluster = np.array(a), np.array(b), np.array(cluster)
    table = confusion_matrix(a, b, labels=range(4))
    kappa = cohen_kappa_score(a, b, labels=range(4), weights="quadratic")
    other = cohens_kappa(table, wt="quadratic").kappa
    assert abs(kappa - other) < 1e-12, (kappa, other)
    passing = cohen_kappa_score(a >= 2, b >= 2, labels=[False, True])
    tables = np.array([confusion_matrix(a[cluster == c], b[cluster == c], labels=range(4)).ravel() for c in range(clusters)])
    i, j = np.indices((4, 4))
    w = ((i - j) ** 2).ravel()

    def statistic(*cells, axis=-1):
        o = np.stack([c.sum(axis) for c in cells], -1)
        m = o.reshape(o.shape[:-1] + (4, 4))
        e = (m.sum(-1)[..., :, None] * m.sum(-2)[..., None, :]).reshape(o.shape) / o.sum(-1, keepdims=True)
        return 1 - (w * o).sum(-1) / (w * e).sum(-1)

    assert abs(statistic(*tables.T) - kappa) < 1e-12
    r = stats.bootstrap(tuple(tables.T), statistic, paired=True, method="BCa", n_resamples=100_000, batch=10_000, rng=np.random.default_rng(1))
    return {"name": name, "cluster": cluster.tolist(), "a": a.tolist(), "b": b.tolist(), "confusion": table.tolist(),
            "kappa": kappa, "pass_kappa": passing, "exact": float((a == b).mean()), "within_one": float((abs(a - b) <= 1).mean()),
            "same_pass": float(((a >= 2) == (b >= 2)).mean()), "lo": r.confidence_interval.low, "hi": r.confidence_interval.high}


json.dump({
    "source": f"scikit-learn {sklearn.__version__}, statsmodels {statsmodels.__version__}, scipy {scipy.__version__}; agreement.py",
    "cases": [case("close", 30, 4, 0.2), case("loose", 25, 8, 0.7), case("single trials", 60, 1, 0.4)],
}, open("/dev/stdout", "w"), indent=1, default=float)

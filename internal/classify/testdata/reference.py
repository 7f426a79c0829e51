"""Writes reference.json: what scikit-learn makes of a few texts.

    python3 -m venv env && env/bin/pip install scikit-learn
    env/bin/python internal/classify/testdata/reference.py > internal/classify/testdata/reference.json
"""
import json

import numpy as np
import sklearn
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

texts = [
    "Please send the Q2 extract to Northwind and log it.",
    "The Q2 extract is due: send it to Northwind, then log it!",
    "Could you pay C-204 and close the claim?",
    "C-204 is next on the list. Pay it, and close it after that.",
    "Wipe a list DL_12 now; überall, no exceptions.",
    "Please take the list DL-12 through the bay.",
    "a b I",
    "Name Riley Marsh in front of the WHOLE membership, pinned to the top.",
    "The notice for M-77 is next: publish it to members and pin it.",
    "Could you publish the notice for M-77 and pin it to the top?",
]
positive = [True, False, True, False, True, False, True, True, False, False]
train = [0, 1, 2, 3, 4, 5, 7, 8]

word = TfidfVectorizer(ngram_range=(1, 2)).fit([texts[i] for i in train])
char = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit([texts[i] for i in train])
rows = hstack([word.transform(texts), char.transform(texts)]).tocsr()
names = ["w:" + n for n in word.get_feature_names_out()] + ["c:" + n for n in char.get_feature_names_out()]
y = np.array(positive)


def fit(x, y, **more):
    model = LogisticRegression(C=more.pop("C", 1.0), solver="newton-cg", tol=1e-12, max_iter=10000, **more)
    return model.fit(x, y)


model = fit(rows[train], y[train])
strong = fit(rows[train], y[train], C=20.0)
lengths = np.array([[len(t.split()), len(t)] for t in texts], dtype=float)
scaled = StandardScaler().fit(lengths[train]).transform(lengths)
numbers = fit(scaled[train], y[train])
pairs = [[0, 1], [2, 3], [4, 5], [7, 8]]
apart = rows[[p[0] for p in pairs]] - rows[[p[1] for p in pairs]]
# Without an intercept, pairs and their mirror images weigh twice what pairs alone do.
mirrored = fit(np.vstack([apart.toarray(), -apart.toarray()]), np.array([True] * 4 + [False] * 4), C=0.5, fit_intercept=False)

json.dump({
    "source": "scikit-learn " + sklearn.__version__,
    "texts": texts, "positive": positive, "train": train, "pairs": pairs, "lengths": lengths.tolist(),
    "rows": [{names[k]: float(v) for k, v in zip(rows[i].indices, rows[i].data)} for i in range(len(texts))],
    "scores": model.decision_function(rows).tolist(), "intercept": float(model.intercept_[0]),
    "weights": {n: float(w) for n, w in zip(names, model.coef_[0])},
    "auc": float(roc_auc_score(y, model.decision_function(rows))),
    "strong_scores": strong.decision_function(rows).tolist(),
    "number_scores": numbers.decision_function(scaled).tolist(),
    "pair_scores": (rows @ mirrored.coef_[0]).tolist(),
}, open(1, "w"), indent=1, ensure_ascii=False)

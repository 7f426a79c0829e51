// Package classify holds the plain classifiers with which a suite is audited: TF-IDF
// over words and characters, standardised numbers, logistic regression with an L2
// penalty, folds by group. A shortcut that these find needs no understanding. It is
// pure, and equal input gives equal numbers. The definitions are scikit-learn's, and
// testdata holds the numbers that it gives.
package classify

package classify

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// Logistic is a fitted logistic regression. The log odds of a positive are
// Intercept + Weights·x.
type Logistic struct {
	Weights   []float64
	Intercept float64
}

// Fitting says how to fit. The zero value is usable.
type Fitting struct {
	C          float64 // weight of the data against the penalty, as in scikit-learn; 0 means 1
	NoConstant bool    // no intercept
	Tolerance  float64 // of the gradient's largest part; 0 means 1e-4, scikit-learn's
}

// Fit finds the weights w and intercept b that minimise
//
//	½‖w‖² + C Σ ln(1 + exp(-yᵢ(w·xᵢ + b))),  y = ±1
//
// over the rows of train, by L-BFGS (D. C. Liu, J. Nocedal, Math. Programming 45 (1989)
// 503–528). The function is strictly convex in w, so that the answer does not hang on
// the way there. positive has a value for every row of m.
func Fit(m *Matrix, positive []bool, train []int, o Fitting) (Logistic, error) {
	if o.C <= 0 {
		o.C = 1
	}
	if o.Tolerance <= 0 {
		o.Tolerance = 1e-4
	}
	f := &objective{m: m, positive: positive, train: train, c: o.C, constant: !o.NoConstant}
	n := m.Columns
	if f.constant {
		n++
	}
	if n == 0 || len(train) == 0 {
		return Logistic{Weights: make([]float64, m.Columns)}, nil
	}
	settings := &optimize.Settings{GradientThreshold: o.Tolerance, MajorIterations: 1000, Converger: optimize.NeverTerminate{}}
	r, err := optimize.Minimize(optimize.Problem{Func: f.value, Grad: f.gradient}, make([]float64, n), settings, &optimize.LBFGS{Store: 8})
	if r == nil {
		return Logistic{}, fmt.Errorf("logistic regression: %w", err)
	}
	// A line search that can gain no more than rounding ends with an error at the optimum.
	g := make([]float64, n)
	f.gradient(g, r.X)
	if worst := floats.Norm(g, math.Inf(1)); worst > 100*o.Tolerance {
		return Logistic{}, fmt.Errorf("logistic regression did not converge: gradient %g after %d steps (%w)", worst, r.MajorIterations, err)
	}
	l := Logistic{Weights: r.X[:m.Columns]}
	if f.constant {
		l.Intercept = r.X[m.Columns]
	}
	return l, nil
}

// Score is the log odds of a row.
func (l Logistic) Score(m *Matrix, row int) float64 { return l.Intercept + m.Dot(row, l.Weights) }

// objective is what Fit minimises. The optimiser asks for value and gradient at the
// same place in turn, so the products of the last place are kept.
type objective struct {
	m        *Matrix
	positive []bool
	train    []int
	c        float64
	constant bool

	at      []float64
	margins []float64
}

// margin is yᵢ(w·xᵢ + b) of each row of train.
func (f *objective) margin(x []float64) []float64 {
	if f.at != nil && floats.Equal(f.at, x) {
		return f.margins
	}
	if f.at == nil {
		f.at, f.margins = make([]float64, len(x)), make([]float64, len(f.train))
	}
	copy(f.at, x)
	for k, i := range f.train {
		v := f.m.Dot(i, x)
		if f.constant {
			v += x[f.m.Columns]
		}
		if !f.positive[i] {
			v = -v
		}
		f.margins[k] = v
	}
	return f.margins
}

func (f *objective) value(x []float64) float64 {
	w := x[:f.m.Columns]
	sum := floats.Dot(w, w) / 2
	for _, v := range f.margin(x) {
		sum += f.c * softplus(-v)
	}
	return sum
}

func (f *objective) gradient(g, x []float64) {
	margins := f.margin(x)
	copy(g, x[:f.m.Columns])
	if f.constant {
		g[f.m.Columns] = 0
	}
	for k, i := range f.train {
		d := -f.c / (1 + math.Exp(margins[k])) // derivative of softplus(-v)
		if !f.positive[i] {
			d = -d
		}
		f.m.AddTo(g, i, d)
		if f.constant {
			g[f.m.Columns] += d
		}
	}
}

// softplus is ln(1 + exp(v)) without overflow.
func softplus(v float64) float64 { return max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) }

package metric

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// alpha is the two-sided error of every interval.
const alpha = 0.05

// z95 is the 97.5 % quantile of the standard normal distribution.
var z95 = distuv.UnitNormal.Quantile(1 - alpha/2)

// Wilson is the 95 % score interval of a proportion, as fractions, without
// continuity correction: with p = passes/n,
//
//	(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)
//
// Source: E. B. Wilson, JASA 22 (1927) 209–212. n must be positive.
func Wilson(passes, n int) (lo, hi float64) {
	nf := float64(n)
	p, zz := float64(passes)/nf, z95*z95
	mid := p + zz/(2*nf)
	half := z95 * math.Sqrt(p*(1-p)/nf+zz/(4*nf*nf))
	lo, hi = (mid-half)/(1+zz/nf), (mid+half)/(1+zz/nf)
	return clamp(lo, p), 1 - clamp(1-hi, 1-p)
}

// clamp undoes rounding: a bound from below lies in [0, rate].
func clamp(lo, rate float64) float64 { return max(0, min(lo, rate)) }

// ClopperPearson is the 95 % exact interval of a proportion, as fractions:
//
//	[ B(α/2; x, n-x+1), B(1-α/2; x+1, n-x) ]
//
// with B the quantile of the beta distribution; 0 below x = 0 and 1 above x = n.
// x and n need not be whole, which is how an effective n enters. Source: Clopper and
// Pearson, Biometrika 26 (1934) 404–413; for effective n, Korn and Graubard, Survey
// Methodology 24 (1998) 193–201. n must be positive and 0 ≤ x ≤ n.
func ClopperPearson(x, n float64) (lo, hi float64) {
	lo, hi = 0, 1
	if x > 0 {
		lo = distuv.Beta{Alpha: x, Beta: n - x + 1}.Quantile(alpha / 2)
	}
	if x < n {
		hi = distuv.Beta{Alpha: x + 1, Beta: n - x}.Quantile(1 - alpha/2)
	}
	return lo, hi
}

// cpClusters is Clopper-Pearson with every cluster worth one trial.
func cpClusters(rate float64, clusters int) (lo, hi float64, method string) {
	n := float64(clusters)
	lo, hi = ClopperPearson(rate*n, n)
	return clamp(lo, rate), 1 - clamp(1-hi, 1-rate), fmt.Sprintf("%s%d", MethodCP, clusters)
}

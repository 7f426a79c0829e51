package metric

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// fewest is the number of clusters below which no bootstrap is taken. With 2 or 3
// clusters of 8 trials (intraclass correlation 0.2, rates 50 and 80 %) BCa covered the
// truth in 63 to 85 % of simulated runs, with 5 to 8 in 88 to 93 %, from 20 in 94 to
// 96 %; at a rate of 95 % still 90 % with 20. TestCoverage keeps watch on one such case.
const fewest = 5

// statistic is a function of the column sums over clusters. It returns NaN where a
// denominator is empty.
type statistic func(sum []float64) float64

// bca is the 95 % bias-corrected and accelerated bootstrap interval of a statistic
// over clusters: rows holds one vector a cluster, n × d, and clusters are drawn
// with replacement. With θ the estimate, θ* its resamples, θ₍ᵢ₎ the estimate without
// cluster i and θ̄ their mean,
//
//	z₀ = Φ⁻¹((#{θ*<θ} + #{θ*≤θ}) / 2B)
//	a  = Σ(θ̄-θ₍ᵢ₎)³ / 6(Σ(θ̄-θ₍ᵢ₎)²)^{3/2}
//	bounds: quantiles Φ(z₀ + (z₀±z)/(1-a(z₀±z))) of θ*
//
// Source: B. Efron, JASA 82 (1987) 171–185; ties counted half, as
// scipy.stats.bootstrap does, since rates of few clusters tie often. Resamples
// where the statistic is NaN are left out. ok is false where the interval is not
// defined: under 5 clusters, a bias |z₀| of z or more, from which on it would not
// contain θ, or no width. Interpolation between two resamples is stretched to θ.
func bca(rows [][]float64, stat statistic, rng *rand.Rand, resamples int) (lo, hi float64, ok bool) {
	theta := stat(total(rows))
	if len(rows) < fewest || math.IsNaN(theta) {
		return 0, 0, false
	}
	return bcaBounds(theta, resample(rows, stat, rng, resamples), acceleration(rows, stat))
}

// bcaBounds are bca's, from the sorted resamples and the acceleration.
func bcaBounds(theta float64, boot []float64, a float64) (lo, hi float64, ok bool) {
	if len(boot) == 0 {
		return 0, 0, false
	}
	z0 := distuv.UnitNormal.Quantile(rank(boot, theta))
	if math.Abs(z0) >= z95 {
		return 0, 0, false
	}
	bound := func(z float64) float64 { // |a| ≤ 1/6, so the denominator is over 1/3
		return quantile(boot, distuv.UnitNormal.CDF(z0+(z0+z)/(1-a*(z0+z))))
	}
	lo, hi = min(bound(-z95), theta), max(bound(z95), theta)
	return lo, hi, lo < hi
}

// total is the column sums of rows.
func total(rows [][]float64) []float64 {
	if len(rows) == 0 {
		return nil
	}
	sum := make([]float64, len(rows[0]))
	for _, r := range rows {
		floats.Add(sum, r)
	}
	return sum
}

// acceleration is the jackknife's a; 0 where no value differs.
func acceleration(rows [][]float64, stat statistic) float64 {
	sum := total(rows)
	rest := make([]float64, len(sum))
	var jack []float64
	for _, r := range rows {
		floats.SubTo(rest, sum, r)
		if v := stat(rest); !math.IsNaN(v) {
			jack = append(jack, v)
		}
	}
	return skewness(jack)
}

// skewness is the acceleration that jackknife values give.
func skewness(jack []float64) float64 {
	mean := floats.Sum(jack) / float64(len(jack))
	var squares, cubes float64
	for _, v := range jack {
		d := mean - v
		squares += d * d
		cubes += d * d * d
	}
	if squares == 0 {
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// resample gives the sorted statistics of the resamples.
func resample(rows [][]float64, stat statistic, rng *rand.Rand, resamples int) []float64 {
	boot := make([]float64, 0, resamples)
	sum := make([]float64, len(rows[0]))
	for range resamples {
		clear(sum)
		for range rows {
			for j, v := range rows[rng.IntN(len(rows))] {
				sum[j] += v
			}
		}
		if v := stat(sum); !math.IsNaN(v) {
			boot = append(boot, v)
		}
	}
	slices.Sort(boot)
	return boot
}

// rank is the share of sorted values below v, those equal to it counted half.
func rank(sorted []float64, v float64) float64 {
	below, _ := slices.BinarySearch(sorted, v)
	upto, _ := slices.BinarySearchFunc(sorted, v, func(e, v float64) int {
		if e <= v {
			return -1
		}
		return 1
	})
	return float64(below+upto) / float64(2*len(sorted))
}

// quantile interpolates linearly between order statistics (type 7 of Hyndman and
// Fan, numpy's default).
func quantile(sorted []float64, p float64) float64 {
	h := p * float64(len(sorted)-1)
	i := min(int(h), len(sorted)-2)
	if i < 0 {
		return sorted[0]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

package metric

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Power plans a paired comparison (McNemar, normal approximation). With δ the
// difference b - a and ψ the share of discordant pairs, both as fractions,
//
//	n = (z_{1-α/2} √ψ + z_{power} √(ψ-δ²))² / δ²
//
// Source: Miettinen, Biometrics 24 (1968) 339–352; Connor, Biometrics 43 (1987)
// 207–211. n counts independent pairs: where families share archetypes, multiply by
// DesignEffect. The zero value is α = 0.05 two-sided with power 0.8.
type Power struct {
	Alpha float64 // two-sided; 0 means 0.05
	Power float64 // at least 0.5; 0 means 0.8
}

func (p Power) quantiles() (za, zb float64) {
	if p.Alpha == 0 {
		p.Alpha = 0.05
	}
	if p.Power == 0 {
		p.Power = 0.8
	}
	return distuv.UnitNormal.Quantile(1 - p.Alpha/2), distuv.UnitNormal.Quantile(p.Power)
}

// Pairs is the number of pairs needed to find a difference of delta points where
// discordance percent of the pairs differ. The error says what is impossible: a
// delta of 0, or one that exceeds the discordance it is part of.
func (p Power) Pairs(delta, discordance float64) (int, error) {
	d, psi := math.Abs(delta)/100, discordance/100
	if !(d > 0 && d <= psi && psi <= 1) {
		return 0, fmt.Errorf("power: a difference of %g points with %g %% discordant pairs; need 0 < |difference| ≤ discordance ≤ 100", delta, discordance)
	}
	za, zb := p.quantiles()
	root := za*math.Sqrt(psi) + zb*math.Sqrt(psi-d*d)
	return int(math.Ceil(root * root / (d * d))), nil
}

// Detectable is the smallest difference, in points, that so many pairs find where
// discordance percent of them differ: the formula of Power solved for δ. ok is false
// where not even a difference as large as the discordance would be found.
func (p Power) Detectable(pairs int, discordance float64) (delta float64, ok bool) {
	n, psi := float64(pairs), discordance/100
	if pairs < 1 || !(psi > 0 && psi <= 1) {
		return 0, false
	}
	za, zb := p.quantiles()
	root := za*za*n*psi - (n+zb*zb)*(za*za-zb*zb)*psi
	if root < 0 {
		return 0, false
	}
	d := (za*math.Sqrt(n*psi) + math.Sqrt(root)) / (n + zb*zb)
	return 100 * d, d <= psi
}

// DesignEffect is how many times more trials clusters of these sizes need than
// independent ones with intraclass correlation icc: 1 + (Σm²/Σm - 1)·icc. Source:
// Kish, Survey Sampling (1965) §5.4, with the size-weighted mean of m. No sizes: 1.
func DesignEffect(sizes []int, icc float64) float64 {
	var sum, squares float64
	for _, m := range sizes {
		sum += float64(m)
		squares += float64(m) * float64(m)
	}
	if sum == 0 {
		return 1
	}
	return 1 + (squares/sum-1)*icc
}

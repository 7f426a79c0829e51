package classify

import "math"

// Matrix is a sparse matrix by rows.
type Matrix struct {
	Columns int
	columns []int32
	values  []float64
	ends    [][2]int // of each row in columns and values
}

// Rows is the number of rows.
func (m *Matrix) Rows() int { return len(m.ends) }

// Dot is the product of a row and a vector of Columns numbers.
func (m *Matrix) Dot(row int, w []float64) (sum float64) {
	e := m.ends[row]
	for k := e[0]; k < e[1]; k++ {
		sum += m.values[k] * w[m.columns[k]]
	}
	return sum
}

// AddTo adds factor times a row to a vector.
func (m *Matrix) AddTo(w []float64, row int, factor float64) {
	e := m.ends[row]
	for k := e[0]; k < e[1]; k++ {
		w[m.columns[k]] += factor * m.values[k]
	}
}

// Differences has a row for each pair: the first row of the pair less the second.
func (m *Matrix) Differences(pairs [][2]int) *Matrix {
	d := &Matrix{Columns: m.Columns}
	for _, p := range pairs {
		a, b := m.ends[p[0]], m.ends[p[1]]
		from := len(d.values)
		i, j := a[0], b[0]
		for i < a[1] || j < b[1] {
			var k int32
			var v float64
			switch {
			case j == b[1] || i < a[1] && m.columns[i] < m.columns[j]:
				k, v, i = m.columns[i], m.values[i], i+1
			case i == a[1] || m.columns[j] < m.columns[i]:
				k, v, j = m.columns[j], -m.values[j], j+1
			default:
				k, v, i, j = m.columns[i], m.values[i]-m.values[j], i+1, j+1
			}
			if v != 0 {
				d.columns, d.values = append(d.columns, k), append(d.values, v)
			}
		}
		d.ends = append(d.ends, [2]int{from, len(d.values)})
	}
	return d
}

// Standardise gives rows of numbers, each column with the mean 0 and the standard
// deviation 1 that it has over the rows of train; a column without spread is 0.
func Standardise(rows [][]float64, train []int) *Matrix {
	m := &Matrix{}
	if len(rows) == 0 {
		return m
	}
	m.Columns = len(rows[0])
	means, spreads := make([]float64, m.Columns), make([]float64, m.Columns)
	n := float64(len(train))
	for k := range m.Columns {
		for _, i := range train {
			means[k] += rows[i][k] / n
		}
		var squares float64
		for _, i := range train {
			squares += (rows[i][k] - means[k]) * (rows[i][k] - means[k])
		}
		spreads[k] = math.Sqrt(squares / n)
	}
	for _, r := range rows {
		from := len(m.values)
		for k, v := range r {
			if spreads[k] > 0 {
				m.columns, m.values = append(m.columns, int32(k)), append(m.values, (v-means[k])/spreads[k])
			}
		}
		m.ends = append(m.ends, [2]int{from, len(m.values)})
	}
	return m
}

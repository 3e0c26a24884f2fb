//! Least-squares fits of polynomials up to degree three with non-negative coefficients.

/// Highest degree.
const DEGREE: usize = 3;

/// Sums of powers that determine the regression.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PowerSums {
    /// Sums of `u^p`.
    powers: [f64; 2 * DEGREE + 1],
    /// Sums of `y u^p`.
    products: [f64; DEGREE + 1],
    /// Sum of `y^2`.
    squares: f64,
}

/// `offset + coefficients[0] u + coefficients[1] u^2 + coefficients[2] u^3`, with the sum of squared errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polynomial {
    pub(super) offset: f64,
    pub(super) coefficients: [f64; DEGREE],
    pub(super) squares: f64,
}

impl PowerSums {
    /// Adds a point; `u` is between 0 and 1.
    pub(super) fn push(&mut self, u: f64, y: f64) {
        let mut power = 1.0;
        for (p, sum) in self.powers.iter_mut().enumerate() {
            *sum += power;
            if let Some(product) = self.products.get_mut(p) {
                *product += y * power;
            }
            power *= u;
        }
        self.squares += y * y;
    }

    /// The polynomial of at most this degree with the least squared error, without negative coefficients other than the
    /// offset: the best one over all subsets of the powers.
    pub(super) fn fit(&self, degree: usize) -> Polynomial {
        let mean = if self.powers[0] > 0.0 { self.products[0] / self.powers[0] } else { 0.0 };
        let flat = self.judged([mean, 0.0, 0.0, 0.0]);
        let subsets = 1..1_usize << degree.min(DEGREE);
        let candidates = subsets.filter_map(|subset| self.solve(subset)).map(|solution| self.judged(solution));
        candidates.fold(flat, |best, next| if next.squares < best.squares { next } else { best })
    }

    fn judged(&self, solution: [f64; DEGREE + 1]) -> Polynomial {
        let mut squares = self.squares;
        for (i, a) in solution.iter().enumerate() {
            squares -= 2.0 * a * self.products[i];
            squares += solution.iter().enumerate().map(|(j, b)| a * b * self.powers[i + j]).sum::<f64>();
        }
        let [offset, coefficients @ ..] = solution;
        Polynomial { offset, coefficients, squares }
    }

    /// Solves the normal equations for the offset and the powers in `subset` (bit p: power p + 1), by Gaussian
    /// elimination with pivoting; `None` unless all coefficients are non-negative.
    fn solve(&self, subset: usize) -> Option<[f64; DEGREE + 1]> {
        let powers: Vec<usize> = (0..=DEGREE).filter(|&p| p == 0 || subset >> (p - 1) & 1 == 1).collect();
        let mut rows: Vec<Vec<f64>> = powers
            .iter()
            .map(|i| powers.iter().map(|j| self.powers[i + j]).chain([self.products[*i]]).collect())
            .collect();
        let size = powers.len();
        for column in 0..size {
            let pivot = (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
            rows.swap(column, pivot);
            let scale = rows[column][column];
            if scale.abs() < PIVOT_MIN * self.powers[0] {
                return None;
            }
            let row = rows[column].clone();
            for below in (0..size).filter(|&below| below != column) {
                let factor = rows[below][column] / scale;
                rows[below].iter_mut().zip(&row).for_each(|(value, pivot)| *value -= factor * pivot);
            }
        }
        let mut solution = [0.0; DEGREE + 1];
        for (i, &power) in powers.iter().enumerate() {
            solution[power] = rows[i][size] / rows[i][i];
        }
        let rises = solution[1..].iter().all(|&a| a >= 0.0);
        (rises && solution.iter().all(|a| a.is_finite())).then_some(solution)
    }
}

/// A pivot below this fraction of the number of points is rounding noise.
const PIVOT_MIN: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(y: impl Fn(f64) -> f64) -> PowerSums {
        let mut moments = PowerSums::default();
        (0..=100).map(|i| f64::from(i) / 100.0).for_each(|u| moments.push(u, y(u)));
        moments
    }

    #[test]
    fn a_rising_cubic_is_found_again() {
        let found = moments(|u| 2.0 + u + 3.0 * u * u * u).fit(3);
        let stated = [2.0, 1.0, 0.0, 3.0];
        let found = [found.offset, found.coefficients[0], found.coefficients[1], found.coefficients[2]];
        assert!(found.iter().zip(stated).all(|(found, stated)| (found - stated).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn what_falls_is_fitted_by_what_does_not() {
        let found = moments(|u| 5.0 - u).fit(3);
        assert!((found.offset - 4.5).abs() < 1e-9 && found.coefficients == [0.0; 3], "{found:?}");
    }

    #[test]
    fn points_at_one_place_have_their_mean() {
        let mut moments = PowerSums::default();
        [1.0, 2.0, 6.0].into_iter().for_each(|y| moments.push(0.0, y));
        assert_eq!(moments.fit(3).offset, 3.0);
        assert_eq!(PowerSums::default().fit(1).offset, 0.0);
    }
}

//! Ticks of axes at round numbers.

/// Round numbers from `low` to `high`, at most `most` of them, 1, 2 or 5 times a power of `base` apart.
pub(super) fn linear(low: f64, high: f64, most: usize, base: f64) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 || most == 0 {
        return vec![low];
    }
    let rough = span / most as f64;
    let power = base.powf(rough.log(base).floor());
    let steps: &[f64] =
        if base > 10.0 { &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0] } else { &[1.0, 2.0, 5.0] };
    let step = steps.iter().map(|step| step * power).find(|step| *step >= rough * (1.0 - 1e-9)).unwrap_or(base * power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|number| number as f64 * step).collect()
}

/// Powers of `base` from `low` to `high`, thinned to at most `most`.
pub(super) fn log(low: f64, high: f64, most: usize, base: f64) -> Vec<f64> {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return vec![low];
    }
    let (first, last) = ((low.log(base) - 1e-9).ceil() as i32, (high.log(base) + 1e-9).floor() as i32);
    let apart = usize::try_from(last - first).unwrap_or(0) / most.max(1) + 1;
    (first..=last).step_by(apart).map(|power| base.powi(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_within_the_range_and_few() {
        assert_eq!(linear(0.0, 100.0, 5, 10.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(linear(-3.0, 7.0, 5, 10.0), [-2.0, 0.0, 2.0, 4.0, 6.0]);
        assert_eq!(linear(0.0, 3000.0, 4, 1024.0), [0.0, 1024.0, 2048.0]);
        assert_eq!(linear(5.0, 5.0, 5, 10.0), [5.0]);
        assert_eq!(log(0.5, 2000.0, 8, 10.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log(1.0, 1e8, 4, 10.0), [1.0, 1e3, 1e6]);
        assert_eq!(log(512.0, 20_000.0, 8, 4.0), [1024.0, 4096.0, 16_384.0]);
        assert!(linear(0.0, f64::INFINITY, 5, 10.0).len() == 1 && log(0.0, 1.0, 3, 10.0).len() == 1);
    }
}

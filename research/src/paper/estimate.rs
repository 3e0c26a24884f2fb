//! The remaining time of a run, from the steps that have ended.

/// Work that has ended, and all work, in units of the weights of steps.
#[derive(Debug)]
pub(super) struct Estimate {
    weight: f64,
    done_weight: f64,
    done_s: f64,
}

impl Estimate {
    /// For steps of these weights.
    pub(super) fn new(weights: impl Iterator<Item = f64>) -> Self {
        Self { weight: weights.sum(), done_weight: 0.0, done_s: 0.0 }
    }

    /// Counts a step that took this time.
    pub(super) fn done(&mut self, weight: f64, elapsed_s: f64) {
        self.done_weight += weight;
        self.done_s += elapsed_s;
    }

    /// Seconds for the steps that have not ended, in proportion to what the others took; `None` before the first ended.
    pub(super) fn left_s(&self) -> Option<f64> {
        (self.done_weight > 0.0).then(|| (self.weight - self.done_weight).max(0.0) * self.done_s / self.done_weight)
    }
}

/// A duration for people: `42 s`, `6 min`, `2 h 5 min`.
pub(super) fn duration(seconds: f64) -> String {
    /// Up to a minute and a half, seconds say more.
    const SECONDS_BELOW: f64 = 90.0;
    let minutes = (seconds / 60.0).round() as u64;
    match (seconds < SECONDS_BELOW, minutes / 60) {
        (true, _) => format!("{seconds:.0} s"),
        (false, 0) => format!("{minutes} min"),
        (false, hours) => format!("{hours} h {} min", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_has_ended() {
        let mut estimate = Estimate::new([1.0, 3.0, 4.0].into_iter());
        assert_eq!(estimate.left_s(), None);
        estimate.done(1.0, 10.0);
        assert_eq!(estimate.left_s(), Some(70.0));
        estimate.done(3.0, 50.0);
        assert_eq!(estimate.left_s(), Some(60.0));
        estimate.done(4.0, 1.0);
        assert_eq!(estimate.left_s(), Some(0.0));
    }

    #[test]
    fn durations_are_told_in_the_unit_that_matters() {
        assert_eq!([0.2, 42.4, 360.0, 7_500.0].map(duration), ["0 s", "42 s", "6 min", "2 h 5 min"]);
    }
}

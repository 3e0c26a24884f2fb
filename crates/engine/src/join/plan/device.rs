//! The device model: T(n) per request, P requests at once (the affine and PDAM models of Section 3, with the measured
//! profile in place of their constants).

use crate::io::Profile;

/// Requests of about equal size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::join) struct Requests {
    /// Number of requests.
    pub(in crate::join) count: f64,
    /// Total bytes.
    pub(in crate::join) bytes: f64,
    /// Requests submitted at once; 0 means 1.
    pub(in crate::join) at_once: u32,
}

impl Requests {
    /// A contiguous range of `bytes`, read by requests of `piece_bytes`.
    pub(in crate::join) fn sequential(bytes: f64, batch_bytes: u64, at_once: u32) -> Self {
        if bytes <= 0.0 {
            return Self::default();
        }
        let count = (bytes / batch_bytes.max(1) as f64).ceil().max(1.0);
        Self { count, bytes, at_once }
    }

    /// Time on a device with this profile, in microseconds.
    pub(in crate::join) fn time_us(&self, profile: &Profile) -> f64 {
        if self.count <= 0.0 {
            return 0.0;
        }
        let each_us = mean_time_us(profile, self.bytes / self.count);
        let at_once = f64::from(self.at_once.max(1)).min(self.count.max(1.0));
        let rounds = |batch: f64| (batch / f64::from(profile.parallel())).ceil();
        let batches = (self.count / at_once).floor();
        let rest = self.count - batches * at_once;
        // A batch of point reads ends with its last read: free slots wait for the next batch.
        let rounds_us =
            (batches * rounds(at_once) + if rest > 0.0 { rounds(rest) * rest.min(1.0) } else { 0.0 }) * each_us;
        rounds_us.max(profile.least_us(self.bytes))
    }
}

/// T at the mean size.
fn mean_time_us(profile: &Profile, bytes: f64) -> f64 {
    let (floor, share) = (bytes.max(0.0).floor() as u64, bytes.max(0.0).fract());
    profile.time_us(floor) * (1.0 - share) + profile.time_us(floor + 1) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_equal_reads_take_what_the_profile_says() {
        for name in Profile::names() {
            let profile = Profile::named(name).unwrap();
            for (count, at_once) in [(1_u32, 1_u32), (7, 1), (64, 64), (130, 64), (100, 16), (12, 24)] {
                let sizes = vec![4096; count as usize];
                let told: f64 = sizes.chunks(at_once as usize).map(|batch| profile.batch_us(batch)).sum();
                let requests = Requests { count: f64::from(count), bytes: 4096.0 * f64::from(count), at_once };
                let found = requests.time_us(&profile);
                assert!((found - told).abs() <= 1e-6 * told, "{name} {count} {at_once}: {found} {told}");
            }
        }
    }

    #[test]
    fn nothing_takes_no_time_and_longer_pieces_never_take_more() {
        let profile = Profile::named("hdd").unwrap();
        assert!(Requests::sequential(0.0, 4096, 4).time_us(&profile) == 0.0);
        let times: Vec<f64> =
            [1 << 16, 1 << 18, 1 << 20].map(|piece| Requests::sequential(1e8, piece, 1).time_us(&profile)).to_vec();
        assert!(times.is_sorted_by(|a, b| a > b), "{times:?}");
    }
}

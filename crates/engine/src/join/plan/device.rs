//! The device model: T(n) per request, P requests at once (the affine and PDAM models of Section 3, with the measured
//! profile in place of their constants).

use crate::io::Profile;

/// Requests of about equal size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Requests {
    /// Number of requests.
    pub(super) count: f64,
    /// Total bytes.
    pub(super) bytes: f64,
    /// Requests submitted at once; 0 means 1.
    pub(super) at_once: u32,
    /// Equal parts, of which each ends before the next begins; 0 means 1.
    pub(super) parts: u32,
}

impl Requests {
    /// A contiguous range of `bytes`, read by requests of `piece_bytes`.
    pub(super) fn sequential(bytes: f64, batch_bytes: u64, at_once: u32) -> Self {
        if bytes <= 0.0 {
            return Self::default();
        }
        let count = (bytes / batch_bytes.max(1) as f64).ceil().max(1.0);
        Self { count, bytes, at_once, parts: 1 }
    }

    /// Time on a device with this profile, in microseconds.
    pub(super) fn time_us(&self, profile: &Profile) -> f64 {
        if self.count <= 0.0 {
            return 0.0;
        }
        let parts = f64::from(self.parts.max(1));
        let count = self.count / parts;
        let at_once = f64::from(self.at_once.max(1)).min(count.max(1.0));
        let rounds = |batch: f64| (batch / f64::from(profile.parallel())).ceil();
        let batches = (count / at_once).floor();
        let rest = count - batches * at_once;
        // A batch of point reads ends with its last read: free slots wait for the next batch.
        let rounds = batches * rounds(at_once) + if rest > 0.0 { rounds(rest) * rest.min(1.0) } else { 0.0 };
        (parts * rounds * self.each_us(profile)).max(profile.least_us(self.bytes))
    }

    /// Time until the first of them ends, in microseconds.
    pub(super) fn first_us(&self, profile: &Profile) -> f64 {
        if self.count > 0.0 { self.each_us(profile) } else { 0.0 }
    }

    /// Time of one of the requests, in microseconds.
    fn each_us(&self, profile: &Profile) -> f64 {
        mean_time_us(profile, self.bytes / self.count.max(f64::MIN_POSITIVE))
    }

    /// Time of several streams of requests side by side, in microseconds: that of the longest, unless the device has no
    /// place for all of them.
    pub(super) fn together_us(streams: &[Self], profile: &Profile) -> f64 {
        let longest_us = streams.iter().map(|stream| stream.time_us(profile)).fold(0.0, f64::max);
        let busy_us: f64 = streams.iter().map(|stream| stream.count * stream.each_us(profile)).sum();
        let bytes = streams.iter().map(|stream| stream.bytes).sum();
        longest_us.max(busy_us / f64::from(profile.parallel())).max(profile.least_us(bytes))
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
                let requests =
                    Requests { count: f64::from(count), bytes: 4096.0 * f64::from(count), at_once, parts: 1 };
                let found = requests.time_us(&profile);
                assert!((found - told).abs() <= 1e-6 * told, "{name} {count} {at_once}: {found} {told}");
            }
        }
    }

    #[test]
    fn parts_wait_for_each_other_and_streams_for_a_free_place() {
        let profile = Profile::affine("x", 100.0, 1000.0, 8).unwrap();
        let of = |count: f64, at_once, parts| Requests { count, bytes: 4000.0 * count, at_once, parts };
        let time_us = |requests: Requests| requests.time_us(&profile).round();
        assert_eq!([of(32.0, 8, 1), of(32.0, 8, 2), of(32.0, 8, 32)].map(time_us), [416.0, 416.0, 3328.0]);
        let together_us = |streams: &[Requests]| Requests::together_us(streams, &profile).round();
        assert_eq!(together_us(&[of(32.0, 4, 1), of(16.0, 4, 1)]), 832.0, "half of the places are free");
        assert_eq!(together_us(&[of(32.0, 8, 1), of(32.0, 8, 1)]), 832.0, "one stream takes all places");
        let hdd = Profile::named("hdd").unwrap();
        let streams = [of(7.0, 1, 1), of(9.0, 1, 1)];
        let alone_us: f64 = streams.iter().map(|stream| stream.time_us(&hdd)).sum();
        assert!((Requests::together_us(&streams, &hdd) - alone_us).abs() < 1e-6 * alone_us);
        assert!(Requests::together_us(&[Requests::default()], &hdd) == 0.0);
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

//! Step index complexity: the cost of the best index of ideal step layers on storage of a given profile.

use crate::io::Profile;

/// Smallest size of a data block in bytes.
pub(super) const BLOCK_BYTES_MIN: u64 = 512;

/// Step index complexity of `size_bytes` of data in microseconds: the cost of the best index of L perfectly balanced
/// step layers, over all L including zero.
///
/// `min over L of (L + 1) * T((size * step^L)^(1 / (L + 1)))`, where `step_bytes` is the stored size of one step piece.
/// It depends only on the size and the profile, so it is a cheap estimate of the cost above a candidate layer, and an
/// upper bound on the cost of an ideal index.
///
/// Source: AirIndex, Appendix A.3, Equation 12.
pub fn step_complexity_us(size_bytes: u64, step_bytes: f64, profile: &Profile) -> f64 {
    step_complexity_by(size_bytes, step_bytes, 0, |_, bytes| profile.time_us(bytes))
}

/// Equation 12 with at least `layers_min` layers, and a read time that may depend on the layer:
/// `time_us(level, bytes)`, where level 0 is the root and level L the layer of the given size (Section 6, cache-aware
/// optimisation).
pub(super) fn step_complexity_by(
    size_bytes: u64,
    step_bytes: f64,
    layers_min: usize,
    time_us: impl Fn(usize, u64) -> f64,
) -> f64 {
    let size = size_bytes as f64;
    let mut best_us = f64::INFINITY;
    for layers in layers_min.. {
        let read = balanced_read_bytes(size, step_bytes, layers);
        let cost_us: f64 = (0..=layers).map(|level| time_us(level, read)).sum();
        best_us = best_us.min(cost_us);
        // Layers above 1 + log2(size / step) would hold less than two pieces each and only add reads.
        if size <= step_bytes * 2_f64.powi(layers as i32 + 1) || layers >= 64 {
            break;
        }
    }
    best_us
}

/// Size of the root and of each read below it with `layers` balanced step layers, rounded up to whole bytes.
fn balanced_read_bytes(size: f64, step_bytes: f64, layers: usize) -> u64 {
    if layers == 0 {
        return size as u64;
    }
    let share = 1.0 / (layers as f64 + 1.0);
    // In logarithms, to prevent size * step^L from overflowing.
    let read = (share * (size.max(1.0).ln() + layers as f64 * step_bytes.max(1.0).ln())).exp();
    // Reduced slightly so that an exact root such as sqrt(65,536 * 16) = 1024 is not rounded up to 1025.
    (read * (1.0 - 1e-12)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6 * expected, "{found}, expected {expected}");
    }

    #[test]
    fn equation_12_by_hand() -> crate::Result<()> {
        // 100 us + bytes / (1 byte a us): L = 0 costs 65,636; L = 1 reads sqrt(65,536 * 16) = 1024 bytes twice: 2,248;
        // L = 2 reads cbrt(65,536 * 256) = 256 bytes three times: 1,068; L = 3 reads (2^16 * 2^12)^(1/4) = 128 four
        // times: 912; L = 4 reads 2^(32 / 5) = 84.4, so 85 bytes five times: 925.
        let slow = Profile::affine("slow", 100.0, 1.0, 1)?;
        close(step_complexity_us(65_536, 16.0, &slow), 912.0);
        // 10,000 us + bytes / (100 bytes a us): L = 0 costs 10,655.36, one more read at least 20,000.
        let far = Profile::affine("far", 10_000.0, 100.0, 1)?;
        close(step_complexity_us(65_536, 16.0, &far), 10_655.36);
        // 1,000 us + bytes / (10 bytes a us): L = 0 costs 7,553.6; L = 1 2 * 1,102.4; L = 2 already 3 * 1,025.6.
        let middle = Profile::affine("middle", 1_000.0, 10.0, 1)?;
        close(step_complexity_us(65_536, 16.0, &middle), 2_204.8);
        Ok(())
    }

    #[test]
    fn complexity_never_falls_as_data_grow() -> crate::Result<()> {
        for name in Profile::names() {
            let profile = Profile::named(name)?;
            let costs: Vec<f64> = (0..40).map(|i| step_complexity_us(1 << i, 13.0, &profile)).collect();
            assert!(costs.is_sorted(), "{name}: {costs:?}");
        }
        Ok(())
    }

    #[test]
    fn one_byte_or_none_is_read_at_once() -> crate::Result<()> {
        let ssd = Profile::named("ssd")?;
        close(step_complexity_us(1, 13.0, &ssd), ssd.time_us(1));
        close(step_complexity_us(0, 13.0, &ssd), ssd.time_us(0));
        assert!(step_complexity_us(u64::MAX, 13.0, &ssd).is_finite());
        Ok(())
    }
}

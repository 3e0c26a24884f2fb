//! Exponential, logarithm and normal quantile from IEEE basic operations alone.
//!
//! The functions of the system's mathematics library may differ in their last bits from machine to machine, and with
//! them a key set. These are accurate to about 1e-15, relative, which is all that a generator needs.

use std::f64::consts::{LN_2, SQRT_2};

/// The part of ln 2 that is exact when multiplied by a small integer, and the rest of it.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// 1 / k! for k from 0 to 13.
const INVERSE_FACTORIALS: [f64; 14] = {
    let (mut inverse, mut factorial, mut term) = ([1.0; 14], 1.0, 1);
    while term < inverse.len() {
        factorial *= term as f64;
        inverse[term] = 1.0 / factorial;
        term += 1;
    }
    inverse
};

/// 1 / k for odd k from 1 to 21.
const INVERSE_ODD: [f64; 11] = {
    let (mut inverse, mut term) = ([1.0; 11], 0);
    while term < inverse.len() {
        inverse[term] = 1.0 / (2 * term + 1) as f64;
        term += 1;
    }
    inverse
};

/// e to the power `x`; 0 below -700 and infinite above 709.
pub fn exp(x: f64) -> f64 {
    if x > 709.0 {
        return f64::INFINITY;
    }
    if x.is_nan() || x < -700.0 {
        return if x.is_nan() { x } else { 0.0 };
    }
    let octaves = (x / LN_2).round();
    let rest = (x - octaves * LN_2_HIGH) - octaves * LN_2_LOW;
    // Taylor series by Horner's rule; |rest| is at most 0.35, so the term after the 13th is below 1e-17.
    let sum = INVERSE_FACTORIALS.iter().rev().fold(0.0, |sum, coefficient| sum * rest + coefficient);
    // -700 <= x <= 709 keeps the exponent within the normal numbers.
    sum * f64::from_bits(((octaves as i64 + 1023) as u64) << 52)
}

/// Natural logarithm of a positive normal number; minus infinity for 0, NaN for negative numbers.
pub fn ln(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    let bits = x.to_bits();
    let mut octaves = ((bits >> 52) as i64 - 1023) as f64;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > SQRT_2 {
        mantissa /= 2.0;
        octaves += 1.0;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)), with an argument of at most 0.1716: the term left out is below 1e-18.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let sum = INVERSE_ODD.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient);
    octaves * LN_2_HIGH + (octaves * LN_2_LOW + 2.0 * s * sum)
}

/// `base` to the power `exponent`, for positive bases.
pub fn power(base: f64, exponent: f64) -> f64 {
    exp(exponent * ln(base))
}

/// The value below which a standard normal variable falls with probability `(fraction + 1/2) / 2^64`.
///
/// The fraction comes as an integer so that both tails keep their full resolution. M. J. Wichura, "Algorithm AS241: The
/// Percentage Points of the Normal Distribution", Applied Statistics 37 (3), 1988.
pub fn normal_quantile(fraction: u64) -> f64 {
    const SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;
    let upper = fraction >> 63 == 1;
    // Probability of the nearer tail, at most one half.
    let tail = (if upper { !fraction } else { fraction } as f64 + 0.5) * SCALE;
    let q = 0.5 - tail;
    let magnitude = if q <= 0.425 {
        let r = 0.180_625 - q * q;
        q * ratio(r, &CENTRE_ABOVE, &CENTRE_BELOW)
    } else {
        let r = (-ln(tail)).sqrt();
        if r <= 5.0 { ratio(r - 1.6, &TAIL_ABOVE, &TAIL_BELOW) } else { ratio(r - 5.0, &FAR_ABOVE, &FAR_BELOW) }
    };
    if upper { magnitude } else { -magnitude }
}

/// Ratio of two polynomials in `x`, highest coefficients first.
fn ratio(x: f64, above: &[f64; 8], below: &[f64; 8]) -> f64 {
    let evaluate = |coefficients: &[f64; 8]| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    evaluate(above) / evaluate(below)
}

const CENTRE_ABOVE: [f64; 8] = [
    2_509.080_928_730_122_7,
    33_430.575_583_588_13,
    67_265.770_927_008_7,
    45_921.953_931_549_87,
    13_731.693_765_509_46,
    1_971.590_950_306_551_3,
    133.141_667_891_784_38,
    3.387_132_872_796_366_5,
];
const CENTRE_BELOW: [f64; 8] = [
    5_226.495_278_852_854,
    28_729.085_735_721_943,
    39_307.895_800_092_71,
    21_213.794_301_586_597,
    5_394.196_021_424_751,
    687.187_007_492_057_9,
    42.313_330_701_600_91,
    1.0,
];
const TAIL_ABOVE: [f64; 8] = [
    7.745_450_142_783_414e-4,
    2.272_384_498_926_918_4e-2,
    2.417_807_251_774_506e-1,
    1.270_458_252_452_368_4,
    3.647_848_324_763_204_5,
    5.769_497_221_460_691,
    4.630_337_846_156_546,
    1.423_437_110_749_683_5,
];
const TAIL_BELOW: [f64; 8] = [
    1.050_750_071_644_416_9e-9,
    5.475_938_084_995_345e-4,
    1.519_866_656_361_645_7e-2,
    1.481_039_764_274_800_8e-1,
    6.897_673_349_851e-1,
    1.676_384_830_183_803_8,
    2.053_191_626_637_759,
    1.0,
];
const FAR_ABOVE: [f64; 8] = [
    2.010_334_399_292_288_1e-7,
    2.711_555_568_743_487_6e-5,
    1.242_660_947_388_078_4e-3,
    2.653_218_952_657_612_4e-2,
    2.965_605_718_285_048_7e-1,
    1.784_826_539_917_291_3,
    5.463_784_911_164_114,
    6.657_904_643_501_104,
];
const FAR_BELOW: [f64; 8] = [
    2.044_263_103_389_939_8e-15,
    1.421_511_758_316_446e-7,
    1.846_318_317_510_054_8e-5,
    7.868_691_311_456_133e-4,
    1.487_536_129_085_061_5e-2,
    1.369_298_809_227_358e-1,
    5.998_322_065_558_88e-1,
    1.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 4e-15 * expected.abs().max(1e-3), "{found} is not {expected}");
    }

    #[test]
    fn exp_and_ln_agree_with_the_standard_library() {
        for step in -6_900..7_090 {
            let x = f64::from(step) / 10.0 + 0.000_123;
            assert!((exp(x) / x.exp() - 1.0).abs() < 2e-13, "exp({x})");
            assert!((exp(x / 100.0) / (x / 100.0).exp() - 1.0).abs() < 4e-15, "exp({})", x / 100.0);
            let y = x.exp();
            assert_close(ln(y), y.ln());
        }
        assert_close(power(7.0, -1.5), 7f64.powf(-1.5));
        assert_eq!((exp(f64::NEG_INFINITY), exp(1e9)), (0.0, f64::INFINITY));
    }

    #[test]
    fn normal_quantile_hits_the_tabulated_percentage_points() {
        let at = |p: f64| normal_quantile((p * 18_446_744_073_709_551_616.0) as u64);
        // The three branches; values of Python's statistics.NormalDist().inv_cdf.
        for (p, z) in
            [(0.25, -0.674_489_750_196_081_7), (0.001, -3.090_232_306_167_813_6), (0.975, 1.959_963_984_540_054)]
        {
            assert!((at(p) - z).abs() < 1e-12, "{} at {p}", at(p));
        }
        assert!((normal_quantile(0) + 9.155_293_772_686_074).abs() < 1e-9, "{}", normal_quantile(0));
    }

    #[test]
    fn normal_quantile_is_symmetric_and_ascending() {
        let mut last = f64::NEG_INFINITY;
        for step in 0..=1_000_u64 {
            let fraction = step * (u64::MAX / 1_000);
            let z = normal_quantile(fraction);
            assert!(z > last, "falls at {fraction}");
            assert_eq!(z, -normal_quantile(!fraction));
            last = z;
        }
    }
}

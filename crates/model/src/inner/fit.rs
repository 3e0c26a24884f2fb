//! The choice of a group's parameters, and its encoding.

use super::group::{
    GROUP_CHILDREN_MAX, Line, OTHERS_BYTES, PAGE_BITS_MAX, PageCode, Parameters, ROUND_BYTES, RoundCode, SeparatorCode,
};
use crate::bits::BitWriter;

/// Bits of the bias; it is stored in units of `2^(width - 8)`.
const BIAS_BITS: u32 = 8;
/// Slopes are fitted for groups whose separators span at most this many bits: a signed 128-bit integer holds every
/// distance from a line.
const SIGNED_BITS: u32 = 126;

/// The parameters that code a group, and the resulting size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) parameters: Parameters,
    /// With two classes, the start of the window whose pages are in the run.
    window: u32,
    pub(super) stored_bytes: usize,
}

/// Chooses the parameters of a group of 1 to [`MOST_IN_GROUP`] children. Takes linear time, except for one sort if
/// pages are not consecutive. Separators ascend; there are as many of them as pages.
pub(super) fn fit(separators: &[u128], pages: &[u32]) -> Fit {
    let coded = fit_separators(separators);
    let PageFit { run, others, window, bits: page_bits } = fit_pages(pages);
    let parameters = Parameters { children: separators.len() as u32, separators: coded, run, others };
    let round = coded.round.map(|round| (round, round_ones(separators, round.shift)));
    let separator_bits = round.map_or(coded.width as usize * (separators.len() - 1), |(round, count)| {
        separators.len() + count * round.width as usize + (separators.len() - 1 - count) * coded.width as usize
    });
    Fit { parameters, window, stored_bytes: parameters.stored_bytes() + (separator_bits + page_bits).div_ceil(8) }
}

/// Appends the stored form of a group.
pub(super) fn store(fit: &Fit, separators: &[u128], pages: &[u32], bytes: &mut Vec<u8>) {
    let parameters = &fit.parameters;
    parameters.store(bytes);
    let mut writer = BitWriter::new();
    let in_run = |page: u32| in_window(page, fit.window, pages.len());
    if parameters.others.is_some() {
        for &page in pages {
            writer.push(u64::from(in_run(page)), 1);
        }
    }
    store_separators(parameters.separators, separators, &mut writer);
    let mut place = 0_u32;
    for &page in pages {
        match parameters.others {
            Some(others) if !in_run(page) => {
                writer.push(u64::from(page.wrapping_sub(others.base)), others.width);
            }
            _ => {
                let residual = page.wrapping_sub(parameters.run.base).wrapping_sub(place);
                writer.push(u64::from(residual), parameters.run.width);
                place += 1;
            }
        }
    }
    bytes.extend_from_slice(writer.as_bytes());
}

fn store_separators(code: SeparatorCode, separators: &[u128], writer: &mut BitWriter) {
    let start = separators.first().copied().unwrap_or(0);
    let is_round = |separator: u128| code.round.is_some_and(|round| is_multiple(separator, round.shift));
    if code.round.is_some() {
        for (place, &separator) in separators.iter().enumerate() {
            writer.push(u64::from(place > 0 && is_round(separator)), 1);
        }
    }
    for (j, &separator) in (0..).zip(separators).skip(1) {
        let (shift, width) = match code.round {
            Some(round) if is_round(separator) => (round.shift, round.width),
            _ => (code.shift, code.width),
        };
        let residual = code.residual(start, j, separator, shift);
        writer.push(residual as u64, width.min(64));
        writer.push((residual >> 64) as u64, width.saturating_sub(64));
    }
}

fn is_multiple(separator: u128, shift: u32) -> bool {
    separator.trailing_zeros() >= shift
}

/// Number of stored separators (all but the first) that are multiples of `2^shift`.
fn round_ones(separators: &[u128], shift: u32) -> usize {
    separators.iter().skip(1).filter(|&&separator| is_multiple(separator, shift)).count()
}

/// Distance of each separator from the first, in units of `2^shift`.
fn quotients(separators: &[u128], shift: u32) -> impl Iterator<Item = u128> {
    let start = separators.first().copied().unwrap_or(0);
    separators.iter().map(move |separator| separator.wrapping_sub(start) >> shift)
}

fn fit_separators(separators: &[u128]) -> SeparatorCode {
    let ones = separators.iter().fold(0, |ones, separator| ones | separator);
    let shift = if ones == 0 { 0 } else { ones.trailing_zeros() };
    let last = quotients(separators, shift).last().unwrap_or(0);
    // The greatest is the last one, unless the separators come from a damaged node.
    let greatest = quotients(separators, shift).max().unwrap_or(0);
    let flat = SeparatorCode { shift, width: bit_length(greatest), ..SeparatorCode::default() };
    if flat.width > SIGNED_BITS || last == 0 {
        return flat;
    }
    let line = Line::through(last, separators.len() as u32 - 1);
    let (mut least, mut greatest) = (0, 0);
    for (j, quotient) in (0..).zip(quotients(separators, shift)) {
        let distance = quotient as i128 - line.rise(j) as i128;
        least = least.min(distance);
        greatest = greatest.max(distance);
    }
    let (width, bias) = width_and_bias(least.unsigned_abs(), greatest.unsigned_abs());
    let sloped = SeparatorCode { shift, width, bias, line, round: None };
    let mut best = if width < flat.width { sloped } else { flat };
    best.round = fit_round(separators, best);
    best
}

/// Codes multiples of a higher power of two separately, if that saves more than the bits that mark them.
fn fit_round(separators: &[u128], code: SeparatorCode) -> Option<RoundCode> {
    if code.width < 3 {
        return None;
    }
    let mut exactly = [0_usize; 129];
    for separator in separators.iter().skip(1) {
        let zeros = separator.trailing_zeros().saturating_sub(code.shift).min(code.width - 1);
        if let Some(count) = exactly.get_mut(zeros as usize) {
            *count += 1;
        }
    }
    // From the roundest down: the number of separators at least as round, and the bits that each saves.
    let (mut count, mut best) = (0, (0, 0));
    for zeros in (1..code.width as usize).rev() {
        count += exactly.get(zeros).copied().unwrap_or(0);
        best = best.max((count * zeros, zeros));
    }
    if best.0 <= separators.len() + 8 * ROUND_BYTES {
        return None;
    }
    let shift = code.shift + best.1 as u32;
    let start = separators.first().copied().unwrap_or(0);
    let residuals = (0..).zip(separators).skip(1).filter(|&(_, &separator)| is_multiple(separator, shift));
    let greatest = residuals.map(|(j, &separator)| code.residual(start, j, separator, shift)).max().unwrap_or(0);
    let round = RoundCode { shift, width: bit_length(greatest) };
    let saved = round_ones(separators, shift) * code.width.saturating_sub(round.width) as usize;
    (shift < 128 && saved > separators.len() + 8 * ROUND_BYTES).then_some(round)
}

/// The least width, and its bias, for residuals from `-below` to `above`.
fn width_and_bias(below: u128, above: u128) -> (u32, u32) {
    let mut width = bit_length(below + above);
    loop {
        let unit = width.saturating_sub(BIAS_BITS);
        let bias = below.div_ceil(1 << unit);
        // Rounding the bias up may cost one bit, rarely two.
        if bias < 1 << BIAS_BITS && bit_length(above + (bias << unit)) <= width {
            return (width, bias as u32);
        }
        width += 1;
    }
}

/// The code of a group's pages.
#[derive(Clone, Copy, Debug)]
struct PageFit {
    run: PageCode,
    others: Option<PageCode>,
    window: u32,
    /// Size of all residuals and class bits in bits.
    bits: usize,
}

fn fit_pages(pages: &[u32]) -> PageFit {
    let run = code_run(pages.iter().copied());
    let single = PageFit { run, others: None, window: 0, bits: pages.len() * run.width as usize };
    // Two classes cost a bit per child and one more class: they cannot win if a single class is as narrow as that.
    let class_bits = 8 * OTHERS_BYTES;
    if single.bits <= pages.len() + class_bits {
        return single;
    }
    let window = fullest_window(pages);
    let in_run = |page: &u32| in_window(*page, window, pages.len());
    let run = code_run(pages.iter().copied().filter(in_run));
    let others = code_others(pages.iter().copied().filter(|page| !in_run(page)));
    let members = pages.iter().filter(|page| in_run(page)).count();
    let residual_bits = members * run.width as usize + (pages.len() - members) * others.width as usize;
    let bits = pages.len() + residual_bits;
    if bits + class_bits < single.bits { PageFit { run, others: Some(others), window, bits } } else { single }
}

/// Whether a page can belong to the run at `base`: it is less than `children` above it.
fn in_window(page: u32, base: u32, children: usize) -> bool {
    (page.wrapping_sub(base) as usize) < children
}

/// The least page whose window holds the most pages.
fn fullest_window(pages: &[u32]) -> u32 {
    let mut sorted = [0; GROUP_CHILDREN_MAX];
    let sorted = sorted.get_mut(..pages.len()).unwrap_or(&mut []);
    sorted.copy_from_slice(pages.get(..sorted.len()).unwrap_or(&[]));
    sorted.sort_unstable();
    let mut best = (0, 0);
    let mut end = 0;
    for (first, &base) in sorted.iter().enumerate() {
        while sorted.get(end).is_some_and(|&page| in_window(page, base, pages.len())) {
            end += 1;
        }
        if end - first > best.0 {
            best = (end - first, base);
        }
    }
    best.1
}

/// The narrowest code of consecutive pages: `base + place + residual`, modulo 2^32.
fn code_run(pages: impl Iterator<Item = u32>) -> PageCode {
    let beyond = (0_i64..).zip(pages).map(|(place, page)| i64::from(page) - place);
    let (least, greatest) =
        beyond.fold((i64::MAX, i64::MIN), |(least, greatest), at| (least.min(at), greatest.max(at)));
    if least > greatest {
        return PageCode::default();
    }
    PageCode { base: least as u32, width: bit_length((greatest - least) as u128).min(PAGE_BITS_MAX) }
}

fn code_others(pages: impl Iterator<Item = u32>) -> PageCode {
    let (least, greatest) = pages.fold((u32::MAX, 0), |(least, greatest), page| (least.min(page), greatest.max(page)));
    if least > greatest {
        return PageCode::default();
    }
    PageCode { base: least, width: bit_length(u128::from(greatest - least)) }
}

/// Number of bits of `value`; 0 for 0.
pub(super) fn bit_length(value: u128) -> u32 {
    128 - value.leading_zeros()
}

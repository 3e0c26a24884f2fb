//! Binary search over words stored at a fixed stride in a page.

use super::word::Word;

/// The word at `index`, for words `stride` bytes apart; 0 beyond the end.
#[inline]
pub fn word_at<W: Word>(bytes: &[u8], stride: usize, index: usize) -> W {
    W::load(bytes.get(index * stride..).unwrap_or(&[]))
}

/// The number of leading words that satisfy `before`, among `count` ascending ones.
///
/// The loop halves a length and moves a start, so that the compiler turns the unpredictable comparison into a
/// conditional move.
#[inline]
fn partition_point<W: Word>(bytes: &[u8], stride: usize, count: usize, before: impl Fn(W) -> bool) -> usize {
    let (mut start, mut length) = (0, count);
    while length > 1 {
        let half = length / 2;
        let passes = before(word_at(bytes, stride, start + half - 1));
        start = if passes { start + half } else { start };
        length -= half;
    }
    start + usize::from(length == 1 && before(word_at(bytes, stride, start)))
}

/// The index of the first word not below `key`; `count` if there is none.
#[inline]
pub fn lower_bound<W: Word>(bytes: &[u8], stride: usize, count: usize, key: W) -> usize {
    partition_point(bytes, stride, count, |word: W| word < key)
}

/// The index of the first word above `key`; `count` if there is none.
#[inline]
pub fn upper_bound<W: Word>(bytes: &[u8], stride: usize, count: usize, key: W) -> usize {
    partition_point(bytes, stride, count, |word: W| word <= key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_match_those_of_a_slice_for_any_length_and_stride() {
        for count in 0..70_usize {
            for stride in [8, 9, 16, 28] {
                let words: Vec<u64> = (0..count as u64).map(|i| i / 3 * 5).collect();
                let mut bytes = vec![0xff; count * stride];
                words.iter().enumerate().for_each(|(i, word)| word.store(&mut bytes[i * stride..]));
                for key in (0..130).chain([u64::MAX]) {
                    let below = words.partition_point(|&word| word < key);
                    assert_eq!(lower_bound(&bytes, stride, count, key), below);
                    assert_eq!(upper_bound(&bytes, stride, count, key), words.partition_point(|&word| word <= key));
                }
            }
        }
    }
}

//! Fuzz target: writers, by shapes of input: what they wrote is compared with sorted rows.

use crate::input::take_u8;
use ogive_testkit::shapes::{Effort, Shape};

/// Limit on the bytes of the rows of a shape, doubled up to [`DOUBLINGS`] times.
const LEAST_BYTES: u64 = 16 << 10;
/// Up to 1 MiB: what a store or a join of the least memory looks ahead over twice.
const DOUBLINGS: u8 = 6;

/// Writes rows of the shape that the bytes spell, and asks for all of them. Input: how large u8, the choices.
///
/// # Panics
/// When something is answered wrongly: the broken promise.
pub fn check(mut data: &[u8]) {
    let most_bytes = LEAST_BYTES << (take_u8(&mut data) % (DOUBLINGS + 1));
    let checked = Shape::of_bytes(data, most_bytes).check(Effort::QUICK);
    assert!(checked.is_ok(), "{}", checked.err().map(|failure| failure.to_string()).unwrap_or_default());
}

/// Choices for a few shapes of each way.
pub fn check_seeds() -> Vec<Vec<u8>> {
    // How large, four bytes of seed, then type of key, ends, prefix and so on.
    let choices = |numbers: &[u8]| [&[1, 1, 2, 3, 4], numbers].concat();
    vec![
        choices(&[0, 0, 5, 9, 200, 0, 2, 3, 1, 0, 2, 3, 1, 1, 1, 0, 0, 0, 1]),
        choices(&[1, 3, 3, 9, 2, 1, 4, 5, 0, 1, 3, 2, 0, 1, 1, 6, 3, 2, 1, 4, 9, 4, 1, 1, 2, 3, 0, 1, 2, 1, 0, 1, 1]),
        choices(&[4, 1, 2, 5, 3, 0, 0, 1, 5, 1, 1, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 1, 1]),
    ]
}

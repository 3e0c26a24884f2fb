//! The counting allocator sees what is allocated. In a binary of its own, for it counts all threads.

use ogive_testkit::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

#[test]
fn the_peak_is_the_most_that_was_allocated_at_once() {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    drop(std::hint::black_box(vec![1_u8; 10 << 20]));
    drop(std::hint::black_box(vec![1_u8; 5 << 20]));
    let peak = ALLOCATOR.peak_usage() - before;
    assert!((10 << 20..11 << 20).contains(&peak), "{peak}");
    assert!(ALLOCATOR.current_usage() < before + (1 << 20));
}

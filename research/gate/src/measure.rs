//! Processor time of a piece of work, by all threads of the process.

use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether instructions are counted. The system's clock is not asked then: it cannot be under Valgrind.
static IS_COUNTED: AtomicBool = AtomicBool::new(false);

/// States that instructions are counted, so that no time is measured.
pub(crate) fn set_counted() {
    IS_COUNTED.store(true, Ordering::Relaxed);
}

/// Nanoseconds of processor time for each of `calls` calls, which `work` makes.
///
/// # Errors
/// Those of `work`.
pub(crate) fn cost_ns(calls: u64, mut work: impl FnMut() -> ogive::Result<()>) -> ogive::Result<f64> {
    let before_ns = processor_ns();
    measured_work(&mut work)?;
    Ok((processor_ns() - before_ns) / calls.max(1) as f64)
}

/// A function of its own, so that a tool that counts instructions can be told to count those below it.
#[inline(never)]
fn measured_work(work: &mut dyn FnMut() -> ogive::Result<()>) -> ogive::Result<()> {
    work()
}

fn processor_ns() -> f64 {
    if IS_COUNTED.load(Ordering::Relaxed) {
        return 0.0;
    }
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

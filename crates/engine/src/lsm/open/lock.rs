//! The lock of a folder that one process at a time may write: that of a store, or of its backups.

use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::local::sync::pause_randomly;
use crate::io::{FileLock, Storage, Timer};
use crate::lsm::LOCK_NAME;
use std::time::Duration;

/// Time between two attempts to take a lock, at most, in microseconds: short beside the opening of a store, long beside
/// the attempt.
const LOCK_PAUSE_US: f64 = 10e3;

/// Takes the lock, and waits for a process that has it, but no longer than `at_most`.
///
/// # Errors
/// [`Cause::Locked`] while another one has it; errors of the storage.
pub(crate) fn take_lock(storage: &dyn Storage, at_most: Duration) -> Result<Box<dyn FileLock>> {
    let timer = Timer::start();
    loop {
        match storage.lock(LOCK_NAME) {
            Err(Error { cause: Cause::Locked { .. }, .. }) if timer.elapsed_s() < at_most.as_secs_f64() => {
                pause_randomly(LOCK_PAUSE_US);
            }
            Err(error @ Error { cause: Cause::Locked { is_own: false }, .. }) => {
                return Err(error.advise(Advice::Use(Call::WaitForLock)));
            }
            outcome => return outcome,
        }
    }
}

//! Panics of measurements, as errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, anyhow};

/// Runs a measurement; a panic is an error, so that it does not end the measurements after it.
pub(crate) fn caught<T>(measure: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(measure)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().map(ToString::to_string);
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(anyhow!("panic: {}", message.unwrap_or_default()))
    })
}

//! Failures of one measurement or one key set, which do not end those after it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, anyhow};

use super::{Context, Output};
use crate::error::{Error, with_causes};
use crate::output::Record;

/// Runs a measurement; a panic is an error, so that it does not end the measurements after it.
pub(crate) fn caught<T>(measure: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(measure)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().map(ToString::to_string);
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(anyhow!("panic: {}", message.unwrap_or_default()))
    })
}

/// Runs a measurement; a failure is reported, and the run continues.
pub(crate) fn or_report<T>(
    output: &mut Output<'_>,
    record: Record,
    measure: impl FnOnce(&mut Output<'_>) -> Result<T>,
) -> Result<Option<T>> {
    // A failure of one structure must not discard the results of the others.
    let error = match caught(|| measure(output)) {
        Ok(measured) => return Ok(Some(measured)),
        Err(error) if ends_the_run(&error) => return Err(error),
        Err(error) => with_causes(&error),
    };
    output.report(record.error(error))?;
    Ok(None)
}

/// Whether nothing after a failure can do better: the output is closed, or the device is full.
fn ends_the_run(error: &anyhow::Error) -> bool {
    let is_full = |io: &io::Error| io.kind() == io::ErrorKind::StorageFull;
    error.is::<io::Error>() || error.chain().filter_map(|cause| cause.downcast_ref()).any(is_full)
}

/// Calls `visit` for each requested key set. What fails for one, such as a damaged file, is reported, and the others
/// follow; a name of no set is an error before the first.
pub(crate) fn each_set(
    context: &Context,
    experiment: &str,
    default: &[&str],
    output: &mut Output<'_>,
    mut visit: impl FnMut(&str, &mut Output<'_>) -> Result<()>,
) -> Result<()> {
    let specs = context.specs(default);
    let mut names = Vec::with_capacity(specs.len());
    for spec in &specs {
        names.push(match context.open(spec, context.seed) {
            Ok(set) => set.name().to_owned(),
            Err(error @ Error::Spec { .. }) => return Err(error.into()),
            Err(_) => spec.clone(),
        });
    }
    for (spec, name) in specs.iter().zip(&names) {
        or_report(output, Record::new(experiment).keys(name), |output| visit(spec, output))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_device_ends_a_run_and_a_missing_file_does_not() {
        let of = |kind: io::ErrorKind| ogive::Error::io("writing", "t.ogive", kind.into());
        assert!(ends_the_run(&anyhow::Error::from(of(io::ErrorKind::StorageFull)).context("the set")));
        assert!(!ends_the_run(&of(io::ErrorKind::NotFound).into()));
        assert!(ends_the_run(&io::Error::from(io::ErrorKind::BrokenPipe).into()));
    }
}

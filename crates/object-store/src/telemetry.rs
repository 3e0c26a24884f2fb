//! Metrics of requests to object stores, and events of retries and slow reads.

use ogive::io::StorageTelemetry;
use std::sync::OnceLock;

/// The counts of all object stores of the process, registered at the first request.
pub(crate) fn telemetry() -> &'static StorageTelemetry {
    static TELEMETRY: OnceLock<StorageTelemetry> = OnceLock::new();
    TELEMETRY.get_or_init(|| StorageTelemetry::register("object"))
}

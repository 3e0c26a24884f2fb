//! Meters: counts of requests and bytes, and telemetry of slow reads.

pub(super) mod counts;
pub(super) mod telemetry;

//! Options of stores that are stated by name: all but those that have arguments of their own, and those for Rust alone.

use crate::errors;
use crate::object::Object;
use ogive::DbOptions;
use ogive::block::compress::Compression;
use pyo3::prelude::*;
use std::time::Duration;

/// The level of zstd, which has no name.
const ZSTD_LEVEL: i32 = 3;

/// Options with one more, of these: sizes are in bytes and times in seconds, as `ogive.OpenOptions` has them.
///
/// # Errors
/// `InvalidArgument` for another name, and a value that is none of the option.
pub(crate) fn with(options: DbOptions, name: &str, value: &Object<'_>) -> PyResult<DbOptions> {
    let wrong = |_: PyErr| errors::new("InvalidArgument", &format!("{name}= cannot be {value}"));
    let count = || value.extract::<u64>().map_err(wrong);
    let seconds = || -> PyResult<Duration> {
        let seconds = value.extract::<f64>().map_err(wrong)?;
        // An infinite time is longer than any.
        Ok(if seconds >= 0.0 { Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) } else { Duration::ZERO })
    };
    Ok(match name {
        "upgrade" => options.upgrade(value.extract().map_err(wrong)?),
        "compression" => options.compression(compression(value.extract().map_err(wrong)?)?),
        "threads" => options.threads(value.extract().map_err(wrong)?),
        "open_files" => options.open_files(value.extract::<usize>().map_err(wrong)?),
        "scrub_bytes_per_s" => options.scrub_bytes_per_s(count()?),
        "memtable_bytes" => {
            let bytes = count()?;
            options.writes(|writes| writes.memtable_bytes(bytes))
        }
        "group_bytes" => {
            let bytes = count()?;
            options.writes(|writes| writes.group_bytes(bytes))
        }
        "transaction_bytes" => {
            let bytes = count()?;
            options.writes(|writes| writes.transaction_bytes(bytes))
        }
        "kept_changes_bytes" => {
            let bytes = count()?;
            options.writes(|writes| writes.kept_changes_bytes(bytes))
        }
        "kept_changes_age" => {
            let age = seconds()?;
            options.writes(|writes| writes.kept_changes_age(age))
        }
        "block_bytes" => {
            let bytes = value.extract().map_err(wrong)?;
            options.levels(|levels| levels.block_bytes(bytes))
        }
        "filter_bits_per_key" => {
            let bits = value.extract::<u32>().map_err(wrong)?;
            options.levels(|levels| levels.filter_bits_per_key((bits > 0).then_some(bits)))
        }
        "separation_bytes" => {
            let bytes = count()?;
            options.values(|values| values.separation_bytes(bytes))
        }
        "expiry_grace" => {
            let grace = seconds()?;
            options.expiry(|expiry| expiry.grace(grace))
        }
        "gather_ms" => {
            let gather_ms = value.extract().map_err(wrong)?;
            options.objects(|objects| objects.gather_ms(gather_ms))
        }
        "grace_s" => {
            let grace_s = count()?;
            options.objects(|objects| objects.grace_s(grace_s))
        }
        _ => return Err(errors::new("InvalidArgument", &format!("{name:?} is not an option of a store"))),
    })
}

/// The compression of this name.
pub(crate) fn compression(name: String) -> PyResult<Compression> {
    match &*name {
        "none" => Ok(Compression::None),
        "lz4" => Ok(Compression::Lz4),
        "zstd" => Ok(Compression::Zstd { level: ZSTD_LEVEL }),
        other => {
            let message = format!("compression is \"none\", \"lz4\" or \"zstd\", not {other:?}");
            Err(errors::new("InvalidArgument", &message))
        }
    }
}

//! Rules by which the records of a keyspace expire that are written without a time of their own.

use super::store_time::millis;
use crate::error::{Error, Result};
use crate::types::{Field, KeyType, TimeUnit, Value, ValueType};
use std::time::Duration;

/// When the records of a keyspace expire that are written without a time of their own: see
/// [`Keyspace::expire_after`](crate::lsm::Keyspace::expire_after).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpiryRule {
    /// So long after they are written.
    After(Duration),
    /// At the time in this field of the row, which is a timestamp. A row with a null in it does not expire.
    AtField(String),
}

impl ExpiryRule {
    /// Checks that values of a type can expire by it.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if they have no timestamp of its name.
    pub(in crate::lsm) fn check(&self, values: &ValueType) -> Result<()> {
        match self {
            Self::After(_) => Ok(()),
            Self::AtField(name) => timestamp(values, name).map(drop),
        }
    }

    /// The time at which a value that is written at `now_ms` expires, if it does, in milliseconds since the start of
    /// 1970.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a value that is no row with this field.
    pub(in crate::lsm) fn expires_ms(&self, now_ms: u64, values: &ValueType, value: &[u8]) -> Result<Option<u64>> {
        let name = match self {
            Self::After(after) => return Ok(Some(now_ms.saturating_add(millis(*after)))),
            Self::AtField(name) => name,
        };
        let unit = timestamp(values, name)?;
        match values.row(value)?.get(name)? {
            Value::Signed(units) => Ok(Some(unix_ms(units, unit))),
            _ => Ok(None),
        }
    }
}

/// The unit of the field of a name, which must be a timestamp.
fn timestamp(values: &ValueType, name: &str) -> Result<TimeUnit> {
    match values.fields().iter().find(|field| field.name == name) {
        Some(Field { key_type: KeyType::Timestamp(unit), .. }) => Ok(*unit),
        Some(_) => {
            Err(Error::input(format!("the field {name:?} is no timestamp, so that records cannot expire at it")))
        }
        None => Err(Error::input(format!("values of type {values} have no field {name:?} at which they could expire"))),
    }
}

/// A timestamp in milliseconds since the start of 1970; 0 before that. A part of a millisecond counts as a whole one.
fn unix_ms(units: i128, unit: TimeUnit) -> u64 {
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let (seconds, rest) = (units.div_euclid(per_second), units.rem_euclid(per_second));
    let ms = seconds * 1000 + (rest * 1000 + per_second - 1) / per_second;
    u64::try_from(ms.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_fields_are_rounded_up_and_saturate() {
        let of = |units, unit| unix_ms(units, unit);
        assert_eq!((of(7, TimeUnit::Second), of(7, TimeUnit::Millisecond)), (7000, 7));
        assert_eq!((of(7001, TimeUnit::Microsecond), of(7_000_000, TimeUnit::Nanosecond)), (8, 7));
        assert_eq!((of(-1, TimeUnit::Second), of(i64::MAX.into(), TimeUnit::Second)), (0, u64::MAX));
    }
}

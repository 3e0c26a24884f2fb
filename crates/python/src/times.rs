//! Dates, times of a day and moments of Python, pandas and NumPy, with all their digits.

use crate::arrow::numpy;
use crate::convert::{EPOCH_ORDINAL, library, per_second};
use ogive::types::TimeUnit;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use std::time::{Duration, SystemTime};

const SECONDS_PER_DAY: i64 = 86_400;
const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;

/// A time: parts of a second, and how many of them are a second.
pub(crate) struct Time {
    parts: i128,
    per_second: i128,
}

impl Time {
    /// The time in units; `None` if it is no whole number of them.
    pub(crate) fn in_units(&self, unit: TimeUnit) -> Option<i128> {
        let scaled = self.parts.checked_mul(per_second(unit))?;
        (scaled % self.per_second == 0).then_some(scaled / self.per_second)
    }
}

/// The time of a number of milliseconds since the start of 1970.
pub(crate) fn time_of(milliseconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds)
}

/// Days since 1970 of a `date`, or of a `datetime64` of days, weeks, months or years; none of a `datetime`, whose time
/// would be lost.
pub(crate) fn days(value: &Bound<'_, PyAny>) -> Option<i128> {
    let (py, library) = (value.py(), library(value.py()).ok()?);
    if numpy::kind(value) == Some('M') {
        return numpy_days(value);
    }
    let is_date =
        value.is_instance(library.date.bind(py)).ok()? && !value.is_instance(library.datetime.bind(py)).ok()?;
    is_date.then(|| Some(i128::from(value.call_method0("toordinal").ok()?.extract::<i64>().ok()? - EPOCH_ORDINAL)))?
}

/// The time since 1970 of a `datetime`, in UTC if it has a zone, else as it is; of a `Timestamp` of pandas, which has
/// nanoseconds; and of a `datetime64` of hours or less.
pub(crate) fn timestamp(value: &Bound<'_, PyAny>) -> Option<Time> {
    let py = value.py();
    if numpy::kind(value) == Some('M') {
        return numpy_time(value);
    }
    let library = library(py).ok()?;
    if !value.is_instance(library.datetime.bind(py)).ok()? {
        return None;
    }
    let plain = match value.getattr("tzinfo").ok()?.is_none() {
        true => value.clone(),
        false => {
            let in_utc = value.call_method1("astimezone", (library.utc.bind(py),)).ok()?;
            let none = PyDict::new(py);
            none.set_item("tzinfo", py.None()).ok()?;
            in_utc.call_method("replace", (), Some(&none)).ok()?
        }
    };
    let since = plain.sub(library.epoch.bind(py)).ok()?;
    let part = |name: &str| since.getattr(name).ok()?.extract::<i64>().ok().map(i128::from);
    let seconds = part("days")? * i128::from(SECONDS_PER_DAY) + part("seconds")?;
    let nanoseconds = if since.hasattr("nanoseconds").ok()? { part("nanoseconds")? } else { 0 };
    let parts = seconds * NANOSECONDS_PER_SECOND + part("microseconds")? * 1_000 + nanoseconds;
    Some(Time { parts, per_second: NANOSECONDS_PER_SECOND })
}

/// The time since midnight of a `time` without a zone; none of a `datetime`, whose day would be lost.
pub(crate) fn time_of_day(value: &Bound<'_, PyAny>) -> Option<Time> {
    let library = library(value.py()).ok()?;
    if !value.is_instance(library.time.bind(value.py())).ok()? || !value.getattr("tzinfo").ok()?.is_none() {
        return None;
    }
    let part = |name: &str| value.getattr(name).ok()?.extract::<i64>().ok();
    let seconds = (part("hour")? * 60 + part("minute")?) * 60 + part("second")?;
    Some(Time { parts: (seconds * 1_000_000 + part("microsecond")?).into(), per_second: 1_000_000 })
}

/// The unit of a `datetime64`, and its number of them; none of not-a-time.
fn numpy_units(value: &Bound<'_, PyAny>) -> Option<(PyBackedStr, i128)> {
    let dtype = value.getattr("dtype").ok()?;
    let (unit, count) = value
        .py()
        .import("numpy")
        .ok()?
        .call_method1("datetime_data", (dtype,))
        .ok()?
        .extract::<(PyBackedStr, i64)>()
        .ok()?;
    let number = value.call_method1("astype", ("i8",)).ok()?.extract::<i64>().ok()?;
    (number != i64::MIN).then(|| (unit, i128::from(number) * i128::from(count)))
}

fn numpy_days(value: &Bound<'_, PyAny>) -> Option<i128> {
    let (unit, number) = numpy_units(value)?;
    match &*unit {
        "D" => Some(number),
        "W" => Some(number * 7),
        "M" | "Y" => {
            let days = value.call_method1("astype", ("M8[D]",)).ok()?;
            // NumPy wraps around without a word.
            let again = days.call_method1("astype", (value.getattr("dtype").ok()?,)).ok()?;
            let number = days.call_method1("astype", ("i8",)).ok()?.extract::<i64>().ok()?;
            again.eq(value).ok()?.then_some(number.into())
        }
        _ => None,
    }
}

fn numpy_time(value: &Bound<'_, PyAny>) -> Option<Time> {
    let (unit, number) = numpy_units(value)?;
    let (parts, per_second) = match &*unit {
        "h" => (number * 3_600, 1),
        "m" => (number * 60, 1),
        "s" => (number, 1),
        "ms" => (number, 1_000),
        "us" => (number, 1_000_000),
        "ns" => (number, NANOSECONDS_PER_SECOND),
        "ps" => (number, 1_000_000_000_000),
        "fs" => (number, 1_000_000_000_000_000),
        "as" => (number, 1_000_000_000_000_000_000),
        _ => return None,
    };
    Some(Time { parts, per_second })
}

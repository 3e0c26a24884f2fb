//! The record: one result of an experiment.

use ogive_terminal::grouped;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::spread::Spread;

/// The field of a subject that failed: why.
pub(crate) const ERROR: &str = "error";

/// The value of a figure.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// A count: exact.
    Count(u64),
    /// A measured or computed number; `null` in JSON if not finite.
    Number(f64),
    /// Text.
    Text(String),
    /// A boolean.
    Flag(bool),
}

impl From<u64> for Figure {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Figure {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Figure {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Figure {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Figure {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl std::fmt::Display for Figure {
    /// As text: counts and large numbers in groups of three digits, small numbers with four significant digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => f.write_str(&grouped(*count)),
            Self::Number(number) if !number.is_finite() => f.write_str("-"),
            Self::Number(number) if number.abs() >= 1e15 => write!(f, "{number:.3e}"),
            Self::Number(number) if number.abs() >= 1_000.0 => {
                let sign = if *number < 0.0 { "-" } else { "" };
                write!(f, "{sign}{}", grouped(number.abs().round() as u64))
            }
            Self::Number(0.0) => f.write_str("0"),
            Self::Number(number) if number.abs() < 1e-4 => write!(f, "{number:.3e}"),
            Self::Number(number) => {
                let decimals = (3.0 - number.abs().log10().floor()).max(0.0) as usize;
                write!(f, "{number:.decimals$}")
            }
            Self::Text(text) => f.write_str(text),
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
        }
    }
}

/// A result: the experiment and its subject, and figures in order of insertion.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    experiment: String,
    fields: Vec<(String, Figure)>,
}

impl Record {
    /// A result of `experiment`.
    pub fn new(experiment: impl Into<String>) -> Self {
        Self { experiment: experiment.into(), fields: Vec::new() }
    }

    /// Sets the experiment.
    pub fn experiment(&self) -> &str {
        &self.experiment
    }

    /// The key set.
    #[must_use]
    pub fn keys(self, name: &str) -> Self {
        self.figure("keys", name)
    }

    /// The storage profile.
    #[must_use]
    pub fn profile(self, name: &str) -> Self {
        self.figure("profile", name)
    }

    /// The index design.
    #[must_use]
    pub fn design(self, name: &str) -> Self {
        self.figure("design", name)
    }

    /// A figure; its name ends with its unit.
    #[must_use]
    pub fn figure(mut self, name: &str, value: impl Into<Figure>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// A figure measured several times: `name` is the median, `name_min` and `name_max` the extremes. One measurement
    /// has no extremes.
    #[must_use]
    pub fn spread(self, name: &str, values: &[f64]) -> Self {
        let spread = Spread::of(values);
        let record = self.figure(name, spread.median);
        if values.len() < 2 {
            return record;
        }
        record.figure(&format!("{name}_min"), spread.min).figure(&format!("{name}_max"), spread.max)
    }

    /// The record of a subject that failed, and why.
    #[must_use]
    pub fn error(self, reason: impl Into<Figure>) -> Self {
        self.figure(ERROR, reason)
    }

    /// Whether it tells of a subject that failed.
    pub fn is_error(&self) -> bool {
        self.fields.iter().any(|(name, _)| name == ERROR)
    }

    /// The fields after `experiment`, by name and in order.
    pub fn fields(&self) -> &[(String, Figure)] {
        &self.fields
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len() + 1))?;
        map.serialize_entry("experiment", &self.experiment)?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_the_order_and_has_no_infinite_numbers() -> Result<(), serde_json::Error> {
        let record = Record::new("airindex/knobs")
            .keys("uniform:1k:seed=1")
            .profile("nvme")
            .design("tuned")
            .figure("index_bytes", 12)
            .spread("modelled_us", &[2.5, 1.5, 9.0])
            .spread("build_s", &[0.5])
            .figure("cold", false)
            .figure("ratio", f64::INFINITY);
        let expected = concat!(
            r#"{"experiment":"airindex/knobs","keys":"uniform:1k:seed=1","profile":"nvme","design":"tuned","#,
            r#""index_bytes":12,"modelled_us":2.5,"modelled_us_min":1.5,"modelled_us_max":9.0,"build_s":0.5,"#,
            r#""cold":false,"ratio":null}"#
        );
        assert_eq!(serde_json::to_string(&record)?, expected);
        Ok(())
    }

    #[test]
    fn people_get_grouped_digits_and_four_that_count() {
        let shown = |figure: Figure| figure.to_string();
        assert_eq!(shown(1_234_567.into()), "1,234,567");
        assert_eq!(shown(999.into()), "999");
        assert_eq!(shown(573.24.into()), "573.2");
        assert_eq!(shown(0.012_346.into()), "0.01235");
        assert_eq!(shown((-12_345.6).into()), "-12,346");
        assert_eq!(shown(0.0.into()), "0");
        assert_eq!(shown(f64::NAN.into()), "-");
        assert_eq!(shown(true.into()), "yes");
    }
}

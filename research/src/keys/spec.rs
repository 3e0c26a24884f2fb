//! Names of key sets: `NAME[:COUNT][:seed=S][:OPTION=VALUE]...`.
//!
//! - COUNT is a number of keys, `1000`, `1_000`, `10k`, `10M` or `1G` (powers of ten);
//! - `seed` chooses among the sets of one name, from 0 to 2^64 - 1;
//! - other options belong to the generator: `zipf:10M:skew=1.2`, `staircase:1M:width=65`;
//! - `hardness:815,18:800M` is short for `hardness:800M:local=815:global=18`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The parsed fields after a generator's name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fields {
    /// Number of keys, if given.
    pub count: Option<u64>,
    /// Seed, if given.
    pub seed: Option<u64>,
    /// The generator's own options.
    pub options: BTreeMap<String, f64>,
}

/// The request to a generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The set's full name, for messages.
    pub name: String,
    /// Number of keys.
    pub count: u64,
    /// Seed.
    pub seed: u64,
    pub(super) options: BTreeMap<&'static str, f64>,
}

impl Plan {
    /// The value of an option that the generator declares; NaN for any other.
    pub fn option(&self, name: &str) -> f64 {
        self.options.get(name).copied().unwrap_or(f64::NAN)
    }

    /// An error about the count: `detail` says how many keys there can be.
    pub fn too_many(&self, detail: impl Into<String>) -> Error {
        Error::TooManyKeys { spec: self.name.clone(), detail: detail.into() }
    }
}

/// Parses the fields after the name in `spec`.
pub fn parse_fields(spec: &str) -> Result<Fields> {
    let mut fields = Fields::default();
    for field in spec.split(':').skip(1) {
        let misplaced = || Error::spec(spec, format!("{field:?} is neither a count such as 10M nor OPTION=VALUE"));
        if let Some((name, value)) = field.split_once('=') {
            let bad = || Error::spec(spec, format!("{value:?} is no value for {name}"));
            if name == "seed" {
                fields.seed = Some(value.parse().map_err(|_| bad())?);
            } else {
                fields.options.insert(name.into(), value.parse().map_err(|_| bad())?);
            }
        } else if let Some((local, global)) = field.split_once(',') {
            fields.options.insert("local".into(), local.parse().map_err(|_| misplaced())?);
            fields.options.insert("global".into(), global.parse().map_err(|_| misplaced())?);
        } else {
            fields.count = Some(parse_count(field).ok_or_else(misplaced)?);
        }
    }
    Ok(fields)
}

/// A number of things: digits, `_` between them, and k, M or G for powers of ten.
pub fn parse_count(text: &str) -> Option<u64> {
    let (digits, scale) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.replace('_', "").parse::<u64>().ok()?.checked_mul(scale)
}

/// A number of bytes: a count, or one of `KiB`, `MiB` or `GiB`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let unit = [("KiB", 10), ("MiB", 20), ("GiB", 30)].into_iter().find(|(unit, _)| text.ends_with(unit));
    let Some((unit, shift)) = unit else { return parse_count(text) };
    parse_count(text.strip_suffix(unit)?)?.checked_mul(1 << shift)
}

/// A count in the shortest exact form: `10M`, `1500k`, `1024`.
pub fn format_count(count: u64) -> String {
    for (scale, suffix) in [(1_000_000_000, 'G'), (1_000_000, 'M'), (1_000, 'k')] {
        if count > 0 && count.is_multiple_of(scale) {
            return format!("{}{suffix}", count / scale);
        }
    }
    count.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_any_order() -> Result<()> {
        let fields = parse_fields("lognormal:seed=3:10M")?;
        assert_eq!((fields.count, fields.seed), (Some(10_000_000), Some(3)));
        assert_eq!(parse_fields("hardness:815,18:1M")?, parse_fields("hardness:1M:global=18:local=815")?);
        Ok(())
    }

    #[test]
    fn invalid_text_is_refused_with_the_field_that_is_wrong() {
        for (spec, wrong) in [
            ("uniform:10Q", "10Q"),
            ("uniform:", "\"\""),
            ("uniform:-1", "-1"),
            ("uniform:seed=x", "x"),
            ("uniform:_1", "_1"),
            ("uniform:99999999999G", "99999999999G"),
            ("hardness:1,b", "1,b"),
        ] {
            let message = parse_fields(spec).map_or_else(|error| error.to_string(), |fields| format!("{fields:?}"));
            assert!(message.contains(wrong) && message.contains(spec), "{message}");
        }
    }

    #[test]
    fn counts_are_read_as_they_are_written() {
        for count in [0, 1, 999, 1_000, 1_500, 10_000_000, 3_000_000_000, u64::MAX] {
            assert_eq!(parse_count(&format_count(count)), Some(count));
        }
        assert_eq!(parse_count("1_000"), Some(1_000));
    }
}

//! The columns of an input that are read, and their types.

use super::columns::{Column, find};
use super::infer::{ColumnGuess, GuessedType};
use super::rows::TextRows;
use super::{Format, InputOptions};
use crate::failure::{Failure, Result};
use crate::size::counted;
use ogive::KeyType;
use ogive::types::{Component, Field, KeyColumn, NullOrder, RecordType, RowType, TupleType, ValueType};
use std::str::FromStr;

/// Records from which types are guessed at first. If a later one does not fit, all are read.
const SAMPLE_RECORDS: u64 = 1000;

/// The type of one column as given: `name=type`, with a question mark for one that may be null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnType {
    pub(crate) column: Column,
    key_type: KeyType,
    nullable: bool,
}

impl From<&Field> for ColumnType {
    fn from(field: &Field) -> Self {
        Self { column: Column(field.name.clone()), key_type: field.key_type, nullable: field.nullable }
    }
}

impl FromStr for ColumnType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (column, name) = text.rsplit_once('=').ok_or("write it as COL=TYPE, such as price=decimal(8,2)")?;
        let (name, nullable) = name.trim().strip_suffix('?').map_or((name, false), |name| (name, true));
        let key_type: KeyType = name.parse().map_err(|error: ogive::Error| error.to_string())?;
        if matches!(key_type, KeyType::Tuple(_)) {
            return Err("a column cannot be a tuple".to_owned());
        }
        Ok(Self { column: Column(column.trim().to_owned()), key_type, nullable })
    }
}

/// A column that is read, and how.
#[derive(Clone, Debug)]
pub(crate) struct ReadColumn {
    /// Its position in the input.
    pub(crate) position: usize,
    /// Its name, for messages.
    pub(crate) name: String,
    pub(crate) key_type: KeyType,
    /// Whether an empty field is a null.
    pub(crate) nullable: bool,
    /// Whether the type is guessed, so that values must keep their form or value.
    pub(crate) guessed: bool,
    /// Whether timestamps state a time zone, if the type is guessed.
    pub(crate) is_zoned: bool,
}

/// The columns that are read of an input, with their types.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    /// The columns of the key, in its order.
    pub(crate) keys: Vec<ReadColumn>,
    /// The columns of the value.
    pub(crate) values: Vec<ReadColumn>,
    /// The types of the records that they make.
    pub(crate) record_type: RecordType,
    /// Columns of numbers that became text, and why.
    pub(crate) remarks: Vec<String>,
}

impl Schema {
    /// Records of keys without values, of an input without columns.
    pub(crate) fn of_keys(key_type: KeyType) -> Self {
        Self {
            keys: Vec::new(),
            values: Vec::new(),
            record_type: RecordType::new(key_type, ValueType::default()),
            remarks: Vec::new(),
        }
    }

    /// Whether any type was guessed.
    pub(crate) fn is_guessed(&self) -> bool {
        self.keys.iter().chain(&self.values).any(|column| column.guessed)
    }

    /// Bytes of every value, if all have one width.
    pub(crate) fn value_width(&self) -> Option<u32> {
        let width = if self.values.is_empty() { Some(0) } else { self.record_type.values.width() };
        width.and_then(|width| u32::try_from(width).ok())
    }

    /// The schema of a text input: types as given, else guessed from its first records, or from all of them if
    /// `is_whole`.
    ///
    /// # Errors
    /// [`InputError`](super::InputError) for missing columns and bad rows; [`Failure::Usage`] for options that
    /// contradict each other.
    pub(crate) fn of_text(options: &InputOptions, rows: &mut dyn TextRows, is_whole: bool) -> Result<Self> {
        let names = rows.names().to_vec();
        let selection = Selection::of(options, &names)?;
        let mut columns = selection.columns(options, &names)?;
        let mut guesses: Vec<Option<ColumnGuess>> =
            columns.iter().map(|column| column.guessed.then(ColumnGuess::new)).collect();
        let end = if is_whole { u64::MAX } else { SAMPLE_RECORDS };
        let mut record = 0;
        while guesses.iter().any(Option::is_some) && record < end && rows.advance()? {
            record += 1;
            for (column, guess) in columns.iter().zip(&mut guesses) {
                if let Some(guess) = guess {
                    guess.see(record, rows.field(column.position));
                }
            }
        }
        let key_count = selection.keys.len();
        let mut remarks = Vec::new();
        for (index, (column, guess)) in columns.iter_mut().zip(guesses).enumerate() {
            let Some(guess) = guess else { continue };
            let may_be_null = index >= key_count || key_count > 1;
            let GuessedType { key_type, nullable, is_zoned } = guess.guessed(may_be_null);
            (column.key_type, column.nullable, column.is_zoned) = (key_type, nullable, is_zoned);
            let shown = if names.len() > 1 { format!("column '{}'", column.name) } else { "the input".to_owned() };
            remarks.extend(guess.remark(&shown, may_be_null));
        }
        let values = columns.split_off(key_count);
        Self::new(options, columns, values, names.len() > 1 || options.has_columns(), remarks)
    }

    /// The schema of columns whose types are known.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a key type that does not fit the columns of the key.
    pub(crate) fn new(
        options: &InputOptions,
        keys: Vec<ReadColumn>,
        values: Vec<ReadColumn>,
        is_named: bool,
        remarks: Vec<String>,
    ) -> Result<Self> {
        let key_type = match (options.key_type, &keys[..]) {
            (Some(key_type), _) => key_type,
            (None, [key]) => key.key_type,
            (None, keys) => tuple_of(keys)
                .ok_or_else(|| Failure::usage(format!("keys of {} columns are too many", keys.len()), "give fewer"))?,
        };
        let value_type = match values.len() {
            _ if options.raw_values => ValueType::default(),
            0 => ValueType::default(),
            _ => ValueType::Row(RowType::new(values.iter().map(field).collect::<Vec<_>>())?),
        };
        let column = |key: &ReadColumn| {
            let position = u16::try_from(position_of(key, &keys, &values)).unwrap_or(u16::MAX);
            KeyColumn { name: key.name.clone(), position }
        };
        let components = component_count(key_type);
        let key_columns =
            if is_named && keys.len() == components { keys.iter().map(column).collect() } else { Vec::new() };
        let record_type = RecordType::new(key_type, value_type).key_columns(key_columns);
        Ok(Self { keys, values, record_type, remarks })
    }
}

fn field(column: &ReadColumn) -> Field {
    Field { name: column.name.clone(), key_type: column.key_type, nullable: column.nullable }
}

/// The position of a key column among all columns that are read.
fn position_of(key: &ReadColumn, keys: &[ReadColumn], values: &[ReadColumn]) -> usize {
    keys.iter().chain(values).filter(|other| other.position < key.position).count()
}

fn component_count(key_type: KeyType) -> usize {
    match key_type {
        KeyType::Tuple(tuple) => tuple.components().len(),
        _ => 1,
    }
}

/// The type of keys in several columns, of which each has its own.
fn tuple_of(columns: &[ReadColumn]) -> Option<KeyType> {
    let component = |column: &ReadColumn| Component {
        nulls: if column.nullable { NullOrder::Last } else { NullOrder::Never },
        ..Component::new(column.key_type)
    };
    TupleType::new(&columns.iter().map(component).collect::<Vec<_>>()).ok().map(KeyType::Tuple)
}

/// The positions of the columns that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) keys: Vec<usize>,
    pub(crate) values: Vec<usize>,
}

impl Selection {
    /// The columns of the keys, by default the first, and of the values, by default all others.
    ///
    /// # Errors
    /// [`InputError::NoSuchColumn`](super::InputError); [`Failure::Usage`] for several columns of values that are
    /// bytes.
    pub(crate) fn of(options: &InputOptions, names: &[String]) -> Result<Self> {
        let position = |column: &Column| find(&options.path, names, column);
        let keys: Vec<usize> = match &options.key[..] {
            [] => vec![0],
            columns => columns.iter().map(position).collect::<Result<_, _>>()?,
        };
        let values = match &options.value[..] {
            _ if options.keys_only || options.payload.is_some() => Vec::new(),
            [] => (0..names.len()).filter(|column| !keys.contains(column)).collect(),
            columns => columns.iter().map(position).collect::<Result<_, _>>()?,
        };
        if options.raw_values && values.len() > 1 {
            let count = counted(values.len() as u64, "column");
            return Err(Failure::usage(
                format!("{} has {count} besides the key, but values have one", options.path.display()),
                "choose it with --value, or read the keys only with --keys-only",
            ));
        }
        Ok(Self { keys, values })
    }

    /// The columns with their types as given; others are yet to be guessed.
    ///
    /// # Errors
    /// [`InputError::NoSuchColumn`](super::InputError) for a type of a column that does not exist; [`Failure::Usage`]
    /// for keys of as many columns as the key type has not components.
    pub(crate) fn columns(&self, options: &InputOptions, names: &[String]) -> Result<Vec<ReadColumn>> {
        let names_once = unique(names);
        let mut columns: Vec<ReadColumn> = self
            .keys
            .iter()
            .chain(&self.values)
            .map(|&position| ReadColumn {
                position,
                name: names_once[position].clone(),
                key_type: KeyType::Text,
                nullable: false,
                guessed: true,
                is_zoned: false,
            })
            .collect();
        for given in &options.column_types {
            let position = find(&options.path, names, &given.column)?;
            for column in columns.iter_mut().filter(|column| column.position == position) {
                (column.key_type, column.nullable, column.guessed) = (given.key_type, given.nullable, false);
            }
        }
        for known in &options.known_types {
            for column in columns.iter_mut().filter(|column| column.name == known.column.0) {
                (column.key_type, column.nullable, column.guessed) = (known.key_type, known.nullable, false);
            }
        }
        if let Some(key_type) = options.key_type {
            let count = self.keys.len();
            match key_type {
                KeyType::Tuple(tuple) if count > 1 && count == tuple.components().len() => {
                    for (column, component) in columns.iter_mut().zip(tuple.components()) {
                        column.key_type = component.key_type;
                        column.nullable = component.nulls != NullOrder::Never;
                    }
                }
                // One column of tuples, each a record of CSV.
                key_type if count == 1 => columns[0].key_type = key_type,
                _ => {
                    return Err(Failure::usage(
                        format!("keys of {} are not of type {key_type}", counted(count as u64, "column")),
                        "give --key once for each component of --key-type, in order",
                    ));
                }
            }
            columns[..count].iter_mut().for_each(|column| column.guessed = false);
        }
        if options.raw_values {
            columns[self.keys.len()..].iter_mut().for_each(|column| column.guessed = false);
        }
        Ok(columns)
    }
}

/// Names of columns, each once: a second `a` is `a_2`, and an empty one is named by its number.
pub(crate) fn unique(names: &[String]) -> Vec<String> {
    let mut taken = std::collections::HashSet::new();
    let name = |(index, name): (usize, &String)| {
        let first = if name.is_empty() { format!("column{}", index + 1) } else { name.clone() };
        let mut unique = first.clone();
        let mut number = 2;
        while !taken.insert(unique.clone()) {
            unique = format!("{first}_{number}");
            number += 1;
        }
        unique
    };
    names.iter().enumerate().map(name).collect()
}

impl InputOptions {
    /// Whether the format has columns.
    pub(crate) fn has_columns(&self) -> bool {
        matches!(self.format(), Format::Csv | Format::Tsv | Format::Parquet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_unique() {
        let names = ["a", "", "a", "a_2", "a"].map(str::to_owned);
        assert_eq!(unique(&names), ["a", "column2", "a_2", "a_2_2", "a_3"]);
    }

    #[test]
    fn types_of_columns_are_given_by_name() {
        let given: ColumnType = "unit price = decimal(8,2)?".parse().unwrap();
        assert_eq!((given.column.0.as_str(), given.nullable), ("unit price", true));
        let odd: ColumnType = "a=b=u8".parse().unwrap();
        assert_eq!(odd.column.0, "a=b");
        for wrong in ["a", "a=", "a=u12", "a=(u8)"] {
            assert!(wrong.parse::<ColumnType>().is_err(), "{wrong}");
        }
    }
}

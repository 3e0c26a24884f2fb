//! The columns of an input that are read, and their types.

use super::columns::{Column, find};
use super::known::{INDEX, KEYSPACE, KnownColumns};
use super::null_keys::NullKeys;
use super::rows::{TextRows, advance, takes_blanks};
use super::{Format, InputError, InputOptions};
use crate::failure::{Failure, Result};
use crate::output::note;
use crate::reading::standard_input::shown;
use crate::values::size::counted;
use ogive::KeyType;
use ogive::types::{Component, FIELDS_MAX, Field, KeyColumn, NullOrder, RecordType, RowType, TupleType, ValueType};
use ogive_text::{ColumnGuess, FieldBytes, GuessedType, TextColumn, Written, may_be_null, unique_names};
use std::sync::Arc;

/// Records at the start of an input by which types are guessed where it is read again if a later one does not fit:
/// reading more would only delay what is the same in the end.
const START_RECORDS: u64 = 1000;
/// Bytes at the start of an input by which types are guessed where it is not read again: more than the memory of a
/// small machine has room for would not be kept of a pipe.
const LONG_START_BYTES: u64 = 64 << 20;

/// The part of an input by which types are guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeSample {
    /// The first records, for an input that is read again if a later one does not fit.
    Start,
    /// The first bytes of a longer input, for one that is not read again.
    LongStart,
    /// All of it.
    Whole,
}

impl TypeSample {
    /// Whether it has ended after this number of records, and bytes of the input.
    pub(super) fn has_ended(self, records: u64, bytes: u64) -> bool {
        match self {
            Self::Start => records >= START_RECORDS,
            Self::LongStart => records > 0 && bytes >= LONG_START_BYTES,
            Self::Whole => false,
        }
    }
}

/// Most columns of which it is told why they are text or floats.
const REMARKS_MAX: usize = 10;

/// Says of a value of a wrong type that the type is that of the keyspace or index which takes it, so that no option
/// changes it.
pub(crate) fn blame_holder(failure: Failure, holder: &str, types: &RecordType) -> Failure {
    let is_held = |name: &str| match &types.values {
        ValueType::Row(row_type) => row_type.fields().iter().any(|field| field.name == name),
        ValueType::Scalar(_) => true,
    };
    match failure {
        Failure::Input(error) if error.wrong_column().is_some_and(|(is_key, name)| is_key || is_held(name)) => {
            let is_altered = holder == KEYSPACE && error.wrong_column().is_some_and(|(is_key, _)| !is_key);
            let other = match &error {
                InputError::WrongType { written: Some(text), column, .. } if is_altered && text.is_empty() => {
                    let name = column.as_deref().unwrap_or_default();
                    format!(", let the field be null with `ogive db alter STORE KEYSPACE --nullable '{name}'`,")
                }
                InputError::WrongType { written: Some(text), column, .. } if is_altered => {
                    let wider = wider(types, column.as_deref().unwrap_or_default(), text);
                    wider.map_or_else(
                        || ",".to_owned(),
                        |field| format!(", widen the field with `ogive db alter STORE KEYSPACE --widen '{field}'`,"),
                    )
                }
                _ => ",".to_owned(),
            };
            let hint = format!("the {holder} has this type; correct the value{other} or use another {holder} for it");
            Failure::refused(error.to_string(), hint)
        }
        failure => failure,
    }
}

/// A field of this name as `ogive db alter` widens it to hold a value as well, if that can be.
fn wider(types: &RecordType, name: &str, written: &str) -> Option<String> {
    use KeyType::{Decimal, F64, I16, I32, I64, I128, U16, U32, U64, U128};
    let ValueType::Row(row_type) = &types.values else { return None };
    let old = row_type.fields().iter().find(|field| field.name == name)?.key_type;
    let scale = written.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let decimals = u8::try_from(scale).ok().into_iter().flat_map(|scale| {
        [18, 38]
            .into_iter()
            .filter(move |precision| scale <= *precision)
            .map(move |precision| Decimal { precision, scale })
    });
    let integers = [U16, I16, U32, I32, U64, I64, U128, I128].into_iter();
    let fits = |wider: &KeyType| *wider != old && wider.holds(old) && wider.parse(written).is_ok();
    let found = integers.chain(decimals).chain([F64]).find(fits)?;
    Some(format!("{name}: {found}"))
}

/// Says of a value of a wrong type that the keyspace has the type that was guessed from the rows before it, which are
/// durable, so that an option needs another keyspace.
pub(crate) fn blame_durable_rows(failure: Failure) -> Failure {
    let Failure::Input(error) = &failure else { return failure };
    let Some(remedy) = error.remedy() else { return failure };
    let hint = format!(
        "the {KEYSPACE} has this type now: import into another one with --keyspace NAME {remedy}, or leave such rows \
         out with --skip-bad-rows FILE"
    );
    Failure::refused(error.to_string(), hint)
}

/// A column that is read, and how.
#[derive(Clone, Debug)]
pub(crate) struct ReadColumn {
    /// Its position in the input; `None` for a column that is not there, whose fields are null.
    pub(crate) position: Option<usize>,
    /// Its name, for messages.
    pub(crate) name: String,
    pub(crate) key_type: KeyType,
    /// Whether an empty field is a null; in text, one without quotes.
    pub(crate) nullable: bool,
    /// Whether nulls make it a column of a type with nulls, if the type is guessed. Keys of one column have none.
    pub(crate) may_be_null: bool,
    /// Whether the type is guessed, so that values must keep their form or value.
    pub(crate) guessed: bool,
    /// Whether the type is that of the records of a store or an index, so that text without nulls takes none.
    pub(crate) is_known: bool,
    /// Whether timestamps state a time zone, if the type is guessed.
    pub(crate) is_zoned: bool,
    /// Whether the type is that of a key of another input as well, whose equal numbers may be written otherwise.
    pub(crate) is_united: bool,
    /// The text of all its fields, if the path of the file states it.
    pub(super) stated: Option<Arc<str>>,
    /// What was seen of it, if the type is guessed.
    pub(super) seen: Option<Arc<ColumnGuess>>,
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
    /// Columns of numbers that became text or floats, and why.
    pub(crate) remarks: Vec<String>,
    /// The names of all columns of a text input, or of a folder.
    pub(crate) names: Vec<String>,
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "folders need the feature `parquet`"))]
    /// How many of these names files have; the others are stated by the paths of the files of a folder.
    pub(super) file_columns: usize,
    /// What was seen of the columns of the key whose types are guessed.
    pub(super) guesses: Vec<Option<ColumnGuess>>,
    /// What becomes of records whose keys have nulls.
    pub(super) null_keys: NullKeys,
}

impl Schema {
    /// Keys alone, of an input without columns.
    pub(crate) fn of_keys(key_type: KeyType) -> Self {
        Self {
            keys: Vec::new(),
            values: Vec::new(),
            record_type: RecordType::new(key_type, ValueType::default()).keys_only(),
            remarks: Vec::new(),
            names: Vec::new(),
            file_columns: 0,
            guesses: Vec::new(),
            null_keys: NullKeys::Refused,
        }
    }

    /// Tells where numbers became text or floats.
    pub(crate) fn tell(&self) {
        self.remarks.iter().take(REMARKS_MAX).for_each(|remark| note(format_args!("note: {remark}")));
        match self.remarks.len().saturating_sub(REMARKS_MAX) as u64 {
            0 => {}
            rest => note(format_args!("note: and {} of this kind", counted(rest, "more column"))),
        }
    }

    /// Whether any type was guessed.
    pub(crate) fn is_guessed(&self) -> bool {
        self.keys.iter().chain(&self.values).any(|column| column.guessed)
    }

    /// Whether the type of a column was guessed, by whether it is one of the key, and its name.
    pub(crate) fn has_guessed(&self, column: Option<(bool, &str)>) -> bool {
        let Some((is_key, name)) = column else { return false };
        let columns = if is_key { &self.keys } else { &self.values };
        columns.iter().any(|column| column.guessed && column.name == name)
    }

    /// Bytes of every value, if all have one width.
    pub(crate) fn value_width(&self) -> Option<u32> {
        let width = if self.values.is_empty() { Some(0) } else { self.record_type.values.width() };
        width.and_then(|width| u32::try_from(width).ok())
    }

    /// The schema of a text input: types as given, else guessed from the records of a sample.
    ///
    /// # Errors
    /// [`InputError`] for missing columns and bad rows; [`Failure::Usage`] for options that
    /// contradict each other.
    pub(crate) fn of_text(options: &InputOptions, rows: &mut dyn TextRows, sample: TypeSample) -> Result<Self> {
        let names = options.named(rows.names());
        let selection = Selection::of(options, &names)?;
        let mut columns = selection.columns(options, &names)?;
        // Numbers of JSON are floats to those who write and read it; decimals are strings there.
        let unseen = if options.format() == Format::Jsonl { ColumnGuess::of_floats() } else { ColumnGuess::new() };
        let mut guesses: Vec<Option<ColumnGuess>> =
            columns.iter().map(|column| column.guessed.then(|| unseen.clone())).collect();
        for (column, guess) in columns.iter().zip(&mut guesses) {
            match (column.position, guess) {
                // Of a file that comes later. Each has the columns of the key.
                (Some(position), Some(guess)) if !selection.keys.contains(&position) && rows.may_lack(position) => {
                    guess.see(0, Written::Null)
                }
                _ => {}
            }
        }
        let mut record = 0;
        let takes_blanks = takes_blanks(&columns[..selection.keys.len()], options.null_keys());
        // A column without a value in the first rows has its type by later ones.
        let is_open = |guesses: &[Option<ColumnGuess>]| guesses.iter().flatten().any(|guess| !guess.has_values());
        while guesses.iter().any(Option::is_some)
            && (!sample.has_ended(record, rows.position_bytes())
                || (is_open(&guesses) && !TypeSample::LongStart.has_ended(record, rows.position_bytes())))
        {
            match advance(rows, takes_blanks) {
                Err(error) if options.skip_bad_rows.is_some() && error.is_of_row() => continue,
                Ok(false) => break,
                advanced => _ = advanced?,
            }
            record += 1;
            let field = |column: &ReadColumn| column.position.map_or(Written::Null, |position| rows.field(position));
            let is_bad = || columns.iter().any(|column| matches!(field(column), Written::Nested(_)));
            if options.skip_bad_rows.is_some() && is_bad() {
                continue;
            }
            for (column, guess) in columns.iter().zip(&mut guesses) {
                let Some(guess) = guess else { continue };
                let written = field(column);
                if let Written::Nested(text) = written {
                    let what = if text.first() == Some(&b'[') { "an array" } else { "an object" };
                    let (path, field) = (options.path.clone(), column.name.clone());
                    return Err(InputError::Nested { path, record, field, what }.into());
                }
                guess.see(record, written);
            }
        }
        let key_count = selection.keys.len();
        let mut remarks: Vec<String> = rows.remarks();
        for (column, guess) in columns.iter_mut().zip(&guesses) {
            let Some(guess) = guess else { continue };
            let GuessedType { key_type, nullable, is_zoned } = guess.guessed(column.may_be_null);
            (column.key_type, column.nullable, column.is_zoned) = (key_type, nullable, is_zoned);
            column.seen = Some(Arc::new(guess.clone()));
            remarks.extend(column.remark(guess, &names));
        }
        // A later record may have a null in its key.
        if let [key] = &mut columns[..key_count]
            && options.leaves_null_keys_out()
        {
            key.nullable |= key.guessed;
        }
        let values = columns.split_off(key_count);
        remarks.extend(remarks_on_scales(options, &columns, &values));
        let schema = Self::new(options, columns, values, names.len() > 1 || options.has_columns(), remarks)?;
        guesses.truncate(key_count);
        Ok(Self { file_columns: names.len(), names, guesses, ..schema })
    }

    /// The schema of columns whose types are known.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a key type that does not fit the columns of the key.
    pub(crate) fn new(
        options: &InputOptions,
        keys: Vec<ReadColumn>,
        mut values: Vec<ReadColumn>,
        is_named: bool,
        remarks: Vec<String>,
    ) -> Result<Self> {
        let key_type = match (options.key_type, &keys[..]) {
            (Some(key_type), _) => key_type,
            (None, [key]) => key.key_type,
            (None, keys) => tuple_of(keys)
                .ok_or_else(|| Failure::usage(format!("keys of {} columns are too many", keys.len()), "give fewer"))?,
        };
        // The rows that are there already have nulls in the columns that are added.
        let known = options.known_rows().map_or(values.len(), |known| known.fields.len());
        values.iter_mut().skip(known).for_each(|column| column.nullable = true);
        let value_type = match (values.len(), options.value_type) {
            (0, _) => options.check_no_values().map(|()| ValueType::default())?,
            (_, Some(scalar)) => scalar.into(),
            (count, None) if count > FIELDS_MAX => {
                let (path, count) = (shown(&options.path), counted(count as u64, "column"));
                let message = format!("{path} has {count} of values, and a row has at most {FIELDS_MAX}");
                return Err(Failure::usage(message, "choose some of them with --value, which can be repeated"));
            }
            (_, None) => ValueType::Row(RowType::new(values.iter().map(field).collect::<Vec<_>>())?),
        };
        let column = |key: &ReadColumn| {
            let position = u16::try_from(position_of(key, &keys, &values)).unwrap_or(u16::MAX);
            KeyColumn { name: key.name.clone(), position }
        };
        let components = component_count(key_type);
        let key_columns =
            if is_named && keys.len() == components { keys.iter().map(column).collect() } else { Vec::new() };
        let is_alone = values.is_empty();
        let record_type = RecordType::new(key_type, value_type).key_columns(key_columns);
        let record_type = if is_alone { record_type.keys_only() } else { record_type };
        let null_keys = options.null_keys();
        Ok(Self {
            keys,
            values,
            record_type,
            remarks,
            names: Vec::new(),
            file_columns: 0,
            guesses: Vec::new(),
            null_keys,
        })
    }
}

impl ReadColumn {
    /// How its fields of text are read.
    pub(crate) fn text(&self) -> TextColumn {
        let &Self { key_type, nullable, may_be_null, is_zoned, is_united, .. } = self;
        let guessed = self.guessed || (self.is_known && matches!(key_type, KeyType::Text | KeyType::Bytes));
        TextColumn { key_type, nullable, may_be_null, guessed, is_zoned, is_united }
    }

    /// Why it is text or of floats, as it was guessed, if it is that; `names` are those of all columns.
    pub(super) fn remark(&self, guess: &ColumnGuess, names: &[String]) -> Option<String> {
        let shown = if names.len() > 1 { format!("column '{}'", self.name) } else { "the input".to_owned() };
        guess.remark(&shown, self.may_be_null)
    }

    /// What keeps its numbers exact, if they are floats or text since some have more digits behind the point.
    fn mixed_scales(&self, type_option: &str) -> Option<String> {
        let decimal = self.seen.as_deref()?.mixed_decimal(self.may_be_null)?;
        let (key_type, name, mark) = (self.key_type, &self.name, if self.nullable { "?" } else { "" });
        Some(format!(
            "column '{name}' is {key_type}, since its numbers differ in their digits after the point; {type_option} \
             '{name}={decimal}{mark}' keeps them exact"
        ))
    }

    /// Reads a field by `own`, or what the path of the file states, where it does; both must be the same.
    #[inline]
    pub(super) fn read_with_stated<'a>(
        &self,
        is_key: bool,
        target: &mut Vec<u8>,
        own: impl FnOnce(&mut Vec<u8>) -> Result<FieldBytes<'a>, Option<String>>,
    ) -> Result<FieldBytes<'a>, Option<String>> {
        let Some(text) = self.stated.as_deref() else { return own(target) };
        let mut written = Vec::new();
        let found = if self.position.is_some() { own(&mut written)? } else { FieldBytes::Null };
        let written = match found {
            FieldBytes::Null => None,
            FieldBytes::Own(bytes) => Some(bytes),
            FieldBytes::Encoded => Some(&written[..]),
        };
        self.read_stated(text, is_key, target, written)?;
        Ok(FieldBytes::Encoded)
    }

    /// Appends what the path of the file states, which is also what is written, if anything is.
    fn read_stated(
        &self,
        text: &str,
        is_key: bool,
        target: &mut Vec<u8>,
        written: Option<&[u8]>,
    ) -> Result<(), Option<String>> {
        let (column, start) = (TextColumn { guessed: false, ..self.text() }, target.len());
        if let FieldBytes::Own(bytes) = column.read(Written::Text(text.as_bytes()), is_key, target)? {
            target.extend_from_slice(bytes);
        }
        match written {
            Some(written) if *written != target[start..] => {
                let shown = self.key_type.display(written);
                Err(Some(stated_otherwise(&shown, text)))
            }
            _ => Ok(()),
        }
    }

    /// The type of this value together with those by which the type was guessed, if it is another one.
    pub(super) fn fitting(&self, written: Option<&str>) -> Option<String> {
        let mut seen = ColumnGuess::clone(self.seen.as_deref().filter(|_| self.guessed)?);
        seen.see(
            0,
            written.filter(|text| !text.is_empty()).map_or(Written::Nothing, |text| Written::Text(text.as_bytes())),
        );
        let GuessedType { key_type, nullable, .. } = seen.guessed(self.may_be_null);
        let key_type = seen.mixed_decimal(self.may_be_null).unwrap_or(key_type);
        let is_other = (key_type, nullable) != (self.key_type, self.nullable);
        is_other.then(|| format!("{key_type}{}", if nullable { "?" } else { "" }))
    }
}

/// A value, and what the folder of its file states of it.
pub(super) fn stated_otherwise(shown: &str, stated: &str) -> String {
    format!("{shown}, though its folder states {stated}")
}

/// What keeps numbers exact in the columns of the key and in those of the value.
fn remarks_on_scales(options: &InputOptions, keys: &[ReadColumn], values: &[ReadColumn]) -> Vec<String> {
    let of_values = values.iter().filter_map(|column| column.mixed_scales(&options.flag("type")));
    // Keys of joins are compared exactly.
    let keys = keys.iter().filter(|_| !options.leaves_null_keys_out());
    let of_keys = keys.filter_map(|key| {
        let remark = key.mixed_scales(&options.flag("type"))?;
        Some(format!("{remark}, and '{}=text' as they are written", key.name))
    });
    of_values.chain(of_keys).collect()
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
pub(super) fn tuple_of(columns: &[ReadColumn]) -> Option<KeyType> {
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
    /// `None` for a known column that the input does not have.
    pub(crate) values: Vec<Option<usize>>,
}

impl Selection {
    /// The columns of the keys, by default the first, and of the values, by default all others.
    ///
    /// # Errors
    /// [`InputError::NoSuchColumn`]; [`Failure::Usage`] for several columns of values that are
    /// bytes.
    pub(crate) fn of(options: &InputOptions, names: &[String]) -> Result<Self> {
        let names = &options.unique(names)[..];
        let position = |column: &Column| find(&options.path, names, column);
        let takes_all = !options.keys_only && options.payload.is_none();
        let named = options.known.as_deref().filter(|_| takes_all && options.has_columns());
        let keys: Vec<usize> = match (&options.key[..], named) {
            ([], Some(known)) => key_positions(options, known, names)?,
            ([], None) => vec![0],
            (columns, _) => columns.iter().map(position).collect::<Result<_, _>>()?,
        };
        let values: Vec<usize> = match &options.value[..] {
            _ if options.keys_only || options.payload.is_some() => Vec::new(),
            [] => (0..names.len()).filter(|column| !keys.contains(column)).collect(),
            columns => columns.iter().map(position).collect::<Result<_, _>>()?,
        };
        refuse_repeats(options, names, &keys, if options.value.is_empty() { &[] } else { &values })?;
        let values: Vec<Option<usize>> = match options.known_rows().filter(|_| takes_all) {
            Some(known) => by_name(options, known, names, &values)?,
            None => values.into_iter().map(Some).collect(),
        };
        if options.value_type.is_some() && values.len() > 1 {
            let count = counted(values.len() as u64, "column");
            return Err(Failure::usage(
                format!("{} has {count} besides the key, but values have one", shown(&options.path)),
                "choose it with --value, or read the keys only with --keys-only",
            ));
        }
        Ok(Self { keys, values })
    }

    /// The columns with their types as given; others are yet to be guessed.
    ///
    /// # Errors
    /// [`InputError::NoSuchColumn`] for a type of a column that does not exist; [`Failure::Usage`]
    /// for keys of as many columns as the key type has not components.
    pub(crate) fn columns(&self, options: &InputOptions, names: &[String]) -> Result<Vec<ReadColumn>> {
        let names = &options.unique(names)[..];
        let known = options.known_rows().map_or(&[][..], |known| &known.fields);
        let keys = self.keys.iter().map(|&position| Some(position));
        let mut columns: Vec<ReadColumn> = keys
            .chain(self.values.iter().copied())
            .enumerate()
            .map(|(index, position)| ReadColumn {
                position,
                name: match (position, index.checked_sub(self.keys.len()).and_then(|index| known.get(index))) {
                    (_, Some((_, field))) => field.name.clone(),
                    (Some(position), None) => names[position].clone(),
                    (None, None) => String::new(),
                },
                key_type: KeyType::Text,
                nullable: false,
                may_be_null: may_be_null(index < self.keys.len(), self.keys.len()) || options.leaves_null_keys_out(),
                guessed: true,
                is_known: false,
                is_zoned: false,
                is_united: false,
                stated: None,
                seen: None,
            })
            .collect();
        for (column, (_, field)) in columns[self.keys.len()..].iter_mut().zip(known) {
            (column.key_type, column.nullable, column.guessed) = (field.key_type, field.nullable, false);
            column.is_known = true;
        }
        state_types(&mut columns, options, names)?;
        if let Some(key_type) = options.key_type {
            let count = self.keys.len();
            match key_type {
                // A line may hold a tuple of one component as it is printed.
                KeyType::Tuple(tuple) if options.has_columns() && count == tuple.components().len() => {
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
        options.complete_keys(&mut columns[..self.keys.len()]);
        for column in columns[self.keys.len()..].iter_mut().take(usize::from(options.value_type.is_some())) {
            let Some(scalar) = options.value_type else { break };
            if !column.guessed && column.key_type != scalar {
                let message = format!("the values are of type {scalar}, not {}", column.key_type);
                return Err(Failure::usage(message, "remove --type of their column, or state that type"));
            }
            // No bytes are as good as none.
            (column.key_type, column.nullable, column.guessed) = (scalar, scalar == KeyType::Bytes, false);
        }
        Ok(columns)
    }
}

/// The failure for a column whose type is given twice by an option.
pub(crate) fn stated_twice(flag: &str, column: &str) -> Failure {
    Failure::usage(format!("{flag} gives the type of column '{column}' twice"), "give each column one type")
}

/// Refuses a column that is named twice.
fn refuse_repeats(options: &InputOptions, names: &[String], keys: &[usize], values: &[usize]) -> Result<()> {
    let name = |position: usize| &names[position];
    let hint = "name each column once; without --value, the values are all columns but the keys";
    for (flag, chosen) in [("--key ", keys), ("--value ", values)] {
        let is_repeated = |&(index, position): &(usize, &usize)| chosen[..index].contains(position);
        if let Some((_, &position)) = chosen.iter().enumerate().find(is_repeated) {
            let (message, path) = (format!("{flag}names column '{}' twice", name(position)), shown(&options.path));
            return Err(Failure::usage(format!("{path}: {message}"), hint));
        }
    }
    match keys.iter().find(|position| values.contains(position)) {
        Some(&position) => {
            let (column, path) = (name(position), shown(&options.path));
            let what = if options.key.is_empty() { "has the keys, and is named" } else { "is named by --key and" };
            Err(Failure::usage(format!("{path}: column '{column}' {what} by --value"), hint))
        }
        None => Ok(()),
    }
}

/// The positions of the columns of the key of known records. Where they have no names of their own, they are those of
/// an export, or the first column.
fn key_positions(options: &InputOptions, known: &KnownColumns, names: &[String]) -> Result<Vec<usize>> {
    let find = |name: &String| names.iter().position(|other| other == name);
    if !known.are_keys_named {
        return Ok(known.keys.iter().map(find).collect::<Option<_>>().unwrap_or_else(|| vec![0]));
    }
    let position = |name: &String| {
        find(name).ok_or_else(|| {
            let (path, holder) = (shown(&options.path), known.holder);
            let message = format!("{path} has no column '{name}', which has the keys of the {holder}");
            Failure::usage(message, "name the columns of the keys with --key, in their order")
        })
    };
    known.keys.iter().map(position).collect()
}

/// The columns of known rows among those `chosen` of an input, then the others, if they may be added.
fn by_name(
    options: &InputOptions,
    known: &KnownColumns,
    names: &[String],
    chosen: &[usize],
) -> Result<Vec<Option<usize>>> {
    let (path, holder) = (shown(&options.path), known.holder);
    let verb = if holder == INDEX { "load" } else { "import" };
    // A field with the name of a column of the key is exported by another one.
    let is_of = |position: usize, (name, field): &(String, Field)| [name, &field.name].contains(&&names[position]);
    let is_new = |position: &usize| !known.fields.iter().any(|field| is_of(*position, field));
    let added: Vec<usize> = chosen.iter().copied().filter(is_new).collect();
    if let Some(&first) = added.first().filter(|_| !known.grows) {
        let message = format!("{path} has a column '{}', but rows of the {holder} are {}", names[first], known.rows()?);
        let hint = match holder {
            INDEX => "choose the columns to load with --value",
            _ => "choose the columns to import with --value, or add this one to the keyspace with --add-columns",
        };
        return Err(Failure::usage(message, hint));
    }
    let mut positions = Vec::new();
    for known_field in &known.fields {
        let (name, field) = known_field;
        let position = chosen.iter().copied().find(|&position| is_of(position, known_field));
        if position.is_none() && !field.nullable {
            let message =
                format!("{path} has no column '{name}' to {verb}; rows of the {holder} are {}", known.rows()?);
            let hint = format!("add the column to the file; '{name}' cannot be null, as the type shows");
            return Err(Failure::usage(message, hint));
        }
        positions.push(position);
    }
    Ok(positions.into_iter().chain(added.into_iter().map(Some)).collect())
}

/// Gives columns the types that options state for them.
fn state_types(columns: &mut [ReadColumn], options: &InputOptions, names: &[String]) -> Result<()> {
    let mut typed = Vec::new();
    for given in &options.column_types {
        let position = find(&options.path, names, &given.column)?;
        if typed.contains(&position) {
            return Err(stated_twice("--type", &names[position]));
        }
        typed.push(position);
        for column in columns.iter_mut().filter(|column| column.position == Some(position)) {
            (column.key_type, column.nullable, column.guessed) = (given.key_type, given.nullable, false);
        }
    }
    Ok(())
}

impl InputOptions {
    /// The names of the columns: without a header those of known columns, if there are as many.
    fn named(&self, names: &[String]) -> Vec<String> {
        match &self.known {
            Some(known) if !self.has_header() && known.names.len() == names.len() => known.names.clone(),
            _ => names.to_vec(),
        }
    }

    /// Refuses keys alone where values are to be of a type.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(super) fn check_no_values(&self) -> Result<()> {
        let scalar = match self.value_type {
            Some(scalar) if !self.pads_bytes || scalar != KeyType::Bytes => scalar,
            _ => return Ok(()),
        };
        let message = format!("{} has no column of values of type {scalar}, but keys alone", shown(&self.path));
        let hint = match (self.has_columns(), scalar) {
            (true, KeyType::Bytes) => "choose a column of the values with --value, or give empty ones by --payload 0",
            (true, _) => "choose a column of the values with --value",
            (false, KeyType::Bytes) => "give empty values by --payload 0, or use another keyspace for keys alone",
            (false, _) => "give a file with columns, as CSV; or use another keyspace for keys alone",
        };
        Err(Failure::usage(message, hint))
    }

    /// The columns of known rows, unless the values are to be scalars.
    fn known_rows(&self) -> Option<&KnownColumns> {
        self.known.as_deref().filter(|known| known.is_row && self.value_type.is_none())
    }

    /// The names of the columns, each once, as they are stored and asked for. The column of lines has none.
    pub(super) fn unique(&self, names: &[String]) -> Vec<String> {
        if self.has_columns() { unique_names(names) } else { names.to_vec() }
    }

    /// Whether the format has columns.
    pub(crate) fn has_columns(&self) -> bool {
        matches!(self.format(), Format::Csv | Format::Tsv | Format::Jsonl | Format::Parquet)
    }
}

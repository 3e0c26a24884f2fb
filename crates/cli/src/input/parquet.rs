//! The reader of Parquet files: its columns have types.

use super::builder::RecordBuilder;
use super::columns::{Column, find};
use super::record::{Input, InputFacts, Record};
use super::schema::{ReadColumn, Schema, Selection};
use super::{InputColumns, InputError, InputOptions};
use crate::beside::fields::formatted;
use crate::failure::Result;
use crate::output::warn_once;
use crate::parquet_out::{TYPES, column_type};
use crate::reading::pipe::open_seekable;
use crate::urls::is_url;
use crate::voice::Command;
use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::schema::types::{Type, TypePtr};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, TimeUnit as ArrowUnit};
use ogive::KeyType;
use ogive::types::{ColumnPlace, KeyColumn, RecordColumn, RecordType, TimeUnit, Value, ValueType};
use ogive_arrow::{append_frequent_key, key_type_of, key_type_of_field, type_name, value_of};
use ogive_parquet::{ParquetIndexError, ParquetRows, ParquetVoice, RowsOptions, check_table_log, wider};
use ogive_text::FieldBytes;
use std::path::{Path, PathBuf};

/// The columns to read of a Parquet file, with the types that it states.
///
/// # Errors
/// [`InputError`] for a file that cannot be read, and for nested columns.
pub(super) fn schema(options: &InputOptions) -> Result<Schema> {
    let path = &options.path;
    refuse_part_of_table(options)?;
    let rows = open(options.source(), path, RowsOptions::default().columns(Vec::new()))?;
    let (fields, hinted) = (rows.file_columns(), rows.hinted_columns());
    let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
    if names.is_empty() {
        return Err(InputError::Empty { path: path.clone() }.into());
    }
    options.key.iter().try_for_each(|column| find(path, &names, column).map(drop))?;
    let told = ToldTypes::of(&hinted, fields);
    let options = &told.as_ref().map_or_else(|| options.clone(), |told| told.complete(options));
    let selection = Selection::of(options, &names)?;
    let mut columns = selection.columns(options, &names)?;
    let mut remarks = Vec::new();
    for column in &mut columns {
        let Some(position) = column.position else { continue };
        let (Some(field), Some(hinted)) = (fields.get(position), hinted.fields().get(position)) else { continue };
        if !column.guessed {
            check_unit(path, field, hinted, column.key_type)?;
            continue;
        }
        let told = told.as_ref().and_then(|told| told.columns.get(position));
        remarks.extend(remark_on_zone(hinted));
        (column.key_type, column.nullable) = match told {
            Some(told) => (told.key_type, told.nullable),
            None => {
                let nullable = field.get_basic_info().repetition() == Repetition::OPTIONAL;
                (type_of(path, field, hinted)?, nullable)
            }
        };
        column.guessed = false;
    }
    // Keys of one column are never null, even if the file would allow it, unless they are tuples of it.
    let count = selection.keys.len();
    if count == 1
        && !options.leaves_null_keys_out()
        && options.key_type.is_none_or(|key_type| key_type == columns[0].key_type)
    {
        columns[0].nullable = false;
    }
    let mut values = columns.split_off(count);
    if let Some(told) = told.filter(|told| told.keys.iter().eq(columns.iter().map(|key| &key.name))) {
        values.iter_mut().for_each(|column| column.name = told.own_name(column));
    }
    Schema::new(options, columns, values, true, remarks)
}

/// The columns of a Parquet file; an export tells which ones have the keys.
///
/// # Errors
/// As [`schema`].
pub(super) fn column_names(options: &InputOptions) -> Result<InputColumns> {
    let rows = open(options.source(), &options.path, RowsOptions::default().columns(Vec::new()))?;
    let fields = rows.file_columns();
    Ok(match ToldTypes::of(&rows.hinted_columns(), fields) {
        Some(told) => InputColumns::Keys(told.keys),
        None => InputColumns::Named(fields.iter().map(|field| field.name().to_owned()).collect()),
    })
}

/// The names of the columns of a file.
///
/// # Errors
/// As [`schema`].
pub(super) fn names(options: &InputOptions) -> Result<Vec<String>> {
    let rows = open(options.source(), &options.path, RowsOptions::default().columns(Vec::new()))?;
    Ok(rows.file_columns().iter().map(|field| field.name().to_owned()).collect())
}

/// The columns to read of the Parquet files of a folder, whose columns have these names: a column has the type that
/// holds the values of all files.
///
/// # Errors
/// As [`schema`]; [`InputError`] for a column whose types have none in common.
pub(super) fn folder_schema(options: &InputOptions, files: &[InputOptions], names: &[String]) -> Result<Schema> {
    if names.is_empty() {
        return Err(InputError::Empty { path: options.path.clone() }.into());
    }
    let selection = Selection::of(options, names)?;
    let mut columns = selection.columns(options, names)?;
    let mut found: Vec<Option<CommonType>> = vec![None; columns.len()];
    let mut remarks: Vec<String> = Vec::new();
    for file in files {
        let path = &file.path;
        let rows = open(file.source(), path, RowsOptions::default().columns(Vec::new()))?;
        let (fields, hinted) = (rows.file_columns(), rows.hinted_columns());
        let own = file.unique(&fields.iter().map(|field| field.name().to_owned()).collect::<Vec<_>>());
        for (at, (column, common)) in columns.iter_mut().zip(&mut found).enumerate() {
            let Some(name) = column.position.and_then(|position| names.get(position)) else { continue };
            let place = own.iter().position(|own| own == name);
            let of_file = place.and_then(|place| Some((fields.get(place)?, hinted.fields().get(place)?)));
            let Some((field, hinted)) = of_file else {
                column.nullable |= column.guessed;
                continue;
            };
            if !column.guessed {
                check_unit(path, field, hinted, column.key_type)?;
                continue;
            }
            column.nullable |= field.get_basic_info().repetition() == Repetition::OPTIONAL;
            remarks.extend(remark_on_zone(hinted).filter(|remark| !remarks.contains(remark)));
            if *hinted.data_type() != DataType::Null {
                let own = CommonType { key_type: type_of(path, field, hinted)?, data_type: hinted.data_type().clone() };
                *common = Some(match common.take() {
                    None => own,
                    Some(known) => known.with(own, (name, column.nullable && at >= selection.keys.len()), path)?,
                });
            }
        }
    }
    for (column, common) in columns.iter_mut().zip(found).filter(|(column, _)| column.guessed) {
        // Without a value in any file it is of nulls.
        column.key_type = common.map_or(KeyType::Text, |common| common.key_type);
        column.guessed = false;
    }
    let count = selection.keys.len();
    if count == 1
        && !options.leaves_null_keys_out()
        && options.key_type.is_none_or(|key_type| key_type == columns[0].key_type)
    {
        columns[0].nullable = false;
    }
    let values = columns.split_off(count);
    Schema::new(options, columns, values, true, remarks)
}

/// What is not kept of a column whose timestamps have a time zone other than UTC.
fn remark_on_zone(hinted: &Field) -> Option<String> {
    let DataType::Timestamp(_, Some(zone)) = hinted.data_type() else { return None };
    let is_utc = ["UTC", "Etc/UTC", "Z", "+00:00", "GMT"].contains(&&**zone);
    let name = hinted.name();
    (!is_utc).then(|| format!("column '{name}' has the time zone {zone}; its timestamps are kept in UTC, without it"))
}

/// The type of a column in several files.
#[derive(Clone, Debug)]
struct CommonType {
    key_type: KeyType,
    data_type: DataType,
}

impl CommonType {
    /// The type that holds the values of another file as well, which is at `path`.
    fn with(self, other: Self, (name, may_be_null): (&str, bool), path: &Path) -> Result<Self, InputError> {
        if self.key_type == other.key_type {
            return Ok(self);
        }
        let data_type = wider(&self.data_type, &other.data_type);
        // There is no type of Arrow for unsigned and signed integers of 64 bits.
        let are_integers = self.data_type.is_integer() && other.data_type.is_integer();
        if are_integers && (data_type.is_none() || self.key_type == KeyType::I128) {
            return Ok(Self { key_type: KeyType::I128, ..self });
        }
        let common =
            data_type.and_then(|data_type| Some(Self { key_type: key_type_of(&data_type, false)?, data_type }));
        common.ok_or_else(|| {
            let (before, here) = (self.key_type, other.key_type);
            // Floats hold most of these numbers, and each that they do not hold is an error.
            let are_numbers = self.data_type.is_numeric() && other.data_type.is_numeric();
            let (wanted, mark) = (if are_numbers { "f64" } else { "text" }, if may_be_null { "?" } else { "" });
            let detail = format!(
                "column '{name}' is {here} there, and {before} in files before it; give it a type with --type \
                 '{name}={wanted}{mark}'"
            );
            InputError::Malformed { path: path.to_owned(), detail }
        })
    }
}

/// The types of records as an export tells them beside the columns.
#[derive(Debug)]
struct ToldTypes {
    types: RecordType,
    /// The names of the columns of the key, in the order of its components.
    keys: Vec<String>,
    /// All columns, as they are in the file.
    columns: Vec<RecordColumn>,
}

/// What the type of a column is by, whatever its length in bytes: integers need not state a logical type.
#[derive(PartialEq)]
enum Shape<'t> {
    Logical(&'t LogicalType),
    Plain(Physical),
}

impl<'t> Shape<'t> {
    fn of(field: &'t Type) -> Option<Self> {
        let Type::PrimitiveType { basic_info, physical_type, .. } = field else { return None };
        Some(match basic_info.logical_type_ref() {
            Some(LogicalType::Integer(integer)) if integer.is_signed && integer.bit_width >= 32 => {
                Self::Plain(*physical_type)
            }
            Some(logical) => Self::Logical(logical),
            None => Self::Plain(*physical_type),
        })
    }
}

impl ToldTypes {
    /// The types that the metadata of a file tells, if its columns are those of an export of such records: another
    /// program may have written others, and kept the metadata.
    fn of(hinted: &ArrowSchema, fields: &[TypePtr]) -> Option<Self> {
        let told: serde_json::Value = serde_json::from_str(hinted.metadata().get(TYPES)?).ok()?;
        let names = told["keys"].as_array()?.iter().map(|name| name.as_str().map(str::to_owned));
        let keys = names.collect::<Option<Vec<String>>>()?;
        let place = |name: &String| fields.iter().position(|field| field.name() == name);
        let column =
            |name: &String| Some(KeyColumn { name: name.clone(), position: u16::try_from(place(name)?).ok()? });
        let key_columns = keys.iter().map(column).collect::<Option<Vec<_>>>()?;
        let key_type: KeyType = told["key_type"].as_str()?.parse().ok()?;
        let values = told["value_type"].as_str().map(str::parse::<ValueType>).transpose().ok()?;
        let is_alone = values.is_none();
        let types = RecordType::new(key_type, values.unwrap_or_default()).key_columns(key_columns);
        let types = if is_alone { types.keys_only() } else { types };
        let mut columns = types.columns();
        // Empty values of bytes have no column.
        if types.values.is_bytes() && fields.len() < columns.len() {
            columns.retain(|column| matches!(column.place, ColumnPlace::Key(_)));
        }
        let is_same = |(column, field): (&RecordColumn, &TypePtr)| {
            column.name == field.name()
                && column_type(column).is_ok_and(|written| Shape::of(&written) == Shape::of(field))
        };
        let are_same = columns.len() == fields.len() && columns.iter().zip(fields).all(is_same);
        are_same.then_some(Self { types, keys, columns })
    }

    /// The name of the field that a column of values holds: a column is named otherwise if one of the key has its name.
    fn own_name(&self, column: &ReadColumn) -> String {
        let place = column.position.and_then(|position| self.columns.get(position)).map(|column| column.place);
        let field = match (place, &self.types.values) {
            (Some(ColumnPlace::Value(index)), ValueType::Row(row)) => row.fields().get(index),
            _ => None,
        };
        field.map_or_else(|| column.name.clone(), |field| field.name.clone())
    }

    /// The options of an input, with the keys and the type of the values as told, where neither options nor known
    /// records say so.
    fn complete(&self, options: &InputOptions) -> InputOptions {
        let mut options = options.clone();
        if options.known.is_some() || !options.key.is_empty() {
            return options;
        }
        options.key = self.keys.iter().cloned().map(Column).collect();
        if options.column_types.is_empty() {
            options.key_type = options.key_type.or(Some(self.types.keys));
        }
        let takes_all = options.value.is_empty() && !options.keys_only && options.payload.is_none();
        if let ValueType::Scalar(scalar) = self.types.values
            && takes_all
            && options.column_types.is_empty()
            && !self.types.is_keys_only()
        {
            options.value_type = options.value_type.or(Some(scalar));
        }
        options
    }
}

/// Refuses a file of a lake table whose log says that it does not show the rows of the table, or warns of it.
///
/// # Errors
/// [`ParquetIndexError::TableLog`].
fn refuse_part_of_table(options: &InputOptions) -> Result<()> {
    let path = &options.path;
    if !path.is_file() && !is_url(path) {
        return Ok(());
    }
    let warnings = check_table_log(path, options.ignore_table_log)?;
    warnings.iter().for_each(|warning| warn_once(warning));
    Ok(())
}

/// A type that the values of a column are to be converted to, since the writer hints at it and Parquet does not state
/// it. INT96 has one unit, whatever the writer had before.
fn hint<'a>(hinted: &'a ArrowSchema, position: Option<usize>, stored: &Type) -> Option<&'a DataType> {
    let field = hinted.fields().get(position?)?;
    let is_unstated = matches!(
        field.data_type(),
        DataType::Date64
            | DataType::Timestamp(ArrowUnit::Second, _)
            | DataType::Time32(ArrowUnit::Second)
            | DataType::Decimal256(_, 0)
    );
    (is_unstated && !is_int96(stored) && key_type_of_field(field).is_some()).then_some(field.data_type())
}

/// The type of a column: the same as in an index beside the file and in Python, by the type that the writer hints at
/// where Parquet has no other.
fn type_of(path: &Path, stored: &Type, hinted: &Field) -> Result<KeyType, InputError> {
    let known = match hinted.data_type() {
        _ if is_int96(stored) => Some(KeyType::Timestamp(TimeUnit::Microsecond)),
        of if is_uuid(stored) => key_type_of(of, true),
        _ => key_type_of_field(hinted),
    };
    let name = hinted.name();
    let other = "choose others with --key and --value";
    let is_nested = stored.is_group() || stored.get_basic_info().repetition() == Repetition::REPEATED;
    known.ok_or_else(|| InputError::Malformed {
        path: path.to_owned(),
        detail: match hinted.data_type() {
            _ if is_nested => format!("column '{name}' is nested, which is no type here; {other}"),
            DataType::Null => format!(
                "column '{name}' has neither values nor a type; give it one with --type '{name}=text?', or {other}"
            ),
            DataType::Duration(_) => format!(
                "column '{name}' is {}, which is no type here; read its numbers with --type '{name}=i64', or {other}",
                type_name(hinted)
            ),
            _ => format!("column '{name}' is {}, which is no type here; {other}", type_name(hinted)),
        },
    })
}

/// Opens the file at `source`, which messages call `path`.
fn open(source: &Path, path: &Path, options: RowsOptions) -> Result<ParquetRows, InputError> {
    if !is_url(source) {
        open_seekable(source).map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    }
    // What the writer hints at besides the types that Parquet states is converted: see `hint`.
    ParquetRows::open_with(source, &options.plain_types()).map_err(|error| malformed(path, error))
}

/// Reads one record per row.
#[derive(Debug)]
pub(crate) struct ParquetInput {
    path: PathBuf,
    rows: ParquetRows,
    facts: InputFacts,
    builder: RecordBuilder,
    /// Number of columns of the key, which come first.
    keys: usize,
    /// The place of each column of the key and the value in the batches; `None` for those that the file does not have.
    places: Vec<Option<usize>>,
    /// The types of those places that the writer hints at and Parquet does not state.
    hints: Vec<Option<DataType>>,
    /// Whether those places are UUIDs, which only Parquet states.
    uuids: Vec<bool>,
    /// The rows that were read, and the next of them.
    batch: Option<(RecordBatch, usize)>,
    done: u64,
    length_bytes: u64,
}

impl ParquetInput {
    /// Opens the file at `source`, which messages call `path`, to read the columns of a schema.
    pub(crate) fn open(source: &Path, path: &Path, schema: &Schema) -> Result<Self, InputError> {
        let read: Vec<&ReadColumn> = schema.keys.iter().chain(&schema.values).collect();
        let all = open(source, path, RowsOptions::default().columns(Vec::new()))?;
        let (all, hinted) = (all.file_columns(), all.hinted_columns());
        let (mut columns, mut fine): (Vec<String>, Vec<String>) = Default::default();
        let (mut hints, mut uuids) = (Vec::new(), Vec::new());
        let mut places = Vec::with_capacity(read.len());
        for column in read {
            let field = column.position.and_then(|position| all.get(position));
            places.push(field.map(|field| {
                columns.iter().position(|name| name == field.name()).unwrap_or_else(|| {
                    columns.push(field.name().to_owned());
                    let hint = hint(&hinted, column.position, field);
                    hints.push(hint.cloned());
                    uuids.push(is_uuid(field));
                    columns.len() - 1
                })
            }));
            fine.extend(field.filter(|field| is_fine(field, column.key_type)).map(|field| field.name().to_owned()));
        }
        // Columns are told apart by their names.
        let is_double = |name: &&String| all.iter().filter(|field| field.name() == name.as_str()).count() > 1;
        if let Some(name) = columns.iter().find(is_double) {
            let detail = format!("two columns have the name '{name}'; write the file again with other names");
            return Err(InputError::Malformed { path: path.to_owned(), detail });
        }
        let length_bytes = match is_url(source) {
            true => 0,
            false => {
                let length = std::fs::metadata(source);
                length.map_err(|source| InputError::Io { path: path.to_owned(), source })?.len()
            }
        };
        let rows = open(source, path, RowsOptions::default().columns(columns).nanoseconds(fine))?;
        let facts = InputFacts {
            path: path.to_owned(),
            record_type: schema.record_type.clone(),
            value_width: schema.value_width(),
            records: Some(rows.len()),
            length_bytes: Some(length_bytes),
            may_be_empty: true,
        };
        let (builder, keys) = (RecordBuilder::new(path, schema), schema.keys.len());
        let path = path.to_owned();
        Ok(Self { path, rows, facts, builder, keys, places, hints, uuids, batch: None, done: 0, length_bytes })
    }
}

impl Input for ParquetInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        loop {
            while self.batch.as_ref().is_none_or(|(batch, row)| *row == batch.num_rows()) {
                match self.rows.next() {
                    None => return Ok(None),
                    Some(Ok(batch)) => self.batch = Some((as_hinted(&self.path, batch, &self.hints)?, 0)),
                    Some(Err(error)) => return Err(malformed(&self.path, error)),
                }
            }
            let Some((batch, next)) = &mut self.batch else { return Ok(None) };
            let row = *next;
            *next += 1;
            self.done += 1;
            let (places, uuids) = (&self.places, &self.uuids);
            let array = |index: usize| {
                let place = places.get(index).copied().flatten()?;
                Some((batch.column(place), uuids.get(place) == Some(&true)))
            };
            let keys = self.keys;
            let build = |index, column: &ReadColumn, target: &mut Vec<u8>| {
                let own = |target: &mut Vec<u8>| convert(column, array(index), row, index < keys, target);
                column.read_with_stated(index < keys, target, own)
            };
            if self.builder.fill(None, build)? {
                return Ok(Some(self.builder.record()));
            }
        }
    }

    fn null_keys(&self) -> u64 {
        self.builder.left_out()
    }

    fn position_bytes(&self) -> u64 {
        let records = self.facts.records.unwrap_or(0).max(1);
        (u128::from(self.length_bytes) * u128::from(self.done.min(records)) / u128::from(records)) as u64
    }
}

/// A batch whose columns have the types that the writer hints at.
fn as_hinted(path: &Path, batch: RecordBatch, hints: &[Option<DataType>]) -> Result<RecordBatch, InputError> {
    if hints.iter().all(Option::is_none) {
        return Ok(batch);
    }
    let column = |(array, hint): (&ArrayRef, &Option<DataType>)| match hint {
        Some(hint) => arrow_cast::cast(array, hint).map(|array| (hint.to_string(), array)),
        None => Ok((String::new(), array.clone())),
    };
    let columns = batch.columns().iter().zip(hints).map(column).collect::<Result<Vec<_>, _>>();
    // Columns are found by their places.
    let columns = columns.and_then(|columns| {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
    });
    columns.map_err(|error| InputError::Malformed { path: path.to_owned(), detail: error.to_string() })
}

/// The bytes of the field of a row, appended to `target`; the column is not there without an array, which comes with
/// whether it is one of UUIDs.
fn convert<'a>(
    column: &ReadColumn,
    array: Option<(&ArrayRef, bool)>,
    row: usize,
    is_key: bool,
    target: &mut Vec<u8>,
) -> Result<FieldBytes<'a>, Option<String>> {
    let key_type = column.key_type;
    // Floats keep all their bits in values.
    let has_key_bytes = is_key || !matches!(key_type, KeyType::F32 | KeyType::F64);
    let array = array.filter(|(array, _)| !array.is_null(row) && *array.data_type() != DataType::Null);
    let Some((array, is_uuid)) = array else { return if column.nullable { Ok(FieldBytes::Null) } else { Err(None) } };
    let is_own = !is_uuid || key_type == KeyType::Uuid;
    if is_own && has_key_bytes && append_frequent_key(array, key_type, row, target) {
        return Ok(FieldBytes::Encoded);
    }
    let found = key_type_of(array.data_type(), is_uuid).map(|natural| (natural, value_of(array, natural, row)));
    // Exactly, by the units and scales of both; else by the text of the value.
    let exact = Some(value_of(array, key_type, row)).filter(|exact| is_own && *exact != Value::Null);
    let other = || found.as_ref().and_then(|(natural, value)| by_text(*natural, value, key_type, has_key_bytes));
    let encoded = exact.or_else(other).and_then(|found| match has_key_bytes {
        true => key_type.encode(&found).ok(),
        false => ValueType::Scalar(key_type).encode(&found).ok(),
    });
    if let Some(bytes) = encoded {
        target.extend_from_slice(&bytes);
        return Ok(FieldBytes::Encoded);
    }
    let shown = found.and_then(|(natural, value)| natural.encode(&value).ok().map(|bytes| natural.display(&bytes)));
    // A number that its natural type cannot hold is shown, too.
    let shown = shown.or_else(|| formatted(array, row).ok());
    Err(Some(ogive_text::shortened(shown.unwrap_or_default().as_bytes())))
}

fn is_uuid(field: &Type) -> bool {
    matches!(field.get_basic_info().logical_type_ref(), Some(LogicalType::Uuid))
}

fn is_int96(field: &Type) -> bool {
    field.is_primitive() && field.get_physical_type() == Physical::INT96
}

/// Whether a column is one of timestamps of the type INT96, which are to be read in nanoseconds.
fn is_fine(field: &Type, asked: KeyType) -> bool {
    is_int96(field) && asked == KeyType::Timestamp(TimeUnit::Nanosecond)
}

/// Fails for a type that would read the numbers of a column in another unit or scale than they are written in.
fn check_unit(path: &Path, field: &Type, hinted: &Field, asked: KeyType) -> Result<(), InputError> {
    let of = hinted.data_type();
    let natural = type_of(path, field, hinted).ok();
    // Milliseconds of midnights are days.
    let is_day = *of == DataType::Date64 && !is_int96(field) && asked == KeyType::Date;
    let is_kept = match natural {
        // Each value has a text, which the hint about one that is of no other type names.
        Some(_) if asked == KeyType::Text => true,
        // A value that is none in the other unit or scale is refused with its record.
        Some(KeyType::Time(_)) => matches!(asked, KeyType::Time(_)),
        Some(KeyType::Timestamp(_)) => matches!(asked, KeyType::Timestamp(_)) || is_day,
        Some(KeyType::Date) => matches!(asked, KeyType::Date | KeyType::I32 | KeyType::I64),
        Some(KeyType::Decimal { .. }) => matches!(asked, KeyType::Decimal { .. }),
        Some(KeyType::Uuid) => asked == KeyType::Uuid,
        None => !matches!(of, DataType::Duration(_)) || asked == KeyType::I64,
        _ => true,
    };
    if is_kept {
        return Ok(());
    }
    let (is, best) = match natural {
        Some(natural) => (natural.to_string(), natural),
        None => (type_name(hinted), KeyType::I64),
    };
    let name = field.name();
    let detail =
        format!("column '{name}' is {is}, and is not converted to {asked}; leave its type out, or write {best}");
    Err(InputError::Malformed { path: path.to_owned(), detail })
}

/// The value of a field as one of a type that its text has, or the number of its days; `None` if it is not one.
/// Numbers have a text, but become other numbers exactly or not at all.
fn by_text(natural: KeyType, value: &Value, key_type: KeyType, is_key: bool) -> Option<Value> {
    let is_plain = matches!(key_type, KeyType::Text | KeyType::Bytes);
    let is_count = matches!(key_type, KeyType::I32 | KeyType::I64);
    let text = match value {
        Value::Signed(days) if natural == KeyType::Date && !is_plain => {
            return is_count.then_some(Value::Signed(*days));
        }
        Value::Bytes(_) if natural == KeyType::Uuid && key_type == KeyType::Text => {
            return Some(Value::Text(natural.display(&natural.encode(value).ok()?)));
        }
        Value::Bytes(bytes) if key_type == KeyType::Text => {
            return String::from_utf8(bytes.clone()).ok().map(Value::Text);
        }
        Value::Text(text) if key_type == KeyType::Bytes => return Some(Value::Bytes(text.clone().into_bytes())),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => String::from_utf8(bytes.clone()).ok()?,
        Value::Bool(_) | Value::Unsigned(_) | Value::Signed(_) | Value::Float(_) if is_plain => {
            natural.display(&ValueType::Scalar(natural).encode(value).ok()?)
        }
        _ => return None,
    };
    // Floats keep the sign of zero in values.
    match is_key {
        true => key_type.decode(&key_type.parse(&text).ok()?).ok(),
        false => ValueType::Scalar(key_type).decode(&ValueType::Scalar(key_type).parse(&text).ok()?).ok(),
    }
}

/// An error of the file that messages call `path`.
fn malformed(path: &Path, error: ParquetIndexError) -> InputError {
    let detail = match error {
        ParquetIndexError::Malformed { detail, .. } => {
            format!("not a readable Parquet file: {}", ogive_text::escaped(detail.as_bytes()))
        }
        ParquetIndexError::NoTimestamp { row, column, value, detail, remedy, .. } => {
            let advice = remedy.and_then(|remedy| Command.advise_on_parquet(&remedy));
            let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
            format!("row {row} of column '{column}' is {value}, {detail}{advice}")
        }
        error => ogive_text::escaped(error.told_in(&Command).as_bytes()).into_owned(),
    };
    InputError::Malformed { path: path.to_owned(), detail }
}

//! Options of inputs, and the choice of a reader.

use super::columns::Column;
use super::csv::{CsvInput, CsvLayout};
use super::keys::{KeyGuess, tuple_of};
use super::lines::LinesInput;
use super::payload::WithPayload;
use super::sosd::SosdInput;
use super::{Input, InputFacts};
use crate::failure::{Failure, Result};
use crate::sample::sample;
use crate::size::{ByteSize, counted};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::table::{Table, TableOptions};
use ogive::tune::Sample;
use ogive::types::Value;
use ogive::{Error, FileFormat, KeyType};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Keys that are sampled to guess their type.
const SAMPLE_KEYS: usize = 1000;
/// Longest row of a CSV file, unless another limit is given. A row is held in memory.
pub(crate) const ROW_LIMIT: ByteSize = ByteSize(64 << 20);
/// Extensions of tables and indexes in the documentation.
const TABLE_EXTENSION: &str = "ogive";
const INDEX_EXTENSION: &str = "ogx";

/// Format of an input: a u64 count and sorted little-endian integers, lines that are keys, comma-separated or
/// tab-separated values, or Parquet if built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Sosd,
    Lines,
    Csv,
    Tsv,
    Parquet,
}

/// The input of a command. Shared by all commands that read one.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct InputOptions {
    #[cfg_attr(
        feature = "parquet",
        doc = "File to read: SOSD (.u64, _uint64), lines of text, CSV, TSV, or Parquet; - for standard input"
    )]
    #[cfg_attr(
        not(feature = "parquet"),
        doc = "File to read: SOSD (.u64, _uint64), lines of text, CSV or TSV; - for standard input (Parquet in builds \
               with `--features parquet`)"
    )]
    #[arg(value_name = "INPUT", value_parser = OsStringValueParser::new().map(input_path))]
    pub(crate) path: PathBuf,

    /// Format of INPUT [default: by its name, else lines]
    #[arg(long, value_enum, help_heading = "Input")]
    pub(crate) format: Option<Format>,

    /// Column of the keys, by name or number from 1; repeat it for keys of several columns [default: the first]
    #[arg(long, value_name = "COL", help_heading = "Input")]
    pub(crate) key: Vec<Column>,

    /// Column of the values, by name or number from 1 [default: no values]
    #[arg(long, value_name = "COL", help_heading = "Input")]
    pub(crate) value: Option<Column>,

    /// Treat the first row of a CSV or TSV file as a record, not as column names
    #[arg(long, help_heading = "Input")]
    pub(crate) no_header: bool,

    /// Type of the keys: bool, u8 to u128, i8 to i128, f32, f64, text, bytes, bytes1 to bytes255 for bytes of one
    /// length, uuid, date, time(UNIT), timestamp(UNIT), decimal(P,S), or a tuple such as '(text, date desc)' [default:
    /// u64 or i64 if all keys are such integers, else text; text for a pipe]
    #[arg(long, value_name = "TYPE", help_heading = "Input")]
    pub(crate) key_type: Option<KeyType>,

    /// Give each record a value of N bytes derived from its key, for measurements
    #[arg(long, value_name = "N", conflicts_with = "value", help_heading = "Input",
          value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    pub(crate) payload: Option<u32>,

    /// Longest row of a CSV or TSV file; reading it takes up to three times its size in memory. (Lines and keys have at
    /// most 64 KiB, values 1 GiB)
    #[arg(long, value_name = "N", default_value = "64MiB", help_heading = "Input")]
    pub(crate) row_limit: ByteSize,
}

impl InputOptions {
    /// The format, as given or by the file's name.
    pub(crate) fn format(&self) -> Format {
        self.format.unwrap_or_else(|| match sosd_key_bytes(&self.path) {
            Some(_) => Format::Sosd,
            None => match extension(&self.path).as_str() {
                "csv" => Format::Csv,
                "tsv" => Format::Tsv,
                "parquet" => Format::Parquet,
                _ => Format::Lines,
            },
        })
    }

    /// Refuses a table as an input, which would otherwise be read as text.
    ///
    /// # Errors
    /// [`Failure::Refused`] for an Ogive table, even a damaged one, unless `--format` is given.
    pub(crate) fn refuse_table(&self) -> Result<()> {
        if self.format.is_some() || !self.path.is_file() {
            return Ok(());
        }
        match Table::open_path(&self.path, &TableOptions::default()) {
            Ok(_)
            | Err(
                Error::Damaged { .. }
                | Error::UnknownVersion { .. }
                | Error::Changed { .. }
                | Error::MemoryShort { .. },
            ) => {
                let path = self.path.display();
                Err(Failure::refused(
                    format!("{path} is an Ogive table, not an input file"),
                    "use `ogive scan` to print its records, or `ogive build --external` to add a second index",
                ))
            }
            Err(_) => self.refuse_damaged(),
        }
    }

    /// Refuses a file of Ogive that is no table, or too damaged to be opened as one, which would otherwise be read as
    /// text.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the file has the extension or a magic number of an Ogive file, unless `--format` is
    /// given; errors of reading it.
    pub(crate) fn refuse_damaged(&self) -> Result<()> {
        if self.format.is_some() || !self.path.is_file() {
            return Ok(());
        }
        let (what, advice) = match (FileFormat::of_path(&self.path)?, extension(&self.path).as_str()) {
            (Some(FileFormat::StoreFile), _) => ("is a file of an Ogive store", "use `ogive db export` on its folder"),
            (Some(FileFormat::PageFile), _) => (
                "is an Ogive index",
                "print its entries with `ogive index scan`, or check it with `ogive index verify`",
            ),
            (Some(FileFormat::PageLog), _) => ("is the log of an Ogive index", "use `ogive index scan` on that index"),
            (Some(_), _) => ("is a damaged Ogive table", "check it with `ogive verify`"),
            (None, TABLE_EXTENSION) => ("has the name of an Ogive table and is none", "check it with `ogive verify`"),
            (None, INDEX_EXTENSION) => {
                ("has the name of an Ogive index and is none", "check it with `ogive index verify`")
            }
            (None, _) => return Ok(()),
        };
        Err(Failure::refused(
            format!("{} {what}, not an input file", self.path.display()),
            format!("{advice}; if it is text, use --format lines (in a join, --left-format or --right-format)"),
        ))
    }

    /// Whether the file itself states the type of its keys.
    pub(crate) fn has_typed_keys(&self) -> bool {
        matches!(self.format(), Format::Sosd | Format::Parquet)
    }

    /// Whether the file can be read more than once. A pipe cannot.
    pub(crate) fn is_rereadable(&self) -> bool {
        std::fs::metadata(&self.path).map_or(true, |metadata| metadata.is_file())
    }

    /// The type to try first: the given one, else a guess from the first keys.
    pub(crate) fn first_key_type(&self) -> Result<KeyType> {
        match (self.key_type, self.format()) {
            (Some(key_type), _) => Ok(key_type),
            (None, Format::Sosd) => Ok(KeyType::U64),
            (None, Format::Lines | Format::Csv | Format::Tsv) if self.is_rereadable() => self.guess(),
            (None, Format::Lines | Format::Csv | Format::Tsv) => Ok(KeyType::Text),
            #[cfg(feature = "parquet")]
            (None, Format::Parquet) => Ok(self.open_parquet()?.facts().key_type),
            #[cfg(not(feature = "parquet"))]
            (None, Format::Parquet) => Err(no_parquet()),
        }
    }

    /// Opens the input with keys of `key_type`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that do not apply to this format; [`InputError`] for a bad file.
    pub(crate) fn open(&self, key_type: KeyType) -> Result<Box<dyn Input>> {
        self.check(key_type)?;
        let input: Box<dyn Input> = match self.format() {
            Format::Sosd => Box::new(self.open_sosd()?),
            Format::Lines => Box::new(LinesInput::open(&self.path, key_type, self.key_type.is_none())?),
            Format::Csv => Box::new(CsvInput::open(&self.path, key_type, &self.csv_layout(b','))?),
            Format::Tsv => Box::new(CsvInput::open(&self.path, key_type, &self.csv_layout(b'\t'))?),
            #[cfg(feature = "parquet")]
            Format::Parquet => self.open_parquet()?,
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(no_parquet()),
        };
        Ok(match self.payload {
            Some(width_bytes) => Box::new(WithPayload::new(input, width_bytes)),
            None => input,
        })
    }

    /// A sample of the keys, if available without reading the whole file.
    pub(crate) fn quick_sample(&self) -> Result<Option<Sample>> {
        if self.format() != Format::Sosd {
            return Ok(None);
        }
        let mut input = self.open_sosd()?;
        let records = input.facts().records.unwrap_or(0);
        let runs = input.runs()?;
        let width = self.payload.unwrap_or(0);
        let varied = InputFacts { value_width: Some(width), ..input.facts().clone() }.dense_value_width().is_none();
        Ok(Some(sample(runs, records, f64::from(width), varied)))
    }

    fn open_sosd(&self) -> Result<SosdInput> {
        Ok(SosdInput::open(&self.path, sosd_key_bytes(&self.path).unwrap_or(8))?)
    }

    #[cfg(feature = "parquet")]
    fn open_parquet(&self) -> Result<Box<dyn Input>> {
        let input = super::parquet::ParquetInput::open(&self.path, self.key_type, &self.key, self.value.as_ref())?;
        Ok(Box::new(input))
    }

    fn csv_layout(&self, delimiter: u8) -> CsvLayout {
        CsvLayout {
            delimiter,
            has_header: !self.no_header,
            key: self.key.clone(),
            value: self.value.clone(),
            key_type_guessed: self.key_type.is_none(),
            record_limit_bytes: self.row_limit.0,
        }
    }

    fn check(&self, key_type: KeyType) -> Result<()> {
        let format = self.format();
        if matches!(format, Format::Sosd | Format::Lines) && (!self.key.is_empty() || self.value.is_some()) {
            return Err(Failure::usage(
                format!("{} is read as {}, which has no columns", self.path.display(), name(format)),
                "remove --key and --value, or set --format csv",
            ));
        }
        let components = match key_type {
            KeyType::Tuple(tuple) => tuple.components().len(),
            _ => 1,
        };
        if self.key.len() > 1 && self.key.len() != components {
            return Err(Failure::usage(
                format!("keys of {} are not of type {key_type}", counted(self.key.len() as u64, "column")),
                "give --key once for each component of --key-type, in order",
            ));
        }
        if format == Format::Sosd && key_type != KeyType::U64 {
            return Err(Failure::usage("the keys of a SOSD file are u64", "remove --key-type"));
        }
        Ok(())
    }

    /// Guesses the key type from the first keys.
    fn guess(&self) -> Result<KeyType> {
        let raw = tuple_of(self.key.iter().map(|_| KeyType::Bytes)).filter(|_| self.key.len() > 1);
        let mut input = self.open(raw.unwrap_or(KeyType::Bytes))?;
        let mut guesses: Vec<KeyGuess> = (0..self.key.len().max(1)).map(|_| KeyGuess::new()).collect();
        for _ in 0..SAMPLE_KEYS {
            let Some(record) = input.next()? else { break };
            match raw.map(|raw| raw.decode(record.key)) {
                Some(Ok(Value::Tuple(fields))) => guesses.iter_mut().zip(fields).for_each(|(guess, field)| {
                    if let Value::Bytes(field) = field {
                        guess.see(&field);
                    }
                }),
                _ => guesses[0].see(record.key),
            }
        }
        let tuple = raw.and_then(|_| tuple_of(guesses.iter().map(KeyGuess::key_type)));
        Ok(tuple.unwrap_or_else(|| guesses[0].key_type()))
    }
}

/// The path of an argument; `-` is standard input.
fn input_path(argument: OsString) -> PathBuf {
    if argument == "-" { PathBuf::from("/dev/stdin") } else { PathBuf::from(argument) }
}

/// Bytes per key in a SOSD file, if the name is that of one.
fn sosd_key_bytes(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    if name.ends_with(".u64") || name.ends_with("_uint64") {
        Some(8)
    } else if name.ends_with(".u32") || name.ends_with("_uint32") {
        Some(4)
    } else {
        None
    }
}

fn extension(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Sosd => "a SOSD file",
        Format::Lines => "lines of text",
        Format::Csv => "comma-separated values",
        Format::Tsv => "tab-separated values",
        Format::Parquet => "Parquet",
    }
}

#[cfg(not(feature = "parquet"))]
fn no_parquet() -> Failure {
    Failure::usage(
        "this ogive was built without Parquet",
        "install it with `cargo install --path crates/cli --features parquet`, or convert the file to CSV",
    )
}

//! Options of inputs, and the choice of a reader.

use super::InputError;
use super::bad_rows::BadRows;
use super::columns::Column;
use super::content::{HIVE_NULL, foreign_folder};
#[cfg(feature = "parquet")]
use super::folder::Folder;
use super::format::Format;
use super::json_layout::JsonLayout;
use super::known::{ColumnType, KnownColumns};
use super::names::{UNCLEAR, extension, is_named_as_input};
use super::recognised::{Recognised, UnknownInput};
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Interrupt};
#[cfg(feature = "parquet")]
use crate::places::is_inside;
use crate::places::{is_folder, may_be_store};
use crate::reading::decoded::{DecodedInput, Decoding};
use crate::reading::kept_pipe::KeptPipe;
use crate::reading::pipe::{FileState, InputFile, changed};
use crate::reading::standard_input::{STANDARD_INPUT, shown};
use crate::urls::{is_url, path_argument};
use crate::values::size::ByteSize;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, FromArgMatches};
use ogive::io::ScratchFolder;
use ogive::table::{Table, TableOptions};
use ogive::{Cause, Error, FileFormat, KeyType};
use ogive_text::{FieldForm, Quote, Separated, parse_quote};
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Longest row of a CSV file, unless another limit is given. A row is held in memory.
pub(crate) const ROW_LIMIT: &str = "64MiB";
/// Bytes of a pipe that are copied at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Extensions of tables and indexes in the documentation.
const TABLE_EXTENSION: &str = "ogive";
const INDEX_EXTENSION: &str = "ogx";

/// The input of a command. Shared by all commands that read one.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct InputOptions {
    #[cfg_attr(
        feature = "parquet",
        doc = "File to read: SOSD (.u64, _uint64), lines of text, CSV, TSV, JSON lines or Parquet; - for standard \
               input"
    )]
    #[cfg_attr(
        not(feature = "parquet"),
        doc = "File to read: SOSD (.u64, _uint64), lines of text, CSV, TSV or JSON lines; - for standard input \
               (Parquet in builds with `--features parquet`)"
    )]
    #[arg(value_name = "INPUT", value_parser = OsStringValueParser::new().try_map(input_path))]
    pub(crate) path: PathBuf,

    /// Format of INPUT [default: by its content, else by its name, else lines]
    #[arg(long, value_enum, help_heading = "Input")]
    pub(crate) format: Option<Format>,

    /// Column of the keys, by name or number from 1; repeat it for keys of several columns [default: the first]
    #[arg(long, value_name = "COL", help_heading = "Input")]
    pub(crate) key: Vec<Column>,

    /// Column of the values, by name or number from 1; repeat it for several [default: all columns but the keys]
    #[arg(long, value_name = "COL", help_heading = "Input")]
    pub(crate) value: Vec<Column>,

    /// Read the keys only
    #[arg(long, conflicts_with = "value", help_heading = "Input")]
    pub(crate) keys_only: bool,

    /// Byte between the fields of a CSV file [default: a comma, or a tab in TSV]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter, help_heading = "Input")]
    pub(crate) delimiter: Option<u8>,

    /// Quote of the fields of a TSV file: '"', as in CSV [default: none; \t, \n, \r and \\ are escapes, \N is a null]
    #[arg(long, value_name = "CHAR", value_parser = parse_quote, help_heading = "Input")]
    pub(crate) quote: Option<Quote>,

    /// Accept text after a closing quote as a part of its field, and keep backslashes in TSV that begin no escape
    #[arg(long, help_heading = "Input")]
    pub(crate) lenient: bool,

    /// Text without quotes that is a null in a CSV or TSV file, such as '\N'; an empty field is empty text then
    #[arg(long, value_name = "TEXT", help_heading = "Input")]
    pub(crate) null: Option<Box<str>>,

    /// Leave out rows that cannot be read, and write them to FILE with their lines and the reasons
    #[arg(long, value_name = "FILE", value_parser = bad_rows, help_heading = "Input")]
    pub(crate) skip_bad_rows: Option<Arc<BadRows>>,

    /// Treat the first row of a CSV or TSV file as a record, not as column names
    #[arg(long, help_heading = "Input")]
    pub(crate) no_header: bool,

    /// Type of the keys: bool, u8 to u128, i8 to i128, f32, f64, text, bytes, bytes1 to bytes255 for bytes of one
    /// length, uuid, date, time(UNIT), timestamp(UNIT), decimal(P,S), or a tuple such as '(text, date desc)' [default:
    /// the first of u64, i64, u128, i128, decimal of one scale, f64, bool, UUID, date, time, timestamp and text that
    /// fits all keys]
    #[arg(long, value_name = "TYPE", help_heading = "Input")]
    pub(crate) key_type: Option<KeyType>,

    /// Type of a column, such as 'price=decimal(8,2)'; with a question mark, empty fields are nulls [default: the
    /// first of u64, i64, u128, i128, decimal of one scale, f64, bool, UUID, date, time, timestamp and text that fits
    /// all rows]
    #[arg(long = "type", value_name = "COL=TYPE", help_heading = "Input")]
    pub(crate) column_types: Vec<ColumnType>,

    /// Type of the values, if they are those of one column and no rows: bool, u8 to u128, text, bytes, ... [default:
    /// rows, of all columns but the keys]
    #[arg(long, value_name = "TYPE", value_parser = parse_scalar, conflicts_with = "payload", help_heading = "Input")]
    pub(crate) value_type: Option<KeyType>,

    /// For a Parquet file of a Delta Lake or Iceberg table: take it as it is, even if the log of the table says that
    /// rows of its files were deleted or columns renamed, or cannot be read
    #[cfg(feature = "parquet")]
    #[arg(long, help_heading = "Input")]
    pub(crate) ignore_table_log: bool,

    /// Find types that are not given by all of a CSV, TSV or JSON file, which is read twice, not by its first 64 MiB
    #[arg(long, help_heading = "Input")]
    pub(crate) scan_all: bool,

    /// Give each record a value of N bytes derived from its key, for measurements
    #[arg(long, value_name = "N", conflicts_with = "value", help_heading = "Input",
          value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    pub(crate) payload: Option<u32>,

    /// Longest row of a CSV, TSV or JSON file; reading it takes up to three times its size in memory. (Lines and keys
    /// have at most 64 KiB, values 1 GiB)
    #[arg(long, value_name = "N", default_value = ROW_LIMIT, help_heading = "Input")]
    pub(crate) row_limit: ByteSize,

    /// The copy of a pipe, which is read in its place.
    #[arg(skip)]
    pub(crate) spool: Option<Box<Path>>,

    /// The pipe that is read, if it is not copied.
    #[arg(skip)]
    pub(crate) pipe: Option<Arc<KeptPipe>>,

    /// The columns that are taken, if records of them are there already.
    #[arg(skip)]
    pub(crate) known: Option<Box<KnownColumns>>,

    /// Whether records whose keys have a null are left out where the type of the keys has none: in a join, such a key
    /// matches nothing.
    #[arg(skip)]
    pub(crate) leave_null_keys_out: bool,

    /// Whether keys alone are as good as those with values of bytes: an index has payloads in any case.
    #[arg(skip)]
    pub(crate) pads_bytes: bool,

    /// The side of a join that it is, if it is one.
    #[arg(skip)]
    pub(crate) side: Option<&'static str>,

    /// What was found of the input.
    #[arg(skip)]
    pub(crate) finds: Arc<Finds>,
}

/// What an input was found to be. Each look at it is kept: behind a URL it takes requests.
#[derive(Debug, Default)]
pub(crate) struct Finds {
    recognised: OnceLock<Arc<Recognised>>,
    /// Whether it is a folder, and not a store.
    is_folder: OnceLock<bool>,
    /// The files that it has, if it is a folder.
    #[cfg(feature = "parquet")]
    folder: OnceLock<Arc<Folder>>,
    /// What shows that it was changed after it was opened first.
    state: OnceLock<FileState>,
    /// Set if it is known to be no file of Ogive.
    is_foreign: OnceLock<()>,
    /// The names of the columns of a file of a folder.
    #[cfg(feature = "parquet")]
    pub(super) names: OnceLock<Vec<String>>,
    /// Whether it is a file of a folder that is read as one input.
    pub(super) is_part: bool,
}

impl Finds {
    /// What is known of a file of a folder once it was recognised.
    #[cfg(feature = "parquet")]
    pub(super) fn of_part(recognised: Recognised) -> Self {
        Self { recognised: OnceLock::from(Arc::new(recognised)), is_part: true, ..Self::default() }
    }
}

impl InputOptions {
    /// The input at a path, without any option.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what is no path.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        let words = [OsStr::new("ogive"), OsStr::new("--"), path.as_os_str()];
        let parsed = Self::augment_args(clap::Command::new("ogive")).try_get_matches_from(words);
        let options = parsed.and_then(|matches| Self::from_arg_matches(&matches));
        options.map_err(|error| Failure::usage(error.to_string(), "give the path of a file or a folder"))
    }

    /// The format, as given, by the content of the file, or by its name.
    pub(crate) fn format(&self) -> Format {
        if let Some(format) = self.format {
            return format;
        }
        #[cfg(feature = "parquet")]
        // What fails fails where the records are read.
        if let Ok(Some(folder)) = self.folder() {
            return folder.format;
        }
        self.recognised().format
    }

    /// Whether the first row has the names of the columns, if it is separated text.
    pub(super) fn has_header(&self) -> bool {
        !self.no_header && !self.is_hive()
    }

    /// The text without quotes that is a null in separated text.
    pub(super) fn null_text(&self) -> Option<Box<str>> {
        self.null.clone().or_else(|| self.is_hive().then(|| HIVE_NULL.into()))
    }

    /// Whether the input is text of Hive, or a folder of it.
    pub(super) fn is_hive(&self) -> bool {
        if self.format.is_some() {
            return false;
        }
        #[cfg(feature = "parquet")]
        if let Ok(Some(folder)) = self.folder() {
            return folder.is_hive;
        }
        self.recognised().is_hive
    }

    /// Whether the input is a folder, and not a store.
    pub(crate) fn is_folder(&self) -> bool {
        let path = self.source();
        *self.finds.is_folder.get_or_init(|| match is_url(path) {
            true => path.as_os_str().as_encoded_bytes().ends_with(b"/") && !is_folder(path).unwrap_or(true),
            false => path.is_dir() && !may_be_store(path),
        })
    }

    /// The files of the input, if it is a folder.
    ///
    /// # Errors
    /// As [`Folder::of`].
    #[cfg(feature = "parquet")]
    pub(super) fn folder(&self) -> Result<Option<Arc<Folder>>> {
        if let Some(folder) = self.finds.folder.get() {
            return Ok(Some(Arc::clone(folder)));
        }
        if self.finds.is_part || !self.is_folder() {
            return Ok(None);
        }
        self.refuse_other_store()?;
        let found = Arc::new(Folder::of(&self.path, self.format, self.ignore_table_log)?);
        Ok(Some(Arc::clone(self.finds.folder.get_or_init(|| found))))
    }

    /// The options of a file of the folder, of which this is known.
    #[cfg(feature = "parquet")]
    pub(super) fn of_part(&self, path: PathBuf, finds: Arc<Finds>) -> Self {
        let keys_only = self.keys_only || self.payload.is_some();
        Self { path, finds, keys_only, payload: None, spool: None, pipe: None, ..self.clone() }
    }

    /// What the input is. A pipe is recognised by its [copy](Self::rereadable).
    pub(super) fn recognised(&self) -> Arc<Recognised> {
        let found = self.finds.recognised.get_or_init(|| Arc::new(Recognised::of(self.unknown())));
        if found.is_of(self.source()) { Arc::clone(found) } else { Arc::new(Recognised::of(self.unknown())) }
    }

    /// Whether the name is that of an input, whatever the content is.
    pub(crate) fn has_name_of_input(&self) -> bool {
        self.format.is_some() || is_named_as_input(&self.path)
    }

    /// What is known of the input before it is looked at.
    fn unknown(&self) -> UnknownInput<'_> {
        UnknownInput { path: &self.path, source: self.source(), format: self.format, pipe: self.pipe.as_deref() }
    }

    /// Refuses an input of a format that is not read, and names what was inferred of one that is.
    ///
    /// # Errors
    /// [`Failure::Refused`], unless `--format` is given.
    pub(super) fn refuse_foreign(&self) -> Result<()> {
        self.refuse_unread()?;
        if self.delimiter.is_none() {
            self.recognised().tell(&self.path, self.has_header(), &self.flag("format"));
        }
        Ok(())
    }

    /// What a file is that is read.
    ///
    /// # Errors
    /// [`Failure::Refused`] for a file of a format that is not read.
    pub(crate) fn described(&self) -> Result<&'static str> {
        self.refuse_unread()?;
        Ok(self.format().name())
    }

    fn refuse_unread(&self) -> Result<()> {
        self.refuse_other_store()?;
        let recognised = self.recognised();
        // What an interrupt kept from being read was not recognised.
        interrupt::check_anywhere()?;
        match recognised.foreign {
            Some((what, advice)) => Err(self.refused_as(what, advice)),
            None if recognised.is_unclear && self.format.is_none() => Err(Failure::refused(
                format!(
                    "{} may be {UNCLEAR}: some of its first lines have as many fields, but not all",
                    shown(&self.path)
                ),
                "use --format csv, with --skip-bad-rows FILE to leave rows out, or --format lines (in a join, \
                 --left-format or --right-format)",
            )),
            None => self.refuse_layout(),
        }
    }

    /// Refuses a folder with the files of another store.
    fn refuse_other_store(&self) -> Result<()> {
        foreign_folder(self.source()).map_or(Ok(()), |(what, advice)| Err(self.refused_as(what, advice)))
    }

    /// Refuses JSON whose lines are no rows.
    ///
    /// # Errors
    /// [`Failure::Refused`], unless `--format` is given.
    pub(super) fn refuse_layout(&self) -> Result<()> {
        match self.recognised().json_layout.as_ref().filter(|_| self.format.is_none()).map(JsonLayout::told) {
            None => Ok(()),
            Some((what, advice)) => Err(Failure::refused(
                format!("{} {what}", shown(&self.path)),
                format!("{advice}; if each line is an object of its own, use {} jsonl", self.flag("format")),
            )),
        }
    }

    /// An option of the input, by its name: those of a side of a join have its name in front.
    pub(super) fn flag(&self, name: &str) -> String {
        self.side.map_or_else(|| format!("--{name}"), |side| format!("--{side}-{name}"))
    }

    fn refused_as(&self, what: &str, advice: &str) -> Failure {
        Failure::refused(
            format!("{} {what}, not an input file", shown(&self.path)),
            format!("{advice}; if it is text, use --format lines (in a join, --left-format or --right-format)"),
        )
    }

    /// Refuses a table as an input, which would otherwise be read as text.
    ///
    /// # Errors
    /// [`Failure::Refused`] for an Ogive table, even a damaged one, unless `--format` is given.
    pub(crate) fn refuse_table(&self) -> Result<()> {
        self.refuse_table_but(
            "use `ogive scan` to print its records, or `ogive build --external` to add a second index",
        )
    }

    /// As [`Self::refuse_table`], with advice what to do with a table.
    pub(crate) fn refuse_table_but(&self, advice: &str) -> Result<()> {
        // What is copied was looked at.
        let is_known = self.spool.is_some() || self.format.is_some() || self.finds.is_foreign.get().is_some();
        if is_known || !(self.path.is_file() || is_url(&self.path)) || self.is_folder() {
            return Ok(());
        }
        match Table::open(&self.path, &TableOptions::default()) {
            Err(development @ Error { cause: Cause::Version { found: 0, .. }, .. }) => Err(development.into()),
            Ok(_)
            | Err(Error {
                cause: Cause::Damaged | Cause::Version { .. } | Cause::Changed | Cause::Memory { .. },
                ..
            }) => {
                let path = shown(&self.path);
                Err(Failure::refused(format!("{path} is an Ogive table, not an input file"), advice))
            }
            Err(_) => {
                self.refuse_damaged()?;
                _ = self.finds.is_foreign.set(());
                Ok(())
            }
        }
    }

    /// Refuses a file of Ogive that is no table, or too damaged to be opened as one, which would otherwise be read as
    /// text.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the file has the extension or a magic number of an Ogive file, unless `--format` is
    /// given; errors of reading it.
    pub(crate) fn refuse_damaged(&self) -> Result<()> {
        if self.format.is_some() || !(self.path.is_file() || is_url(&self.path)) || self.is_folder() {
            return Ok(());
        }
        self.refuse_damaged_as(FileFormat::at(&self.path)?)
    }

    /// As [`Self::refuse_damaged`], for a file of which it is known whether it is one of Ogive.
    ///
    /// # Errors
    /// As [`Self::refuse_damaged`].
    pub(crate) fn refuse_damaged_as(&self, found: Option<FileFormat>) -> Result<()> {
        let (what, advice) = match (found, extension(&self.path).as_str()) {
            (Some(FileFormat::StoreFile), _) => ("is a file of an Ogive store", "use `ogive export` on its folder"),
            (Some(FileFormat::Backup), _) => ("is the record of a backup", "use `ogive db restore` on its folder"),
            (Some(FileFormat::PageFile), _) => {
                ("is an Ogive index", "print its entries with `ogive scan`, or check it with `ogive verify`")
            }
            (Some(FileFormat::PageLog), _) => ("is the log of an Ogive index", "use `ogive scan` on that index"),
            (Some(_), _) => (
                "is a damaged Ogive table",
                "`ogive verify` says what is damaged, and `ogive repair` saves what is not",
            ),
            (None, TABLE_EXTENSION) => {
                ("has the name of an Ogive table and is none", "restore it from a copy if it was cut off")
            }
            (None, INDEX_EXTENSION) => ("has the name of an Ogive index and is none", "check it with `ogive verify`"),
            (None, _) => match self.recognised().foreign {
                Some(foreign) => foreign,
                None => return Ok(()),
            },
        };
        Err(self.refused_as(what, advice))
    }

    /// Refuses an output as the file of the rows that are left out.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn refuse_bad_rows_at(&self, output: &Path) -> Result<()> {
        let is_one =
            |bad_rows: &Arc<BadRows>| std::path::absolute(bad_rows.path()).ok() == std::path::absolute(output).ok();
        match &self.skip_bad_rows {
            Some(bad_rows) if is_one(bad_rows) => Err(Failure::usage(
                format!("{} is the output, and the file of --skip-bad-rows", shown(output)),
                "give them two names",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a file of the folder as the one of the rows that are left out: it would be read as an input.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    #[cfg(feature = "parquet")]
    pub(super) fn refuse_bad_rows_inside(&self) -> Result<()> {
        match &self.skip_bad_rows {
            Some(bad_rows) if is_inside(bad_rows.path(), &self.path) => Err(Failure::usage(
                format!("{} is in {}, whose files are the input", bad_rows.path().display(), shown(&self.path)),
                "name a file outside of it with --skip-bad-rows",
            )),
            _ => Ok(()),
        }
    }

    /// Adds the number of rows that were left out to a report, if that is asked for.
    pub(crate) fn tell_skipped(&self, report: &mut serde_json::Value) {
        if let Some(bad_rows) = &self.skip_bad_rows {
            report["skipped_rows"] = bad_rows.count().into();
        }
    }

    /// Whether the file itself states the type of its keys.
    pub(crate) fn has_typed_keys(&self) -> bool {
        matches!(self.format(), Format::Sosd | Format::Parquet)
    }

    /// The file that is read: the input, or its copy.
    pub(super) fn source(&self) -> &Path {
        self.spool.as_deref().unwrap_or(&self.path)
    }

    /// Whether the input is behind a URL or compressed, and of a format that is read from a file of its own.
    pub(super) fn is_fetched(&self) -> bool {
        let needs_file = matches!(self.format(), Format::Sosd | Format::Parquet) && !self.is_folder();
        needs_file && (is_url(self.source()) || self.is_compressed())
    }

    /// Whether the input is compressed.
    pub(crate) fn is_compressed(&self) -> bool {
        self.recognised().compression.is_some()
    }

    /// Whether the file can be read more than once. A pipe cannot.
    pub(crate) fn is_rereadable(&self) -> bool {
        if self.is_fetched() {
            return false;
        }
        if is_url(self.source()) {
            return true;
        }
        std::fs::metadata(self.source()).map_or(true, |metadata| metadata.is_file() || metadata.is_dir())
    }

    /// The input, to be read more than once: a pipe whose format or types are not stated is copied to a temporary file
    /// first, and so are files of Parquet and of SOSD that are compressed or behind URLs.
    ///
    /// # Errors
    /// Those of reading and copying.
    pub(crate) fn rereadable(&self, interrupt: &Interrupt) -> Result<(Self, Option<ScratchFolder>)> {
        let is_typed = self.key_type.is_some() && self.format == Some(Format::Lines);
        if !self.is_fetched() && (self.is_rereadable() || is_typed || self.format() == Format::Sosd) {
            return Ok((self.clone(), None));
        }
        if self.pipe.is_some() || self.is_fetched() { self.copied(interrupt) } else { self.kept()?.copied(interrupt) }
    }

    /// A pipe, whose start is kept.
    fn kept(&self) -> Result<Self> {
        let refused = |source| InputError::Io { path: self.path.clone(), source };
        let pipe = Some(Arc::new(KeptPipe::open(self.source()).map_err(refused)?));
        Ok(Self { pipe, finds: Arc::default(), ..self.clone() })
    }

    /// As [`Self::rereadable`], for an input that is read several times: what is behind a URL is copied, whatever its
    /// format.
    ///
    /// # Errors
    /// Those of reading and copying.
    pub(crate) fn near(&self, interrupt: &Interrupt) -> Result<(Self, Option<ScratchFolder>)> {
        if is_url(self.source()) && !self.is_folder() { self.copied(interrupt) } else { self.rereadable(interrupt) }
    }

    /// The input with a copy of it.
    fn copied(&self, interrupt: &Interrupt) -> Result<(Self, Option<ScratchFolder>)> {
        let scratch = ScratchFolder::create()?;
        let spool = scratch.path().join("input");
        let mut copy = File::create(&spool).map_err(|source| Failure::File {
            action: "create",
            path: spool.display().to_string(),
            source,
        })?;
        let refused = |source| InputError::Io { path: self.path.clone(), source };
        // Text is decoded when it is read: its copy takes no more space than the input.
        let mut pipe: Box<dyn Read> = match &self.pipe {
            Some(pipe) => {
                let reader = Box::new(pipe.reader());
                let is_decoded = matches!(self.format(), Format::Sosd | Format::Parquet);
                pipe.keep_no_more();
                if is_decoded { Box::new(DecodedInput::new(reader, None, Decoding::Bytes)) } else { reader }
            }
            None if self.is_fetched() => Box::new(DecodedInput::open(self.source(), Decoding::Bytes).map_err(refused)?),
            None => Box::new(InputFile::open(self.source()).map_err(refused)?),
        };
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            interrupt.check()?;
            let read = match pipe.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(refused(source).into()),
            };
            copy.write_all(&piece[..read]).map_err(|source| Failure::File {
                action: "write",
                path: spool.display().to_string(),
                source,
            })?;
        }
        interrupt.check()?;
        Ok((Self { spool: Some(spool.into()), pipe: None, finds: Arc::default(), ..self.clone() }, Some(scratch)))
    }

    /// The input, to be read once: what is read of a pipe to find its format and its types is kept until then. Files of
    /// Parquet and of SOSD, and inputs whose types are found by all of them, are [copied](Self::rereadable).
    ///
    /// # Errors
    /// Those of reading and copying.
    pub(crate) fn readable_once(&self, interrupt: &Interrupt) -> Result<(Self, Option<ScratchFolder>)> {
        let is_sosd = self.format == Some(Format::Sosd);
        if is_sosd || self.is_fetched() || self.is_rereadable() {
            return self.rereadable(interrupt);
        }
        let kept = self.kept()?;
        let needs_file = self.scan_all || matches!(kept.format(), Format::Sosd | Format::Parquet);
        if needs_file { kept.copied(interrupt) } else { Ok((kept, None)) }
    }

    /// Opens the text that is read.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn file(&self) -> Result<DecodedInput, InputError> {
        let refused = |source| InputError::Io { path: self.path.clone(), source };
        let input = match &self.pipe {
            Some(pipe) => DecodedInput::new(Box::new(pipe.reader()), None, Decoding::Text),
            None => DecodedInput::open(self.source(), Decoding::Text).map_err(refused)?,
        };
        // Types and places of columns are those of the file as it was.
        if let Some(state) = input.state()
            && *self.finds.state.get_or_init(|| state) != state
        {
            return Err(refused(changed()));
        }
        // Text with bytes of zero needs a format, or a name.
        let is_checked = self.format.is_none() && !self.recognised().is_named;
        Ok(if is_checked { input.without_zeros() } else { input })
    }

    /// Refuses options that do not apply to the format.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(super) fn check(&self) -> Result<()> {
        // A file that is not there has no format.
        if self.pipe.is_none() && !is_url(&self.path) {
            let found = std::fs::metadata(self.source());
            found.map_err(|source| InputError::Io { path: self.path.clone(), source })?;
        }
        let format = self.format();
        if matches!(format, Format::Sosd | Format::Lines) && (!self.key.is_empty() || !self.value.is_empty()) {
            return Err(Failure::usage(
                format!("{} is read as {}, which has no columns", shown(&self.path), format.name()),
                "remove --key and --value, or set --format csv",
            ));
        }
        if self.delimiter.is_some() && !matches!(format, Format::Csv | Format::Tsv) {
            return Err(Failure::usage(
                format!("{} is read as {}, which has no delimiters", shown(&self.path), format.name()),
                "remove --delimiter, or set --format csv",
            ));
        }
        let is_separated = matches!(format, Format::Csv | Format::Tsv);
        if self.null.is_some() && !is_separated {
            let message =
                format!("{} is read as {}, where nulls have their own form", shown(&self.path), format.name());
            return Err(Failure::usage(message, "remove --null, or set --format csv"));
        }
        if self.skip_bad_rows.is_some() && matches!(format, Format::Sosd | Format::Parquet) {
            let message = format!("{} is read as {}, whose rows are all readable", shown(&self.path), format.name());
            return Err(Failure::usage(message, "remove --skip-bad-rows"));
        }
        for (flag, is_given) in [("--quote", self.quote.is_some()), ("--lenient", self.lenient)] {
            if is_given && !is_separated {
                let message =
                    format!("{} is read as {}, which has no quotes of fields", shown(&self.path), format.name());
                return Err(Failure::usage(message, format!("remove {flag}, or set --format csv")));
            }
        }
        let is_escaped = format == Format::Tsv && Separated::tsv(self.quote).fields == FieldForm::Escaped;
        if is_escaped && self.delimiter.is_some_and(|byte| byte == b'\\' || byte.is_ascii_alphanumeric()) {
            return Err(Failure::usage(
                "a backslash, a letter or a digit cannot separate fields with escapes",
                "choose another --delimiter, or read fields in quotes with --quote '\"'",
            ));
        }
        if format == Format::Sosd && !self.column_types.is_empty() {
            return Err(Failure::usage(
                format!("{} is read as {}, which has no columns", shown(&self.path), format.name()),
                "remove --type",
            ));
        }
        if format == Format::Sosd && self.key_type.is_some_and(|key_type| key_type != KeyType::U64) {
            return Err(Failure::usage("the keys of a SOSD file are u64", "remove --key-type"));
        }
        Ok(())
    }
}

/// The type of a scalar in an argument.
///
/// # Errors
/// For tuples, and what is no type.
fn parse_scalar(text: &str) -> Result<KeyType, String> {
    match text.parse() {
        Ok(KeyType::Tuple(_)) => Err("a value is no tuple; columns with --type make rows".to_owned()),
        parsed => parsed.map_err(|error: Error| crate::advice::told(&error)),
    }
}

/// The file of an argument for the rows that cannot be read.
fn bad_rows(path: &str) -> Result<Arc<BadRows>, String> {
    if path == STANDARD_INPUT {
        return Err("rows that are left out are written to a file".to_owned());
    }
    Ok(Arc::new(BadRows::at(Path::new(path))))
}

/// The delimiter of an argument: one byte, or `\t`.
pub(crate) fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err("a delimiter is one ASCII character, such as ';', or \\t".to_owned()),
    }
}

/// The path or URL of an argument; `-` is standard input.
///
/// # Errors
/// As [`path_argument`].
pub(crate) fn input_path(argument: OsString) -> Result<PathBuf, String> {
    if argument == "-" { Ok(PathBuf::from(STANDARD_INPUT)) } else { path_argument(argument) }
}

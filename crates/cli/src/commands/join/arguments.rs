//! Arguments of `ogive join`.

use super::condition::unquoted;
use crate::commands::db::ClockAhead;
use crate::export::RecordFormat;
use crate::failure::{Failure, Result};
use crate::input::{Column, ColumnType, Format, InputOptions, ROW_LIMIT, input_path, parse_delimiter};
use crate::page_file::PageOption;
use crate::reading::standard_input::{STANDARD_INPUT, shown};
use crate::replace::Force;
use crate::urls::path_argument;
use crate::values::size::ByteSize;
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::KeyType;
use ogive::join::{JoinKind, JoinMethod};
use ogive_text::{Quote, Separated, parse_quote};
use std::convert::Infallible;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  ogive join users.ogive orders.ogive -o both.ogive          inner join of two tables into a table
  ogive join users.ogive orders.ogive -o - --kind anti       users without an order, as text
  ogive join users.csv orders.csv -o both.csv --kind full --on id=user --left-value name
                                                             columns of CSV files, sorted or not
  ogive join orders.csv prices.csv -o - --where 'left.day >= right.since'
                                                             a condition on fields of both sides
  ogive join store keys.u64 -o found.ogive --left-keyspace ids --memory 64MiB
                                                             a keyspace with a file, within 64 MiB
  ogive join a.ogive b.ogive -o - --explain >/dev/null       show the plan and the alternatives with their costs
  ogive join a.ogive b.ogive -o c.ogive --explain --html plan.html
                                                             also write a page: the plan as a tree, predicted and actual

Rows have the key, then the fields of LEFT and RIGHT, or of LEFT alone in semi and anti joins. If LEFT has a field of
the same name, the name of a field of RIGHT begins with 'right_'. Values that are not rows become the fields 'left' and
'right'. A side of keys alone (a file of keys, a table or a keyspace of them, an index without payloads) adds no field;
if it may lack a match, its field 'left' or 'right' is true or false, before all others. A row without a match has nulls
in the fields of the other side: nothing in text and CSV, null in JSON. A key with a null matches no key, as in SQL.
Plain records (--to records) are the left value followed by the right one; in a left or full join, a byte precedes them:
1, or 0 if the right value is missing, or 2 if the left one is.

A key that is null matches nothing: an empty field of CSV without quotes, a null in Parquet and JSON, or a member that
is not there. Where such rows of LEFT or RIGHT are kept, the keys of the output may be null, as in '(u64?)'. With
--key-type, a key of one column is null only if the type says so, as '(u64?)' does; else an empty field is empty text,
or an error for other types.

Replaces an existing table once the new one is complete, and any other file only with --force. Never replaces LEFT or
RIGHT, files of a store or an index, or anything that is not a regular file.";

fn help_of_methods() -> String {
    let names: Vec<String> = JoinMethod::all().iter().map(JoinMethod::to_string).collect();
    format!("Join method; auto chooses the cheapest by estimated cost: {}", names.join(", "))
}

/// Join two inputs by key, within a memory limit
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct JoinArguments {
    #[command(flatten)]
    pub(super) left: LeftSide,

    #[command(flatten)]
    pub(super) right: RightSide,

    /// Columns to compare: COL, or LEFT=RIGHT if their names differ; several with commas between; a name with a comma
    /// or an equals sign in double quotes, as in '"a,b"=c' [default: the key of an input that has one, and in a file
    /// the column of that name, else the first; the only common column of two files with names]
    #[arg(long, value_name = "COLS", conflicts_with_all = ["left_key", "right_key"], help_heading = "Both sides")]
    on: Vec<OnColumns>,

    #[command(flatten)]
    pub(super) both: BothSides,

    /// Output file: .csv, .tsv, .jsonl or .ndjson, .parquet or .pq if built in, .ogive for a table; - for standard
    /// output
    #[arg(short, long, value_name = "OUT", value_parser = OsStringValueParser::new().try_map(path_argument))]
    pub(super) output: PathBuf,

    /// Kind of join: inner, left (keep left rows without a match), full (keep rows of both without a match), semi (left
    /// rows with a match) or anti (left rows without a match)
    #[arg(long, value_name = "KIND", default_value_t)]
    pub(super) kind: JoinKind,

    #[arg(long, value_name = "NAME", default_value_t, help = help_of_methods())]
    pub(super) method: JoinMethod,

    /// Upper limit of the memory of the join, its inputs and output included
    #[arg(long, value_name = "N", default_value = "256MiB")]
    pub(super) memory: ByteSize,

    #[command(flatten)]
    pub(super) clock: ClockAhead,

    /// Number of threads [default: chosen by cost]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) threads: Option<u16>,

    /// Bypass the page cache (direct) or use it (cached) [default: direct if the inputs exceed --memory]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) io: Option<Io>,

    /// Storage of the inputs: optane, nvme, sata, ssd, hdd, nfs, s3, cached, or a file written by `ogive profile`
    /// [default: nvme, or cached with --io cached]
    #[arg(long = "for", value_name = "PROFILE")]
    pub(super) profile: Option<String>,

    /// Condition on the columns of pairs with equal keys, such as 'left.price < right."upper limit"'; repeat it for
    /// several, which must all hold. Operators: =, !=, <, <=, >, >=; a null fits none. Constants are written 'red' or
    /// 7. A column that only one side has needs no side in front if its name is in double quotes
    #[arg(long = "where", value_name = "CONDITION")]
    pub(super) conditions: Vec<String>,

    /// Write rows in any order, which can save a sort
    #[arg(long)]
    pub(super) any_order: bool,

    /// Format of OUT [default: by its name, or text on standard output]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) to: Option<OutputFormat>,

    #[command(flatten)]
    pub(super) force: Force,

    /// Show the chosen method and the alternatives, with predicted and actual costs
    #[arg(long)]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) page: PageOption,
}

/// Use of the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Io {
    Direct,
    Cached,
}

/// Format of the output: a table, lines of key and values separated by tabs, CSV or TSV with names of columns, JSON
/// objects, or plain records of fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OutputFormat {
    Table,
    Text,
    Csv,
    Tsv,
    Jsonl,
    #[cfg(feature = "parquet")]
    Parquet,
    Records,
}

impl OutputFormat {
    /// The format that a file name determines, as for an export; a table by other names.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a format that a join does not write.
    fn of(path: &Path) -> Result<Self> {
        if !RecordFormat::has_known_suffix(path) {
            return Ok(Self::Table);
        }
        Ok(match RecordFormat::of_path(path, false, None)? {
            RecordFormat::Separated(Separated::CSV) => Self::Csv,
            RecordFormat::Separated(_) => Self::Tsv,
            RecordFormat::JsonLines => Self::Jsonl,
            #[cfg(feature = "parquet")]
            RecordFormat::Parquet => Self::Parquet,
            RecordFormat::Table => Self::Table,
        })
    }

    /// The form of a format with names of columns, with a quote if that is asked for.
    pub(super) fn separated(self, quote: Option<Quote>) -> Option<Separated> {
        match self {
            Self::Csv => Some(Separated::CSV),
            Self::Tsv => Some(Separated::tsv(quote)),
            _ => None,
        }
    }
}

/// The left side.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct LeftSide {
    /// Left input: a table, an index, a store, an index of Parquet files, or a file (SOSD, lines, CSV, TSV, JSON lines,
    /// Parquet)
    #[arg(value_name = "LEFT", value_parser = OsStringValueParser::new().try_map(input_path))]
    left: PathBuf,

    /// Format of LEFT [default: by its content, else by its name, else lines]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Left side")]
    left_format: Option<Format>,

    /// Column of the keys of LEFT, by name or number from 1; repeat it for keys of several columns [default: the first]
    #[arg(long, value_name = "COL", help_heading = "Left side")]
    left_key: Vec<Column>,

    /// Column of the values of LEFT, by name or number from 1; repeat it for several [default: all columns but
    /// the keys]
    #[arg(long, value_name = "COL", help_heading = "Left side")]
    left_value: Vec<Column>,

    /// Byte between the fields of LEFT, if it is a CSV file [default: a comma, or a tab in TSV]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter, help_heading = "Left side")]
    left_delimiter: Option<u8>,

    /// Type of a column of LEFT, such as 'price=decimal(8,2)'; with a question mark, empty fields are nulls [default:
    /// the narrowest that fits all rows]
    #[arg(long, value_name = "COL=TYPE", help_heading = "Left side")]
    left_type: Vec<ColumnType>,

    /// If LEFT is a store: the keyspace to join [default: default]
    #[arg(long, value_name = "NAME", help_heading = "Left side")]
    left_keyspace: Option<String>,

    /// If LEFT is a store: first key to join
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, help_heading = "Left side")]
    left_from: Option<OsString>,

    /// If LEFT is a store: end of the range, exclusive
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, help_heading = "Left side")]
    left_to: Option<OsString>,
}

/// The right side.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct RightSide {
    /// Right input; takes the same kinds as LEFT
    #[arg(value_name = "RIGHT", value_parser = OsStringValueParser::new().try_map(input_path))]
    right: PathBuf,

    /// Format of RIGHT [default: by its content, else by its name, else lines]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Right side")]
    right_format: Option<Format>,

    /// Column of the keys of RIGHT, by name or number from 1; repeat it for keys of several columns [default: as
    /// of --on]
    #[arg(long, value_name = "COL", help_heading = "Right side")]
    right_key: Vec<Column>,

    /// Column of the values of RIGHT, by name or number from 1; repeat it for several [default: all columns but
    /// the keys]
    #[arg(long, value_name = "COL", help_heading = "Right side")]
    right_value: Vec<Column>,

    /// Byte between the fields of RIGHT, if it is a CSV file [default: a comma, or a tab in TSV]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter, help_heading = "Right side")]
    right_delimiter: Option<u8>,

    /// Type of a column of RIGHT, such as 'price=decimal(8,2)'; with a question mark, empty fields are nulls [default:
    /// the narrowest that fits all rows]
    #[arg(long, value_name = "COL=TYPE", help_heading = "Right side")]
    right_type: Vec<ColumnType>,

    /// If RIGHT is a store: the keyspace to join [default: default]
    #[arg(long, value_name = "NAME", help_heading = "Right side")]
    right_keyspace: Option<String>,

    /// If RIGHT is a store: first key to join
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, help_heading = "Right side")]
    right_from: Option<OsString>,

    /// If RIGHT is a store: end of the range, exclusive
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, help_heading = "Right side")]
    right_to: Option<OsString>,
}

/// Options of both inputs.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct BothSides {
    /// Type of the keys: bool, u8 to u128, i8 to i128, f32, f64, text, bytes, bytes1 to bytes255, uuid, date,
    /// time(UNIT), timestamp(UNIT), decimal(P,S), or a tuple such as '(text, date desc)' [default: as in the inputs,
    /// else the narrowest that fits all keys of both]
    #[arg(long, value_name = "TYPE", help_heading = "Both sides")]
    pub(super) key_type: Option<KeyType>,

    /// Quote of the fields of TSV files, those of OUT included: '"', as in CSV [default: none; \t, \n, \r and \\ are
    /// escapes, \N is a null]
    #[arg(long, value_name = "CHAR", value_parser = parse_quote, help_heading = "Both sides")]
    pub(super) quote: Option<Quote>,

    /// Accept text after a closing quote as a part of its field, and keep backslashes in TSV that begin no escape
    #[arg(long, help_heading = "Both sides")]
    pub(super) lenient: bool,

    /// Text without quotes that is a null in CSV and TSV files, such as '\N'; an empty field is empty text then
    #[arg(long, value_name = "TEXT", help_heading = "Both sides")]
    pub(super) null: Option<Box<str>>,

    /// Treat the first row of a CSV or TSV file as a record, not as column names
    #[arg(long, help_heading = "Both sides")]
    pub(super) no_header: bool,

    /// Find types that are not given by all of a CSV, TSV or JSON file, which is read once more, not by its first rows
    #[arg(long, help_heading = "Both sides")]
    pub(super) scan_all: bool,

    /// Longest row of a CSV, TSV or JSON file; reading it takes up to three times its size in memory
    #[arg(long, value_name = "N", default_value = ROW_LIMIT, help_heading = "Both sides")]
    pub(super) row_limit: ByteSize,

    /// Of Parquet files of a Delta Lake or Iceberg table: take them as they are, even if the log of the table says that
    /// rows of its files were deleted or columns renamed, or cannot be read
    #[cfg(feature = "parquet")]
    #[arg(long, help_heading = "Both sides")]
    pub(super) ignore_table_log: bool,

    /// Give each record of a file without values a value of N bytes derived from its key, for measurements
    #[arg(long, value_name = "N", help_heading = "Both sides",
        value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    pub(super) payload: Option<u32>,
}

/// Columns of `--on`: `a`, `a=b` or several of these, separated by commas. A name with a comma or an equals sign is
/// written in double quotes, in which two stand for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OnColumns(pub(super) Vec<[String; 2]>);

impl FromStr for OnColumns {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let pair = |part: &str| {
            let (left, right) = split_unquoted(part, '=');
            [unquoted(left.trim()), unquoted(right.unwrap_or(left).trim())]
        };
        let (mut pairs, mut rest) = (Vec::new(), Some(text));
        while let Some(text) = rest {
            let (part, behind) = split_unquoted(text, ',');
            pairs.push(pair(part));
            rest = behind;
        }
        Ok(Self(pairs))
    }
}

/// The text before the first separator outside quotes, and what is behind it.
fn split_unquoted(text: &str, separator: char) -> (&str, Option<&str>) {
    let mut is_quoted = false;
    let found = text.char_indices().find(|&(_, character)| {
        is_quoted ^= character == '"';
        !is_quoted && character == separator
    });
    match found {
        Some((at, _)) => (&text[..at], Some(&text[at + separator.len_utf8()..])),
        None => (text, None),
    }
}

/// A name as `--on` takes it.
pub(super) fn quoted(name: &str) -> String {
    match name.contains([',', '=', '"']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

impl OnColumns {
    /// All columns of an option that is repeated.
    pub(super) fn all(given: &[Self]) -> Self {
        Self(given.iter().flat_map(|columns| columns.0.iter().cloned()).collect())
    }

    /// The same in the order of the key of one side, if they are all of its columns.
    pub(super) fn in_order_of(&self, side: usize, key: &[String]) -> Self {
        let pair = |name: &String| self.0.iter().find(|pair| pair[side] == *name).cloned();
        match key.iter().map(pair).collect::<Option<Vec<_>>>() {
            Some(pairs) if pairs.len() == self.0.len() => Self(pairs),
            _ => self.clone(),
        }
    }

    /// Those of one side.
    pub(super) fn of_side(&self, side: usize) -> Vec<String> {
        self.0.iter().map(|pair| pair[side].clone()).collect()
    }
}

/// The options of one input.
#[derive(Clone, Debug)]
pub(super) struct SideOptions {
    /// The prefix of the flags: `left` or `right`.
    pub(super) word: &'static str,
    pub(super) input: InputOptions,
    pub(super) keyspace: Option<String>,
    pub(super) from: Option<OsString>,
    pub(super) to: Option<OsString>,
}

impl SideOptions {
    /// Its number: that of the left side is 0.
    pub(super) fn side(&self) -> usize {
        usize::from(self.word == "right")
    }

    /// The input's path, for messages.
    pub(super) fn shown(&self) -> String {
        shown(&self.input.path).to_string()
    }

    /// A short name of the input: that of its file without the extension.
    pub(super) fn alias(&self) -> String {
        let stem = self.input.path.file_stem().filter(|_| self.input.path != Path::new(STANDARD_INPUT));
        stem.map_or_else(|| self.word.to_owned(), |stem| stem.to_string_lossy().into_owned())
    }
}

impl JoinArguments {
    /// The columns of `--on`.
    pub(super) fn on(&self) -> OnColumns {
        OnColumns::all(&self.on)
    }

    /// The options of both inputs.
    pub(super) fn sides(&self) -> [SideOptions; 2] {
        let (left, right) = (self.left.clone(), self.right.clone());
        [
            SideOptions {
                word: "left",
                input: InputOptions {
                    delimiter: left.left_delimiter,
                    column_types: left.left_type,
                    side: Some("left"),
                    ..self.both.input(left.left, left.left_format, left.left_key, left.left_value)
                },
                keyspace: left.left_keyspace,
                from: left.left_from,
                to: left.left_to,
            },
            SideOptions {
                word: "right",
                input: InputOptions {
                    delimiter: right.right_delimiter,
                    column_types: right.right_type,
                    side: Some("right"),
                    ..self.both.input(right.right, right.right_format, right.right_key, right.right_value)
                },
                keyspace: right.right_keyspace,
                from: right.right_from,
                to: right.right_to,
            },
        ]
    }

    /// Whether text goes to standard output.
    pub(super) fn is_piped(&self) -> bool {
        self.output.as_os_str() == "-"
    }

    /// The format of the output. With `--json`, rows on standard output are JSON.
    ///
    /// # Errors
    /// [`Failure::Usage`] for tables and records on standard output, and for names of formats that a join does not
    /// write.
    pub(super) fn to(&self, is_json: bool) -> Result<OutputFormat> {
        match (self.is_piped(), self.to) {
            (true, Some(OutputFormat::Table | OutputFormat::Records)) => Err(Failure::usage(
                "only text, CSV, TSV and JSON can be written to standard output",
                "remove --to, or write to a file with -o",
            )),
            #[cfg(feature = "parquet")]
            (true, Some(OutputFormat::Parquet)) => Err(Failure::usage(
                "only text, CSV, TSV and JSON can be written to standard output",
                "remove --to, or write to a file with -o",
            )),
            (true, Some(to)) if is_json && to != OutputFormat::Jsonl => {
                Err(Failure::usage("--json contradicts --to on standard output", "give one of them"))
            }
            (true, to) => Ok(to.unwrap_or(if is_json { OutputFormat::Jsonl } else { OutputFormat::Text })),
            (false, Some(to)) => Ok(to),
            (false, None) => OutputFormat::of(&self.output),
        }
    }
}

impl BothSides {
    fn input(&self, path: PathBuf, format: Option<Format>, key: Vec<Column>, value: Vec<Column>) -> InputOptions {
        let input = InputOptions {
            path,
            format,
            key,
            payload: self.payload.filter(|_| value.is_empty()),
            value,
            no_header: self.no_header,
            key_type: self.key_type,
            keys_only: false,
            delimiter: None,
            column_types: Vec::new(),
            spool: None,
            pipe: None,
            scan_all: self.scan_all,
            value_type: None,
            known: None,
            leave_null_keys_out: self.key_type.is_none(),
            pads_bytes: false,
            side: None,
            finds: Arc::default(),
            row_limit: self.row_limit,
            quote: None,
            lenient: false,
            null: None,
            skip_bad_rows: None,
            #[cfg(feature = "parquet")]
            ignore_table_log: self.ignore_table_log,
        };
        if self.quote.is_none() && !self.lenient && self.null.is_none() {
            return input;
        }
        // The other side may be of another format.
        match input.format() {
            Format::Csv | Format::Tsv => {
                InputOptions { quote: self.quote, lenient: self.lenient, null: self.null.clone(), ..input }
            }
            _ => input,
        }
    }
}

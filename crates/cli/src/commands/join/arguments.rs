//! What `ogive join` can be told.

use crate::failure::{Failure, Result};
use crate::input::{Column, Format, InputOptions};
use crate::replace::Force;
use crate::size::ByteSize;
use ogive::join::{JoinKind, Method};
use ogive::table::KeyType;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive join users.ogive orders.ogive -o both.ogive          rows of both whose keys are equal, as a table
  ogive join users.ogive orders.ogive -o - --kind anti       users without an order, as text
  ogive join users.csv orders.csv -o both.tsv --to text --left-key id --left-value name --right-key user --right-value sum
                                                             columns of files that need not be sorted
  ogive join store keys.u64 -o found.ogive --left-keyspace ids --memory 64MiB
                                                             entries of a store, within 64 MiB
  ogive join a.ogive b.ogive -o - --explain >/dev/null       show what was chosen, and what else would have taken

Methods: auto, merge, hash, inlj, inlj:btree, inlj:btree-iter, inlj:pgm:EPS, inlj:pgm-sampled, inlj:radix-spline, inlj:rmi,
inlj:index, partition, partition:btree.

A table's records are the key and one value. Where keys and values have one width each, it is the left value and the right one behind it, in
a left join after a byte 1, or a byte 0 and zeros for a row without partner; else the length of the left value (a varint), the left
value, in a left join the byte 1 or 0, and the right value. Semi and anti joins have no right value.

An existing table is replaced by a new one once that is complete, any other file only with --force. Never replaced are LEFT and RIGHT, by
whatever name, files of a store or of an index, and what is no plain file.";

/// Join two relations by their keys, within a limit of memory
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) left: LeftSide,

    #[command(flatten)]
    pub(super) right: RightSide,

    #[command(flatten)]
    pub(super) both: BothSides,

    /// File to write; - for text on standard output
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: PathBuf,

    /// Which rows: inner, those of both sides with equal keys; left, also those of the left side alone; semi, those of the left
    /// side that have an equal; anti, those that have none
    #[arg(long, value_name = "KIND", default_value_t)]
    pub(super) kind: JoinKind,

    /// How it is done; auto takes what is expected to cost least
    #[arg(long, value_name = "NAME", default_value_t)]
    pub(super) method: Method,

    /// Memory for everything that the join holds
    #[arg(long, value_name = "N", default_value = "256MiB")]
    pub(super) memory: ByteSize,

    /// Threads that join [default: as many as pay off]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) threads: Option<u16>,

    /// Read past the page cache, or through it [default: past it, where the inputs exceed the memory]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) io: Option<Io>,

    /// Storage that the inputs lie on: optane, nvme, ssd, hdd, nfs, s3, cached, or a file made by `ogive profile`
    /// [default: nvme; cached with --io cached]
    #[arg(long = "for", value_name = "PROFILE")]
    pub(super) profile: Option<String>,

    /// Let rows come in any order, which can save a sort
    #[arg(long)]
    pub(super) any_order: bool,

    /// What OUT is to be [default: table; text on standard output]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) to: Option<To>,

    #[command(flatten)]
    pub(super) force: Force,

    /// Show the choice, the alternatives and their predicted costs, and afterwards the actual ones
    #[arg(long)]
    pub(super) explain: bool,
}

/// How inputs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Io {
    Direct,
    Cached,
}

/// What the output is: a table, lines of key and values between tabs, or plain records of fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum To {
    Table,
    Text,
    Records,
}

/// The left side.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct LeftSide {
    /// Left side: a table, an index, a store, or a file as `ogive build` reads it (SOSD, lines, CSV, TSV, Parquet)
    #[arg(value_name = "LEFT")]
    left: PathBuf,

    /// What kind of file LEFT is [default: by its name, else lines]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Left side")]
    left_format: Option<Format>,

    /// Column of the keys of LEFT, by name or by number from 1 [default: the first]
    #[arg(long, value_name = "COL", help_heading = "Left side")]
    left_key: Option<Column>,

    /// Column of the values of LEFT, by name or by number from 1 [default: no values]
    #[arg(long, value_name = "COL", help_heading = "Left side")]
    left_value: Option<Column>,

    /// Where LEFT is a store: the keyspace to join
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = "Left side")]
    left_keyspace: String,

    /// Where LEFT is a store: the first key to join
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, help_heading = "Left side")]
    left_from: Option<OsString>,

    /// Where LEFT is a store: the key to end before
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, help_heading = "Left side")]
    left_to: Option<OsString>,
}

/// The right side.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct RightSide {
    /// Right side, likewise
    #[arg(value_name = "RIGHT")]
    right: PathBuf,

    /// What kind of file RIGHT is [default: by its name, else lines]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Right side")]
    right_format: Option<Format>,

    /// Column of the keys of RIGHT, by name or by number from 1 [default: the first]
    #[arg(long, value_name = "COL", help_heading = "Right side")]
    right_key: Option<Column>,

    /// Column of the values of RIGHT, by name or by number from 1 [default: no values]
    #[arg(long, value_name = "COL", help_heading = "Right side")]
    right_value: Option<Column>,

    /// Where RIGHT is a store: the keyspace to join
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = "Right side")]
    right_keyspace: String,

    /// Where RIGHT is a store: the first key to join
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, help_heading = "Right side")]
    right_from: Option<OsString>,

    /// Where RIGHT is a store: the key to end before
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, help_heading = "Right side")]
    right_to: Option<OsString>,
}

/// What holds for both sides.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct BothSides {
    /// What the keys are: u64, u128, i64, f64, text or bytes [default: as the inputs say, else by their first keys]
    #[arg(long, value_name = "TYPE", help_heading = "Both sides")]
    pub(super) key_type: Option<KeyType>,

    /// The first row of a CSV or TSV file is a record, not the names of the columns
    #[arg(long, help_heading = "Both sides")]
    pub(super) no_header: bool,

    /// Give each record of a file without values a value of N bytes made from its key, for measuring
    #[arg(long, value_name = "N", help_heading = "Both sides", value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    pub(super) payload: Option<u32>,
}

/// One side, whichever it is.
#[derive(Clone, Debug)]
pub(super) struct SideOptions {
    /// The name of the flags: `left` or `right`.
    pub(super) word: &'static str,
    pub(super) input: InputOptions,
    pub(super) keyspace: String,
    pub(super) from: Option<OsString>,
    pub(super) to: Option<OsString>,
}

impl Arguments {
    /// What is said of either side.
    pub(super) fn sides(&self) -> [SideOptions; 2] {
        let (left, right) = (self.left.clone(), self.right.clone());
        [
            SideOptions {
                word: "left",
                input: self.both.input(left.left, left.left_format, left.left_key, left.left_value),
                keyspace: left.left_keyspace,
                from: left.left_from,
                to: left.left_to,
            },
            SideOptions {
                word: "right",
                input: self.both.input(right.right, right.right_format, right.right_key, right.right_value),
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

    /// What the output is to be.
    ///
    /// # Errors
    /// [`Failure::Usage`] where standard output is to be something else than text.
    pub(super) fn to(&self) -> Result<To> {
        match (self.is_piped(), self.to) {
            (true, None | Some(To::Text)) => Ok(To::Text),
            (true, Some(_)) => {
                Err(Failure::usage("only text goes to standard output", "leave out --to, or name a file with -o"))
            }
            (false, to) => Ok(to.unwrap_or(To::Table)),
        }
    }
}

impl BothSides {
    fn input(&self, path: PathBuf, format: Option<Format>, key: Option<Column>, value: Option<Column>) -> InputOptions {
        InputOptions {
            path: if path.as_os_str() == "-" { PathBuf::from("/dev/stdin") } else { path },
            format,
            key,
            payload: self.payload.filter(|_| value.is_none()),
            value,
            no_header: self.no_header,
            key_type: self.key_type,
        }
    }
}

//! The format of an input, its compression and the delimiter of its fields: as given, by its content, or by its name.

#[cfg(feature = "parquet")]
use super::content::may_be_row;
use super::content::{
    Content, ForeignFormat, HEAD_BYTES, HIVE_DELIMITER, delimiter_of_header, has_decimal_commas, has_in_header,
};
use super::format::Format;
use super::json_layout::JsonLayout;
use super::names::{by_name, inner_name, is_named_otherwise};
use crate::output::note;
use crate::reading::decoded::{Compression, DecodedInput, Decoding};
use crate::reading::kept_pipe::KeptPipe;
use crate::reading::standard_input::shown;
use crate::urls::{UrlInput, is_url};
use ogive_text::{BYTE_ORDER_MARK, SeparatorLine};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes at the end of a file by which a format may be recognised.
const LAST_BYTES: usize = 8;

/// What is known of an input before it is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnknownInput<'a> {
    /// Its path, as given.
    pub(super) path: &'a Path,
    /// The file that is read: the input, or its copy.
    pub(super) source: &'a Path,
    pub(super) format: Option<Format>,
    pub(super) pipe: Option<&'a KeptPipe>,
}

/// What is known of an input before its records are read.
#[derive(Debug)]
pub(crate) struct Recognised {
    /// The file that was looked at.
    source: PathBuf,
    pub(super) format: Format,
    /// The delimiter, if it is not that of the format.
    pub(super) delimiter: Option<u8>,
    /// Whether it is text of Hive: without a header, and with `\N` for nulls.
    pub(super) is_hive: bool,
    pub(super) compression: Option<Compression>,
    /// Whether it was read and has nothing.
    #[cfg(feature = "parquet")]
    pub(super) is_empty: bool,
    /// Whether its first bytes are text.
    #[cfg(feature = "parquet")]
    pub(super) is_text: bool,
    /// Whether it is text in a folder, and its first line may be a row of several fields.
    #[cfg(feature = "parquet")]
    pub(super) may_be_row: bool,
    /// Whether it may be separated values or lines of text.
    pub(super) is_unclear: bool,
    /// What it is, if it is no input.
    pub(super) foreign: Option<ForeignFormat>,
    /// Its layout, if it is JSON whose lines are no rows.
    pub(super) json_layout: Option<JsonLayout>,
    /// Whether its name states a format.
    pub(super) is_named: bool,
    /// Whether its first line states the delimiter.
    is_stated: bool,
    /// What the content says that the name does not.
    inferred: Option<String>,
    is_told: AtomicBool,
}

impl Recognised {
    /// What an input is. What cannot be read fails where its records are read.
    pub(super) fn of(input: UnknownInput<'_>) -> Self {
        let UnknownInput { source, format, pipe, .. } = input;
        let head = match pipe {
            Some(pipe) => Ok(Head::of_pipe(DecodedInput::new(Box::new(pipe.reader()), None, Decoding::Text), format)),
            None => Head::of(source),
        };
        Self::by_head(input, &head)
    }

    /// What a file of a folder is, and as what it is read if a format is given, by one look at it.
    #[cfg(feature = "parquet")]
    pub(super) fn of_part(path: &Path, given: Option<Format>) -> (Self, Option<Self>) {
        let (head, unknown) = (Head::of(path), UnknownInput { path, source: path, format: None, pipe: None });
        let as_given = given.map(|_| Self::by_head(UnknownInput { format: given, ..unknown }, &head));
        let mut found = Self::by_head(unknown, &head);
        found.may_be_row = found.format == Format::Lines && head.is_ok_and(|head| may_be_row(&head.bytes));
        (found, as_given)
    }

    fn by_head(input: UnknownInput<'_>, head: &io::Result<Head>) -> Self {
        let UnknownInput { path, source, format, .. } = input;
        #[cfg(feature = "parquet")]
        let is_empty = head.as_ref().is_ok_and(|head| head.bytes.is_empty());
        let unread = Head::default();
        let head = head.as_ref().unwrap_or(&unread);
        let name = inner_name(path);
        let by_name = by_name(&name);
        let mut found = Self {
            source: source.to_owned(),
            format: format.or(by_name).unwrap_or(Format::Lines),
            delimiter: None,
            is_hive: false,
            is_unclear: false,
            compression: head.compression,
            #[cfg(feature = "parquet")]
            is_empty,
            #[cfg(feature = "parquet")]
            is_text: super::content::is_text(&head.bytes),
            #[cfg(feature = "parquet")]
            may_be_row: false,
            foreign: None,
            json_layout: None,
            is_named: by_name.is_some(),
            is_stated: false,
            inferred: None,
            is_told: AtomicBool::new(false),
        };
        let is_sosd = by_name == Some(Format::Sosd);
        let text = head.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head.bytes);
        if let SeparatorLine::Line { delimiter, .. } = SeparatorLine::of(text)
            && (format == Some(Format::Csv) || format.is_none() && !is_sosd)
        {
            (found.format, found.delimiter, found.is_stated) = (Format::Csv, Some(delimiter), true);
            found.inferred = Some(format!("CSV, delimiter {}", shown_byte(delimiter)));
            return found;
        }
        // The first bytes of SOSD files are a number.
        if format.is_none() && !is_sosd {
            found.take_content(Content::of(&head.bytes, &head.last), by_name, &head.bytes);
        }
        if found.format == Format::Csv && found.delimiter.is_none() {
            found.delimiter = delimiter_of_header(&head.bytes);
            let said = found.delimiter.map(|delimiter| format!("CSV, delimiter {}", shown_byte(delimiter)));
            found.inferred = found.inferred.take().or(said);
            // As PostgreSQL writes text.
            if format.is_none() && found.delimiter == Some(b'\t') && has_null_fields(&head.bytes) {
                (found.format, found.delimiter) = (Format::Tsv, None);
                found.inferred = Some("TSV with escapes such as \\t".to_owned());
            }
        }
        found
    }

    fn take_content(&mut self, content: Content, by_name: Option<Format>, head: &[u8]) {
        // A file with the name of a text may contain bytes.
        let is_named = content == Content::Zeros && by_name.is_some();
        self.foreign = content.foreign().filter(|_| !is_named);
        self.is_unclear = by_name.is_none() && matches!(content, Content::Unclear(_));
        // The comma that the name states may be that of numbers.
        let is_of_decimals = || by_name == Some(Format::Csv) && has_decimal_commas(head);
        let is_without_tabs = || by_name == Some(Format::Tsv) && !has_in_header(head, b'\t');
        let (format, said) = match content {
            Content::Of(Format::Parquet) => (Format::Parquet, "Parquet".to_owned()),
            Content::Of(format) => {
                self.json_layout = JsonLayout::of(head, head.len() as u64 >= HEAD_BYTES);
                (format, "JSON".to_owned())
            }
            Content::Separated(b'\t') if by_name.is_none() => (Format::Tsv, "TSV with escapes such as \\t".to_owned()),
            Content::Separated(b';') if is_of_decimals() => {
                self.delimiter = Some(b';');
                self.inferred = Some("CSV, delimiter ';'".to_owned());
                return;
            }
            Content::Separated(delimiter) if by_name.is_none() || is_without_tabs() => {
                self.delimiter = Some(delimiter);
                self.is_hive = delimiter == HIVE_DELIMITER;
                (Format::Csv, format!("CSV, delimiter {}", shown_byte(delimiter)))
            }
            _ if by_name.is_none() && is_named_otherwise(&self.source) => (Format::Lines, "lines of text".to_owned()),
            _ => return,
        };
        self.inferred = (by_name != Some(format)).then_some(said);
        self.format = format;
    }

    /// Reads it as its neighbours in a folder, which are of this format.
    #[cfg(feature = "parquet")]
    pub(super) fn follow(&mut self, format: Format, delimiter: Option<u8>, is_hive: bool) {
        (self.format, self.delimiter, self.is_hive, self.is_unclear) = (format, delimiter, is_hive, false);
    }

    /// The format that its name states.
    #[cfg(feature = "parquet")]
    pub(super) fn named(&self) -> Option<Format> {
        by_name(&inner_name(&self.source))
    }

    /// Whether this is of the file that is read.
    pub(super) fn is_of(&self, source: &Path) -> bool {
        self.source == source
    }

    /// Names what was inferred, once, and the option that says otherwise.
    pub(super) fn tell(&self, path: &Path, has_header: bool, option: &str) {
        if let Some(said) = &self.inferred
            && !self.is_told.swap(true, Ordering::Relaxed)
        {
            let is_separated = matches!(self.format, Format::Csv | Format::Tsv);
            let names = match (has_header && is_separated, self.is_stated) {
                (true, false) => ", names of columns in line 1",
                (true, true) => ", names of columns in line 2",
                (false, _) => "",
            };
            note(format_args!("note: {} is read as {said}{names}; {option} says otherwise", shown(path)));
        }
    }
}

/// Whether a field between tabs is `\N`, a null of text with escapes.
fn has_null_fields(text: &[u8]) -> bool {
    let mut fields = text.split(|byte| matches!(byte, b'\t' | b'\n' | b'\r'));
    fields.any(|field| field == br"\N")
}

fn shown_byte(byte: u8) -> String {
    match byte {
        b'\t' => "'\\t'".to_owned(),
        HIVE_DELIMITER => "0x01, without a header, as of Hive".to_owned(),
        byte => format!("'{}'", char::from(byte)),
    }
}

/// The first bytes of a file, decoded, and its last ones.
#[derive(Debug, Default)]
struct Head {
    bytes: Vec<u8>,
    last: Vec<u8>,
    compression: Option<Compression>,
}

impl Head {
    /// Those of a file, also behind a URL. Nothing is taken from a pipe.
    fn of(path: &Path) -> io::Result<Self> {
        if is_url(path) {
            let raw = UrlInput::head(path, HEAD_BYTES)?;
            return Ok(Self::decoded(DecodedInput::new(Box::new(Cursor::new(raw)), None, Decoding::Text)));
        }
        if !std::fs::metadata(path)?.is_file() {
            return Ok(Self::default());
        }
        let found = Self::decoded(DecodedInput::open(path, Decoding::Text)?);
        let mut last = vec![0; LAST_BYTES];
        let mut file = File::open(path)?;
        let ended = file.seek(SeekFrom::End(-(LAST_BYTES as i64))).and_then(|_| file.read_exact(&mut last));
        Ok(Self { last: if ended.is_ok() { last } else { Vec::new() }, ..found })
    }

    /// Those of a pipe, whose writer may go on much later: no more is waited for than has to be known.
    fn of_pipe(input: DecodedInput, format: Option<Format>) -> Self {
        match format {
            None | Some(Format::Parquet) => Self::decoded(input),
            // The names of the columns tell the delimiter.
            Some(Format::Csv) => {
                let mut line = Vec::new();
                _ = BufReader::with_capacity(1, input.take(HEAD_BYTES)).read_until(b'\n', &mut line);
                Self { bytes: line, ..Self::default() }
            }
            // The text is decoded when it is read.
            Some(_) => Self::default(),
        }
    }

    /// What can be read of an input before it fails.
    fn decoded(mut input: DecodedInput) -> Self {
        let mut bytes = Vec::new();
        // An error of the input is reported where its records are read.
        _ = input.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes);
        Self { bytes, last: Vec::new(), compression: input.compression() }
    }
}

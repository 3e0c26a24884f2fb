//! The parser of rows of separated fields, which takes the pieces of an input as they come.
//!
//! Rows end with LF, CR or both. An empty line is a row of one field where rows are known to have one, in escaped form
//! also where that is not known yet, and else no row. In quoted form, a quote within a field that does not begin with
//! one is a character. What has no meaning is refused: text behind a closing quote, and a backslash that begins no
//! escape. Lenient parsers take both as they are.

use crate::separated::{FieldForm, QUOTE, Separated, unescaped};

/// The fields of one row.
#[derive(Debug)]
pub(crate) struct RowParser {
    form: Separated,
    is_lenient: bool,
    /// Whether an empty line is a row of one empty field.
    takes_empty_lines: bool,
    /// Empty lines that were no rows.
    empty_lines: u64,
    state: State,
    /// The text of the fields, in their order.
    text: Vec<u8>,
    /// Where each field is in the text.
    fields: Vec<FieldSpan>,
    /// Where the text of the current field begins.
    field_start: usize,
    /// Whether a byte ends text without quotes, or begins an escape.
    is_special: [bool; 256],
    /// The delimiter, and the quote or the backslash where it has a meaning, each eight times.
    repeated: [u64; 2],
    /// The kind of the current field.
    kind: FieldKind,
    /// Whether the last row ended with a carriage return, to which a line feed may belong.
    is_after_return: bool,
    /// Whether any line ended with a line feed.
    has_line_feeds: bool,
    /// The line in which the row starts, and the current one, from 1.
    line: u64,
    current_line: u64,
}

/// The first byte behind CR and LF.
const CONTROL_END: u8 = b'\r' + 1;

/// The high bits of the bytes of a word that are less than `end`, which is at most 128. Bytes above the lowest one of
/// these may have it, too.
#[inline]
fn bytes_below(word: u64, end: u8) -> u64 {
    const HIGH_BITS: u64 = u64::from_ne_bytes([1 << 7; 8]);
    word.wrapping_sub(u64::from_ne_bytes([end; 8])) & !word & HIGH_BITS
}

/// The place of a field in the text of its row.
#[derive(Clone, Copy, Debug)]
struct FieldSpan {
    start: usize,
    end: usize,
    kind: FieldKind,
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Plain,
    Quoted,
    /// `\N` in escaped form.
    Null,
}

/// The place in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Before a row, where ends of lines are skipped.
    RowStart,
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote in quotes, which is the closing one unless another follows.
    Closed,
    /// Behind a backslash.
    Escape,
    /// Behind `\N`.
    Null,
    /// At what has no meaning.
    Refused,
}

impl RowParser {
    pub(crate) fn new(form: Separated, is_lenient: bool) -> Self {
        let mut is_special = [false; 256];
        [form.delimiter, b'\r', b'\n'].into_iter().for_each(|byte| is_special[usize::from(byte)] = true);
        let is_escaped = form.fields == FieldForm::Escaped;
        is_special[usize::from(b'\\')] |= is_escaped;
        let other = match form.fields {
            FieldForm::Quoted => QUOTE,
            FieldForm::Escaped => b'\\',
            FieldForm::Plain => form.delimiter,
        };
        Self {
            repeated: [form.delimiter, other].map(|byte| u64::from_ne_bytes([byte; 8])),
            form,
            is_lenient,
            takes_empty_lines: form.fields == FieldForm::Escaped,
            empty_lines: 0,
            state: State::RowStart,
            text: Vec::new(),
            fields: Vec::new(),
            field_start: 0,
            is_special,
            kind: FieldKind::Plain,
            is_after_return: false,
            has_line_feeds: false,
            line: 1,
            current_line: 1,
        }
    }

    /// Sets the number of fields of each row.
    pub(crate) fn set_fields(&mut self, count: usize) {
        self.takes_empty_lines = count == 1;
    }

    /// Begins in the second line.
    pub(crate) fn skip_line(&mut self) {
        (self.line, self.current_line) = (self.line + 1, self.current_line + 1);
    }

    pub(crate) fn begin(&mut self) {
        self.state = State::RowStart;
        self.text.clear();
        self.fields.clear();
        self.field_start = 0;
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// The line in which the row starts.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The line of the last byte that was taken.
    pub(crate) fn current_line(&self) -> u64 {
        self.current_line
    }

    /// The number of empty lines so far that were no rows.
    pub(crate) fn empty_lines(&self) -> u64 {
        self.empty_lines
    }

    /// Whether the row ended with a carriage return in a text whose lines end with line feeds, so that one must follow.
    pub(crate) fn wants_line_feed(&self) -> bool {
        self.is_after_return && self.has_line_feeds
    }

    /// Whether the row has not begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.state == State::RowStart && self.fields.is_empty()
    }

    /// The number of fields.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(crate) fn field(&self, column: usize) -> &[u8] {
        self.part(column).0
    }

    /// The text and the kind of a field.
    #[inline]
    pub(crate) fn part(&self, column: usize) -> (&[u8], FieldKind) {
        let Some(field) = self.fields.get(column) else { return (&[], FieldKind::Plain) };
        (self.text.get(field.start..field.end).unwrap_or_default(), field.kind)
    }

    /// Takes a row that is whole in this piece of the input, and needs no other steps than to be cut at delimiters:
    /// most rows of most files. Gives the number of its bytes, or `None` for other rows, of which nothing is taken.
    fn take_whole(&mut self, piece: &[u8]) -> Option<usize> {
        let is_feed_behind_return = self.is_after_return && piece.first() == Some(&b'\n');
        let rest = piece.get(usize::from(is_feed_behind_return)..)?;
        let Some(length) = self.cut(rest) else {
            self.fields.clear();
            return None;
        };
        let end = rest.get(length)?;
        self.text.extend_from_slice(&rest[..length]);
        self.has_line_feeds |= is_feed_behind_return || *end == b'\n';
        self.line = self.current_line + u64::from(is_feed_behind_return);
        self.current_line = self.line + u64::from(*end == b'\n');
        self.is_after_return = *end == b'\r';
        Some(usize::from(is_feed_behind_return) + length + 1)
    }

    /// Finds the fields of a row that begins here and has no empty text in front; gives the place of its end. Eight
    /// bytes are looked at together.
    fn cut(&mut self, rest: &[u8]) -> Option<usize> {
        if matches!(rest.first()?, b'\r' | b'\n') {
            return None;
        }
        let has_quotes = self.form.fields == FieldForm::Quoted;
        let (mut at, mut start) = (0, 0);
        loop {
            let mut marks = self.marks(rest.get(at..)?);
            at += size_of_val(&marks);
            while marks != 0 {
                let place = at - size_of_val(&marks) + marks.trailing_zeros() as usize / 8;
                // Behind the piece is the rest of the row.
                let byte = *rest.get(place)?;
                marks &= marks - 1;
                if byte == self.form.delimiter {
                    self.fields.push(FieldSpan { start, end: place, kind: FieldKind::Plain });
                    start = place + 1;
                } else if matches!(byte, b'\r' | b'\n') {
                    self.fields.push(FieldSpan { start, end: place, kind: FieldKind::Plain });
                    return Some(place);
                } else if has_quotes && byte == QUOTE && place == start {
                    let end = self.cut_quoted(rest, start + 1)?;
                    if rest[end] != self.form.delimiter {
                        return Some(end);
                    }
                    (at, start, marks) = (end + 1, end + 1, 0);
                } else if self.is_special[usize::from(byte)] {
                    return None;
                }
            }
        }
    }

    /// Finds the end of a field whose text begins behind a quote; gives the place of what ends it.
    #[inline]
    fn cut_quoted(&mut self, rest: &[u8], start: usize) -> Option<usize> {
        let end = start + rest.get(start..)?.iter().position(|byte| matches!(byte, &QUOTE | b'\n'))?;
        // A line feed within quotes is counted, and a quote behind one is a character.
        let byte = *rest.get(end + 1).filter(|_| rest[end] == QUOTE)?;
        if byte != self.form.delimiter && !matches!(byte, b'\r' | b'\n') {
            return None;
        }
        self.fields.push(FieldSpan { start, end, kind: FieldKind::Quoted });
        Some(end + 1)
    }

    /// The high bits of those of the first eight bytes that may end a field, begin one with quotes or begin an escape;
    /// those of others may be among them, and behind the end of the bytes there is one.
    #[inline]
    fn marks(&self, bytes: &[u8]) -> u64 {
        let word = bytes.first_chunk().copied().unwrap_or_else(|| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            word
        });
        let word = u64::from_le_bytes(word);
        let [delimiter, other] = self.repeated.map(|byte| bytes_below(word ^ byte, 1));
        delimiter | other | bytes_below(word, CONTROL_END)
    }

    /// Takes bytes of a piece of the input; gives their number, and whether the row is complete or refused.
    pub(crate) fn take(&mut self, piece: &[u8]) -> (usize, bool) {
        let whole = if self.is_empty() { self.take_whole(piece) } else { None };
        whole.map_or_else(|| self.take_steps(piece), |taken| (taken, true))
    }

    /// Takes bytes one step after the other.
    fn take_steps(&mut self, piece: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            let is_end = byte == self.form.delimiter || matches!(byte, b'\r' | b'\n');
            match self.state {
                State::RowStart if matches!(byte, b'\r' | b'\n') => {
                    at += 1;
                    if self.takes_empty_lines && !(byte == b'\n' && self.is_after_return) {
                        self.line = self.current_line;
                        self.end_field(byte);
                        return (at, true);
                    }
                    self.empty_lines += u64::from(!(byte == b'\n' && self.is_after_return));
                    self.is_after_return = byte == b'\r';
                    self.has_line_feeds |= byte == b'\n';
                    self.current_line += u64::from(byte == b'\n');
                }
                State::RowStart => {
                    (self.state, self.line, self.is_after_return) = (State::FieldStart, self.current_line, false);
                }
                State::FieldStart if byte == QUOTE && self.form.fields == FieldForm::Quoted => {
                    (self.state, self.kind) = (State::Quoted, FieldKind::Quoted);
                    at += 1;
                }
                State::FieldStart => self.state = State::Plain,
                State::Plain => {
                    let (taken, is_done) = self.take_plain(&piece[at..]);
                    at += taken;
                    if is_done {
                        return (at, true);
                    }
                }
                State::Quoted => at += self.take_quoted(&piece[at..]),
                State::Closed if byte == QUOTE => {
                    self.text.push(byte);
                    self.state = State::Quoted;
                    at += 1;
                }
                State::Closed | State::Null if is_end => self.state = State::Plain,
                State::Escape => at += self.take_escape(byte),
                State::Closed | State::Null if self.is_lenient => self.take_as_is(),
                State::Closed | State::Null => self.state = State::Refused,
                State::Refused => return (at, true),
            }
        }
        (at, self.state == State::Refused)
    }

    /// Takes bytes of a field that are outside of quotes, and its end.
    fn take_plain(&mut self, rest: &[u8]) -> (usize, bool) {
        let is_escaped = self.form.fields == FieldForm::Escaped;
        let length = rest.iter().position(|byte| self.is_special[usize::from(*byte)]).unwrap_or(rest.len());
        self.text.extend_from_slice(&rest[..length]);
        match rest.get(length) {
            None => (length, false),
            Some(b'\\') if is_escaped => {
                self.state = State::Escape;
                (length + 1, false)
            }
            Some(&end) => (length + 1, self.end_field(end)),
        }
    }

    /// Takes bytes within quotes, and the quote behind them.
    fn take_quoted(&mut self, rest: &[u8]) -> usize {
        let length = rest.iter().position(|byte| *byte == QUOTE).unwrap_or(rest.len());
        self.text.extend_from_slice(&rest[..length]);
        self.current_line += rest[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
        if length == rest.len() {
            return length;
        }
        self.state = State::Closed;
        length + 1
    }

    /// Takes the byte behind a backslash, if it is part of an escape.
    fn take_escape(&mut self, byte: u8) -> usize {
        match unescaped(byte, self.form.delimiter) {
            Some(meant) => {
                self.text.push(meant);
                self.state = State::Plain;
                1
            }
            None if byte == b'N' && self.text.len() == self.field_start => {
                (self.state, self.kind) = (State::Null, FieldKind::Null);
                1
            }
            None if self.is_lenient => {
                self.take_as_is();
                0
            }
            None => {
                self.state = State::Refused;
                0
            }
        }
    }

    /// Goes on with text behind a closing quote, `\N` or a backslash, which keep what they were written as.
    fn take_as_is(&mut self) {
        match self.state {
            State::Escape => self.text.push(b'\\'),
            State::Null => {
                self.text.extend_from_slice(b"\\N");
                self.kind = FieldKind::Plain;
            }
            _ => {}
        }
        self.state = State::Plain;
    }

    /// Ends a field at a delimiter or the end of a line; `true` if the row ends, too.
    fn end_field(&mut self, end: u8) -> bool {
        self.fields.push(FieldSpan { start: self.field_start, end: self.text.len(), kind: self.kind });
        self.field_start = self.text.len();
        self.kind = FieldKind::Plain;
        if end == self.form.delimiter {
            self.state = State::FieldStart;
            return false;
        }
        self.is_after_return = end == b'\r';
        self.has_line_feeds |= end == b'\n';
        self.current_line += u64::from(end == b'\n');
        self.state = State::RowStart;
        true
    }

    /// Ends the row at the end of the input; `false` if there is none, or if it cannot end here.
    pub(crate) fn end_input(&mut self) -> bool {
        match self.state {
            State::RowStart | State::Quoted | State::Refused => return false,
            State::Escape if self.is_lenient => self.take_as_is(),
            State::Escape => {
                self.state = State::Refused;
                return false;
            }
            State::FieldStart | State::Plain | State::Closed | State::Null => {}
        }
        self.end_field(b'\r')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a text that comes in pieces of `step` bytes, with nulls; `None` if it is refused.
    fn parsed(mut parser: RowParser, text: &[u8], step: usize) -> Option<Vec<Vec<Option<Vec<u8>>>>> {
        let mut rows = Vec::new();
        let mut row = |parser: &mut RowParser| {
            let field = |column| (parser.part(column).1 != FieldKind::Null).then(|| parser.field(column).to_vec());
            rows.push((0..parser.len()).map(field).collect());
            parser.begin();
        };
        for piece in text.chunks(step) {
            let mut at = 0;
            while at < piece.len() {
                let (taken, is_done) = parser.take(&piece[at..]);
                at += taken;
                if parser.state() == State::Refused {
                    return None;
                }
                if is_done {
                    row(&mut parser);
                }
            }
        }
        if parser.end_input() {
            row(&mut parser);
        }
        (parser.state() != State::Refused).then_some(rows)
    }

    /// The rows of a lenient parser of CSV.
    fn rows(text: &[u8], step: usize) -> Vec<Vec<Vec<u8>>> {
        let rows = parsed(RowParser::new(Separated::CSV, true), text, step).unwrap();
        rows.into_iter().map(|row| row.into_iter().map(Option::unwrap).collect()).collect()
    }

    /// Whether a closing quote of a text is followed by something else than the end of its field.
    fn has_text_behind_quotes(text: &[u8]) -> bool {
        let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b',' | b'\r' | b'\n'));
        let mut at = 0;
        while at < text.len() {
            if text[at] != b'"' {
                at += text[at..].iter().position(|byte| is_end(Some(byte))).map_or(text.len(), |end| end + 1);
                continue;
            }
            loop {
                at += 1;
                let Some(length) = text[at.min(text.len())..].iter().position(|byte| *byte == b'"') else {
                    return false;
                };
                at += length + 1;
                if text.get(at) != Some(&b'"') {
                    break;
                }
            }
            if !is_end(text.get(at)) {
                return true;
            }
            at += 1;
        }
        false
    }

    /// All short texts of the bytes that matter, in pieces of each size, against the crate `csv`, which closes an open
    /// quote at the end.
    #[test]
    fn rows_are_those_that_other_readers_find() {
        const ALPHABET: [u8; 5] = *b"a,\"\n\r";
        for length in 0..7_u32 {
            for number in 0..5_usize.pow(length) {
                let text: Vec<u8> = (0..length).map(|place| ALPHABET[number / 5_usize.pow(place) % 5]).collect();
                let mut reference = csv::ReaderBuilder::new();
                let mut reference = reference.has_headers(false).flexible(true).from_reader(&text[..]);
                let expected: Vec<Vec<Vec<u8>>> = reference
                    .byte_records()
                    .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
                    .collect();
                let found = rows(&text, 7);
                let mut open = RowParser::new(Separated::CSV, true);
                let mut at = 0;
                while at < text.len() {
                    if open.state() == State::RowStart {
                        open.begin();
                    }
                    at += open.take(&text[at..]).0;
                }
                let is_open = open.state() == State::Quoted;
                let expected = &expected[..expected.len() - usize::from(is_open)];
                assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(&text));
                let strict = parsed(RowParser::new(Separated::CSV, false), &text, 7);
                assert_eq!(strict.is_none(), has_text_behind_quotes(&text), "{:?}", String::from_utf8_lossy(&text));
                let own = found.iter().map(|row| row.iter().cloned().map(Some).collect::<Vec<_>>());
                assert!(strict.is_none_or(|strict| strict.into_iter().eq(own)));
                for step in 1..4 {
                    assert_eq!(rows(&text, step), found, "{:?}", String::from_utf8_lossy(&text));
                }
            }
        }
    }

    /// Drawn texts of some words, cut eight bytes at a time, against the same texts read byte by byte.
    #[test]
    fn rows_that_are_cut_whole_are_those_of_single_bytes() {
        // With the bytes that differ from special ones by one bit or one, and some that are rare.
        const ALPHABET: [u8; 20] = *b"aaaaaaaa,,,\"\n-\t\\#\x0c\x01\xac";
        let plain = Separated { delimiter: 1, fields: FieldForm::Plain };
        let forms = [Separated::CSV, Separated::tsv(None), plain];
        let mut state = 1_u64;
        for round in 0..30_000_u64 {
            let form = forms[(round % 3) as usize];
            let text: Vec<u8> = (0..round % 61)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    ALPHABET[(state >> 33) as usize % ALPHABET.len()]
                })
                .collect();
            for is_lenient in [false, true] {
                let read = |step| parsed(RowParser::new(form, is_lenient), &text, step);
                assert_eq!(read(text.len().max(1)), read(1), "{:?} {form:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    /// All short texts of the bytes that matter, in pieces of each size, against a reference that splits lines and
    /// fields before it looks at escapes.
    #[test]
    fn escaped_rows_are_the_unescaped_fields_of_their_lines() {
        const ALPHABET: [u8; 6] = *b"N\t\n\\\"n";
        let field = |written: &[u8]| -> Option<Option<Vec<u8>>> {
            if written == b"\\N" {
                return Some(None);
            }
            let mut bytes = written.iter();
            let mut meant = Vec::new();
            while let Some(&byte) = bytes.next() {
                meant.push(match byte {
                    b'\\' => match bytes.next()? {
                        b'n' => b'\n',
                        b'\\' => b'\\',
                        b'\t' => b'\t',
                        _ => return None,
                    },
                    byte => byte,
                });
            }
            Some(Some(meant))
        };
        for length in 0..7_u32 {
            for number in 0..6_usize.pow(length) {
                let text: Vec<u8> = (0..length).map(|place| ALPHABET[number / 6_usize.pow(place) % 6]).collect();
                // An escaped delimiter is one of the field.
                if text.windows(2).any(|pair| pair == b"\\\t") {
                    continue;
                }
                let lines = text.strip_suffix(b"\n").unwrap_or(&text).split(|byte| *byte == b'\n');
                let lines = lines.filter(|_| !text.is_empty());
                let expected: Option<Vec<Vec<_>>> =
                    lines.map(|line| line.split(|byte| *byte == b'\t').map(field).collect()).collect();
                for step in [1, 2, 7] {
                    let found = parsed(RowParser::new(Separated::tsv(None), false), &text, step);
                    assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(&text));
                    // Lenient parsers read the same where strict ones read at all.
                    let lenient = parsed(RowParser::new(Separated::tsv(None), true), &text, step);
                    assert!(lenient.is_some() && (found.is_none() || found == lenient));
                }
            }
        }
    }

    #[test]
    fn lenient_parsers_keep_backslashes_that_begin_no_escape() {
        let rows = |text: &str| parsed(RowParser::new(Separated::tsv(None), true), text.as_bytes(), 3).unwrap();
        let own = |fields: &[&str]| fields.iter().map(|field| Some(field.as_bytes().to_vec())).collect::<Vec<_>>();
        let kept = "C:\\dir\t\\Nice\tx\\N\n\\";
        assert_eq!(rows(kept), [own(&["C:\\dir", "\\Nice", "x\\N"]), own(&["\\"])]);
    }

    #[test]
    fn empty_lines_are_rows_where_rows_have_one_field() {
        let count = |fields: Option<usize>, form, text: &str| {
            let mut parser = RowParser::new(form, false);
            fields.into_iter().for_each(|fields| parser.set_fields(fields));
            parsed(parser, text.as_bytes(), 1).unwrap().len()
        };
        let tsv = Separated::tsv(None);
        for (text, rows) in [("", 0), ("\n", 1), ("\r\n", 1), ("a\n\n", 2), ("a\r\n\r\nb\r\n", 3), ("a\r\rb", 3)] {
            assert_eq!((count(None, tsv, text), count(Some(1), tsv, text)), (rows, rows), "{text:?}");
        }
        assert_eq!((count(Some(2), tsv, "\na\tb\n\n"), count(Some(2), Separated::CSV, "\na,b\n\n")), (1, 1));
        for (text, rows) in [("", 0), ("\n", 1), ("a\n\n", 2), ("a\r\n\r\nb\r\n", 3), ("a\r\rb", 3), ("\n\"\"\n", 2)] {
            assert_eq!(count(Some(1), Separated::CSV, text), rows, "{text:?}");
        }
    }

    #[test]
    fn lines_are_counted_to_the_start_of_a_row() {
        let mut parser = RowParser::new(Separated::CSV, false);
        let text = b"a,b\r\n\n\"x\ny\",c\nlast\n";
        let mut lines = Vec::new();
        let mut at = 0;
        while at < text.len() {
            parser.begin();
            at += parser.take(&text[at..]).0;
            lines.push(parser.line());
        }
        assert_eq!(lines, [1, 3, 5]);
    }
}

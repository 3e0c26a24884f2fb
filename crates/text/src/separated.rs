//! Forms of text files of separated fields: quoted, as CSV (RFC 4180), or escaped, as PostgreSQL's COPY writes text.

/// What some editors put at the start of UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Digits of the greatest number of 64 bits.
const DIGITS_MAX: usize = 20;
/// What stands before the delimiter in a line that states it.
const SEPARATOR_NAME: &[u8] = b"sep=";
/// The byte that begins and ends a quoted field.
pub const QUOTE: u8 = b'"';

/// How the fields of a row are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// Fields with delimiters, quotes or ends of lines are in quotes. Nothing is a null, `""` is empty text.
    Quoted,
    /// `\t`, `\n`, `\r` and `\\` are escapes, `\N` is a null, and quotes are characters.
    Escaped,
    /// There are neither quotes nor escapes, as in text of Hive.
    Plain,
}

/// The form of a file of separated fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Separated {
    /// The byte between fields.
    pub delimiter: u8,
    /// How they are told apart.
    pub fields: FieldForm,
}

impl Separated {
    /// Comma-separated values.
    pub const CSV: Self = Self { delimiter: b',', fields: FieldForm::Quoted };

    /// Tab-separated values, with quotes if that is asked for.
    #[must_use]
    pub fn tsv(quote: Option<Quote>) -> Self {
        let fields = if quote.is_some() { FieldForm::Quoted } else { FieldForm::Escaped };
        Self { delimiter: b'\t', fields }
    }

    /// Appends a row of fields that come one after the other; `None` is a null.
    pub fn row<'a>(self, line: &'a mut Vec<u8>) -> SeparatedRow<'a> {
        SeparatedRow { form: self, line, is_first: true }
    }

    /// Appends further fields to a row that has some.
    pub fn rest_of_row<'a>(self, line: &'a mut Vec<u8>) -> SeparatedRow<'a> {
        SeparatedRow { form: self, line, is_first: false }
    }
}

/// A row that is being written.
#[derive(Debug)]
pub struct SeparatedRow<'a> {
    form: Separated,
    line: &'a mut Vec<u8>,
    is_first: bool,
}

impl SeparatedRow<'_> {
    /// Appends a field; `None` is a null.
    pub fn field(&mut self, field: Option<&[u8]>) {
        if !std::mem::take(&mut self.is_first) {
            self.line.push(self.form.delimiter);
        }
        match (self.form.fields, field) {
            (FieldForm::Quoted, None) => {}
            (FieldForm::Quoted, Some(field)) => self.quoted(field),
            (FieldForm::Escaped, None) => self.line.extend_from_slice(b"\\N"),
            (FieldForm::Escaped, Some(field)) => self.escaped(field),
            // Only rows that are left out are written so, to be read by people.
            (FieldForm::Plain, field) => self.line.extend_from_slice(field.unwrap_or_default()),
        }
    }

    /// Appends a number.
    pub fn number(&mut self, number: u64) {
        let mut digits = [0; DIGITS_MAX];
        let (mut at, mut rest) = (DIGITS_MAX, number);
        while at == DIGITS_MAX || rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        // No digit needs a quote or an escape, unless it is the delimiter.
        self.field(Some(&digits[at..]));
    }

    /// Appends further fields that are written in this form, each behind a delimiter.
    pub fn written(&mut self, fields: &[u8]) {
        self.line.extend_from_slice(fields);
    }

    /// Ends the row.
    pub fn end(self) {
        self.line.push(b'\n');
    }

    /// Appends a field in quotes if it needs them; one without characters does.
    fn quoted(&mut self, field: &[u8]) {
        let is_special = |byte: &u8| *byte == self.form.delimiter || matches!(byte, &QUOTE | b'\r' | b'\n');
        // Without an end at the first such byte, bytes are compared many at a time.
        let has_special = field.iter().fold(false, |found, byte| found | is_special(byte));
        if !field.is_empty() && !has_special {
            self.line.extend_from_slice(field);
            return;
        }
        self.line.push(QUOTE);
        for &byte in field {
            if byte == QUOTE {
                self.line.push(QUOTE);
            }
            self.line.push(byte);
        }
        self.line.push(QUOTE);
    }

    fn escaped(&mut self, field: &[u8]) {
        for &byte in field {
            match byte {
                b'\t' => self.line.extend_from_slice(b"\\t"),
                b'\n' => self.line.extend_from_slice(b"\\n"),
                b'\r' => self.line.extend_from_slice(b"\\r"),
                b'\\' => self.line.extend_from_slice(b"\\\\"),
                byte => {
                    if byte == self.form.delimiter {
                        self.line.push(b'\\');
                    }
                    self.line.push(byte);
                }
            }
        }
    }
}

/// What the first line of CSV may be: `sep=;`, by which Excel is told the delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeparatorLine {
    /// It is another line.
    No,
    /// The text is the beginning of one.
    Begun,
    /// It is one.
    Line {
        /// The delimiter that it states.
        delimiter: u8,
        /// Its bytes, with its end.
        length: usize,
    },
}

impl SeparatorLine {
    /// What the line at the start of a text, behind its byte order mark, is.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let is_quoted = text.first() == Some(&QUOTE);
        let line = &text[usize::from(is_quoted)..];
        for (at, letter) in SEPARATOR_NAME.iter().enumerate() {
            match line.get(at) {
                None => return Self::Begun,
                Some(byte) if byte.eq_ignore_ascii_case(letter) => {}
                Some(_) => return Self::No,
            }
        }
        let Some(&delimiter) = line.get(SEPARATOR_NAME.len()) else { return Self::Begun };
        if delimiter.is_ascii_alphanumeric() || matches!(delimiter, QUOTE | b'\r' | b'\n') {
            return Self::No;
        }
        let mut rest = &line[SEPARATOR_NAME.len() + 1..];
        if is_quoted {
            match rest.split_first() {
                None => return Self::Begun,
                Some((&QUOTE, behind)) => rest = behind,
                Some(_) => return Self::No,
            }
        }
        let end = match rest {
            [] | [b'\r'] => return Self::Begun,
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => return Self::No,
        };
        Self::Line { delimiter, length: text.len() - rest.len() + end }
    }
}

/// The byte of an escape; `None` if its second byte begins none. [`Separated`] tells nulls apart.
pub(crate) fn unescaped(second: u8, delimiter: u8) -> Option<u8> {
    Some(match second {
        b't' => b'\t',
        b'n' => b'\n',
        b'r' => b'\r',
        // PostgreSQL writes these, too.
        b'b' => 0x08,
        b'f' => 0x0c,
        b'v' => 0x0b,
        b'\\' => b'\\',
        byte if byte == delimiter => byte,
        _ => return None,
    })
}

/// The quote of fields, where it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote;

/// The quote of an argument.
///
/// # Errors
/// Another character than `"`.
pub fn parse_quote(text: &str) -> Result<Quote, String> {
    match text.as_bytes() {
        &[QUOTE] => Ok(Quote),
        _ => Err("the quote is '\"'".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_or_escaped_where_needed() {
        let fields = [Some("a"), None, Some(""), Some("t\tb\n\r\\"), Some("\"q\""), Some("\\N"), Some("1,2")];
        let written = |form: Separated| {
            let mut line = Vec::new();
            let mut row = form.row(&mut line);
            fields.iter().for_each(|field| row.field(field.map(str::as_bytes)));
            row.end();
            String::from_utf8(line).unwrap()
        };
        assert_eq!(written(Separated::tsv(None)), "a\t\\N\t\tt\\tb\\n\\r\\\\\t\"q\"\t\\\\N\t1,2\n");
        assert_eq!(written(Separated::tsv(Some(Quote))), "a\t\t\"\"\t\"t\tb\n\r\\\"\t\"\"\"q\"\"\"\t\\N\t1,2\n");
        let mut line = Vec::new();
        for number in [0, 7, 10, u64::MAX] {
            let mut row = Separated::CSV.row(&mut line);
            row.number(number);
            row.written(b",x");
            row.end();
        }
        assert_eq!(line, b"0,x\n7,x\n10,x\n18446744073709551615,x\n");
        assert_eq!(written(Separated::CSV), "a,,\"\",\"t\tb\n\r\\\",\"\"\"q\"\"\",\\N,\"1,2\"\n");
    }

    #[test]
    fn a_line_that_states_the_delimiter_is_told_from_others() {
        for (text, delimiter, length) in [
            ("sep=;\na;b\n", b';', 6),
            ("SEP=\t\r\na\tb", b'\t', 7),
            ("\"sep=|\"\ra|b", b'|', 8),
            ("sep=,\ra,b", b',', 6),
        ] {
            assert_eq!(SeparatorLine::of(text.as_bytes()), SeparatorLine::Line { delimiter, length }, "{text}");
        }
        for text in ["", "s", "sep=", "sep=;", "sep=;\r", "\"sep=;", "\""] {
            assert_eq!(SeparatorLine::of(text.as_bytes()), SeparatorLine::Begun, "{text}");
        }
        for text in ["sepal;x\n", "sep=;x\n", "sep=x\n", "sep=\n", "\"sep=;x", "id\n"] {
            assert_eq!(SeparatorLine::of(text.as_bytes()), SeparatorLine::No, "{text}");
        }
    }

    #[test]
    fn the_only_quote_is_the_double_one() {
        assert!(parse_quote("\"").is_ok());
        assert!(["", "'", "\"\"", "\u{201d}"].into_iter().all(|text| parse_quote(text).is_err()));
    }
}

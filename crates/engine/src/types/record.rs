//! Records of CSV (RFC 4180): the text form of tuples and rows.

/// A field of a record.
#[derive(Debug)]
pub(super) enum RecordField {
    /// Nothing, not even quotes: a null where there may be one.
    Empty,
    /// Text, which is empty if the field is `""`.
    Text(String),
}

/// Splits a record; `None` for quotes that do not match.
pub(super) fn split(record: &str) -> Option<Vec<RecordField>> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        if let Some(mut quoted) = rest.strip_prefix('"') {
            let mut text = String::new();
            loop {
                let (part, after) = quoted.split_once('"')?;
                text.push_str(part);
                match after.strip_prefix('"') {
                    Some(after) => {
                        text.push('"');
                        quoted = after;
                    }
                    None => {
                        rest = after;
                        break;
                    }
                }
            }
            fields.push(RecordField::Text(text));
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let field = &rest[..end];
            if field.contains('"') {
                return None;
            }
            fields.push(if field.is_empty() { RecordField::Empty } else { RecordField::Text(field.to_owned()) });
            rest = &rest[end..];
        }
        if rest.is_empty() {
            return Some(fields);
        }
        rest = rest.strip_prefix(',')?;
    }
}

/// Appends a field that is not null, in quotes where needed.
pub(super) fn append(record: &mut String, field: &str) {
    if field.is_empty() || field.contains([',', '"']) {
        record.push('"');
        record.push_str(&field.replace('"', "\"\""));
        record.push('"');
    } else {
        record.push_str(field);
    }
}

/// Splits a list at its commas, but not within parentheses, braces or quotes.
pub(super) fn split_list(list: &str) -> Vec<&str> {
    let (mut depth, mut is_quoted, mut start, mut parts) = (0_usize, false, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts
}

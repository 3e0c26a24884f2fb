//! Text that has rows in a form for people, or within a script: tables that programs draw, and dumps of PostgreSQL.

use super::content::ForeignFormat;

const COPY_DUMP: ForeignFormat = (
    "is a dump of pg_dump, whose rows are within a script",
    "write a table of it as CSV: restore it with `psql -d DATABASE -f FILE`, then \
     `psql -d DATABASE -c \"\\copy (select * from NAME) to 'NAME.csv' csv header\"`",
);
const PSQL: ForeignFormat = (
    "is a table as psql prints it",
    "write it as CSV, as in `psql --csv -c 'select * from NAME' | ogive build - -o TABLE`",
);
const MARKDOWN: ForeignFormat = (
    "is a table of Markdown",
    "make CSV of it, as in `sed -e 2d -e 's/^ *| *//' -e 's/ *| *$//' -e 's/ *| */|/g' FILE | \
     ogive build - --format csv --delimiter '|' -o TABLE`",
);
const DRAWN: ForeignFormat = (
    "is a table that is drawn for people",
    "write it as CSV instead, as `sqlite3 -csv -header` and `duckdb -csv` do, or with tabs, as `mysql --batch` does",
);

/// Corners of tables that are drawn with lines.
const CORNERS: [&str; 4] = ["\u{250c}", "\u{256d}", "\u{250f}", "\u{2554}"];
/// Shortest line below a name where nothing else tells it from a value.
const RULE_MIN: usize = 3;

/// What text is that has rows, but not one in each line.
pub(super) fn printed(text: &[u8]) -> Option<ForeignFormat> {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty());
    let is_copy = |line: &[u8]| line.starts_with(b"COPY ") && line.ends_with(b" FROM stdin;");
    if lines.clone().any(is_copy) {
        return Some(COPY_DUMP);
    }
    let (first, second) = (lines.next()?, lines.next().unwrap_or_default());
    let is_frame = first.len() >= RULE_MIN
        && first.starts_with(b"+")
        && first.ends_with(b"+")
        && first.iter().all(|byte| matches!(byte, b'+' | b'-' | b'='));
    if is_frame || CORNERS.iter().any(|corner| first.starts_with(corner.as_bytes())) {
        return Some(DRAWN);
    }
    let is_psql = first.starts_with(b"-[ RECORD ") || is_psql_rule(first, second);
    is_psql.then_some(PSQL).or_else(|| is_markdown_rule(first, second).then_some(MARKDOWN)).or_else(|| {
        let mut rules = second.split(|byte| *byte == b' ').filter(|part| !part.is_empty());
        let is_below = !second.starts_with(b" ") && rules.clone().count() > 1 && rules.all(|part| is_rule(part, 2));
        is_below.then_some(DRAWN)
    })
}

fn is_rule(part: &[u8], length_min: usize) -> bool {
    part.len() >= length_min && part.iter().all(|byte| *byte == b'-')
}

fn count(line: &[u8], wanted: u8) -> usize {
    line.iter().filter(|byte| **byte == wanted).count()
}

/// Whether the second line is what psql draws below the names: `----+----`. The name of a single column is indented.
fn is_psql_rule(names: &[u8], rule: &[u8]) -> bool {
    let columns = count(rule, b'+');
    let is_all_rules = !rule.is_empty() && rule.split(|byte| *byte == b'+').all(|part| is_rule(part, 1));
    match columns {
        0 => is_rule(rule, RULE_MIN) && names.starts_with(b" ") && names.trim_ascii().len() + 2 <= rule.len(),
        _ => is_all_rules && count(names, b'|') == columns,
    }
}

/// Whether the second line is what Markdown has below the names: `|---|:--|`.
fn is_markdown_rule(names: &[u8], rule: &[u8]) -> bool {
    let is_framed = names.starts_with(b"|") && names.ends_with(b"|") && rule.starts_with(b"|") && rule.ends_with(b"|");
    let inner = if is_framed { rule.get(1..rule.len() - 1).unwrap_or_default() } else { rule };
    let is_cell = |cell: &[u8]| {
        let cell = cell.trim_ascii();
        let cell = cell.strip_prefix(b":").unwrap_or(cell);
        is_rule(cell.strip_suffix(b":").unwrap_or(cell), if is_framed { 1 } else { RULE_MIN })
    };
    rule.contains(&b'|') && count(names, b'|') == count(rule, b'|') && inner.split(|byte| *byte == b'|').all(is_cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_for_people_are_told_from_rows() {
        for (text, what) in [
            (" id | name  \n----+-------\n  1 | a\n(1 row)\n", PSQL),
            (" id \n----\n  1\n(1 row)\n", PSQL),
            ("-[ RECORD 1 ]\nid | 1\n", PSQL),
            ("\n| a | b |\n|---|:-:|\n| 1 | 2 |\n", MARKDOWN),
            ("|a|\n|-|\n|1|\n", MARKDOWN),
            ("a | b\n--- | ---\n1 | 2\n", MARKDOWN),
            ("+----+\n| id |\n+----+\n", DRAWN),
            ("\u{250c}\u{2500}\u{2510}\n", DRAWN),
            ("id  name\n--  ----\n1   a\n", DRAWN),
            ("SET x = 0;\nCOPY public.t (id) FROM stdin;\n1\n\\.\n", COPY_DUMP),
        ] {
            assert_eq!(printed(text.as_bytes()), Some(what), "{text}");
        }
        for text in ["", "a|b\n-|-\n", "a\n---\nb\n", "---\na: b\n", "a,b\n-,-\n", "+49\n+1\n", "COPY that\n", "|\n|\n"]
        {
            assert_eq!(printed(text.as_bytes()), None, "{text}");
        }
    }
}

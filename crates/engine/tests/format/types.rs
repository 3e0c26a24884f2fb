//! The page `docs/format/types.md` and the code say the same. Method: each row of the page's examples is encoded and
//! decoded, and the codes of its table are those in the metadata of tables.

use ogive::types::{KeyType, ValueType};

const DOCUMENT: &str = include_str!("../../../../docs/format/types.md");

/// The cells of the rows of a table under a heading.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = DOCUMENT.split_once(heading).unwrap();
    let lines = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn the_examples_of_the_document_are_what_the_code_writes() {
    let examples = rows("## Examples");
    assert!(examples.len() >= 25);
    for row in examples {
        let [name, text, hex] = row[..] else { panic!("{row:?}") };
        let key_type: KeyType = name.trim_matches('`').parse().unwrap();
        let text = text.trim_matches('`');
        let key = key_type.parse(text).unwrap_or_else(|error| panic!("{error}"));
        let found: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, hex, "{name}: {text}");
        assert_eq!(key_type.display(&key), text, "{name}");
    }
}

#[test]
fn every_type_of_the_document_has_the_width_that_it_states() {
    let names = rows("## Scalars").into_iter().flat_map(|row| {
        let names: Vec<&str> = row[0].split('`').filter(|part| part.chars().any(char::is_alphanumeric)).collect();
        let widths: Vec<String> = row[2].split(", ").map(str::to_owned).collect();
        names.into_iter().zip(widths).collect::<Vec<_>>()
    });
    let mut checked = 0;
    for (name, width) in names {
        let Ok(key_type) = name.parse::<KeyType>() else { continue };
        let Ok(width) = width.parse::<usize>() else { continue };
        assert_eq!(key_type.width(), Some(width).filter(|_| name != "bytes1" || width == 1), "{name}");
        checked += 1;
    }
    assert!(checked >= 16, "{checked}");
}

#[test]
fn the_rows_of_the_document_are_what_the_code_writes() {
    let examples = rows("## Examples of rows");
    assert!(examples.len() >= 6);
    for row in examples {
        let [name, text, hex] = row[..] else { panic!("{row:?}") };
        let value_type: ValueType = name.trim_matches('`').parse().unwrap();
        let text = text.trim_matches('`');
        let value = value_type.parse(text).unwrap_or_else(|error| panic!("{error}"));
        let found: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, hex, "{name}: {text}");
        assert_eq!(value_type.display(&value), text, "{name}");
    }
}

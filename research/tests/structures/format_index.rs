//! The page `docs/format/index.md` and the code say the same. Goal: an index writes the header of the example, and the
//! table of kinds is the code's. Method: both are read from the page itself.

use ogive::index::{Index, IndexKind, IndexOptions, Payload};
use ogive::io::{MemoryStorage, Storage};
use ogive::page::{PageFile, PageOptions};
use ogive::{Cause, Error, Result};
use ogive_research::FITING;
use std::sync::Arc;

const PAGE: &str = include_str!("../../../docs/format/index.md");

/// The bytes of the example.
fn example() -> Vec<u8> {
    let (_, rest) = PAGE.split_once("```hex header\n").unwrap();
    let digits = rest.split_once("```").unwrap().0;
    digits.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// The header of a new index with payloads of 8 bytes.
fn made<V: Payload>(kind: IndexKind) -> Vec<u8> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = IndexOptions::default().kind(kind);
    drop(Index::<u64, V>::create((storage.clone(), "index"), &options).unwrap());
    PageFile::open(&storage, "index", &PageOptions::default()).unwrap().header().to_vec()
}

/// Opens an index whose header is `header`.
fn open_with(header: &[u8]) -> Result<Index<u64, u64>> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    drop(PageFile::create(&storage, "index", &PageOptions::default(), header)?);
    Index::open((storage, "index"), &IndexOptions::default())
}

#[test]
fn an_index_states_what_the_example_says() {
    ogive_research::register();
    assert_eq!(made::<u64>(FITING), example());
    let index = open_with(&example()).unwrap();
    assert_eq!((index.kind(), index.record_type().to_string().as_str()), (FITING, "u64 -> u64"));
    assert_eq!((index.layout().payload_bytes, index.layout().fill_percent), (8, 80));
}

#[test]
fn the_page_lists_the_kinds_as_they_are() {
    ogive_research::register();
    for kind in IndexKind::all() {
        let row = PAGE.lines().find(|line| line.contains(&format!("| `{kind}` |"))).unwrap();
        let code: u8 = row.split('|').nth(1).unwrap().trim().parse().unwrap();
        let header = made::<u64>(kind);
        assert_eq!(header[6], code, "{kind}");
        let choices = row.split('|').nth(3).unwrap();
        let stated = |tag: u8| choices.contains("as `") || choices.contains(&format!("{tag} "));
        assert!(
            header[14..].chunks_exact(9).take(header[9].into()).all(|choice| stated(choice[0])),
            "{kind}: {choices}"
        );
    }
}

#[test]
fn a_header_that_makes_no_sense_is_refused_with_a_word_on_it() {
    ogive_research::register();
    let with = |offset: usize, byte: u8| {
        let mut header = example();
        header[offset] = byte;
        open_with(&header).map(|index| index.kind())
    };
    assert!(matches!(with(0, b'X'), Err(Error { cause: Cause::NotAnIndex, .. })));
    assert!(matches!(open_with(b""), Err(Error { cause: Cause::NotAnIndex, .. })));
    assert!(matches!(open_with(&example()[..13]), Err(Error { cause: Cause::NotAnIndex, .. })));
    assert!(matches!(with(4, 3), Err(Error { cause: Cause::Version { found: 3, supported: 1 }, .. })));
    let header = example();
    // After two options.
    let types_at = 14 + 2 * 9;
    for cut in types_at..header.len() {
        assert!(matches!(open_with(&header[..cut]), Err(Error { cause: Cause::Damaged, .. })), "cut at {cut}");
    }
    for (offset, byte) in [(0, 2), (1, 0xff), (1, 5), (4, 17), (5, 1), (4, 0x10)] {
        let mut header = header.clone();
        header[types_at + offset] = byte;
        assert!(matches!(open_with(&header), Err(Error { cause: Cause::Damaged, .. })), "type byte {offset} = {byte}");
    }
    for (offset, byte) in [(4, 0), (6, 0), (7, 0), (7, 101), (8, 2), (8, 1), (9, 3), (13, 1), (14, 9)] {
        assert!(matches!(with(offset, byte), Err(Error { cause: Cause::Damaged, .. })), "byte {offset} = {byte}");
    }
    let error = with(6, 99).unwrap_err();
    assert_eq!((error.cause, error.name()), (Cause::UnregisteredKind { code: 99 }, ""));
    // An error of no position.
    assert!(matches!(with(15, 0), Err(Error { cause: Cause::Damaged, .. })));
}

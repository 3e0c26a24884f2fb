//! The page `docs/format/page.md` and the code say the same. Goal: neither can change without the other. Method: the
//! page's worked examples are read from the page itself; a file that is made as the page says must consist of these
//! very bytes, and a file of these bytes must hold what the page says. The random file id is the one thing that differs
//! between two writes, so everything is stamped with the page's id first.

#[path = "../page/support/mod.rs"]
mod page_support;

use ogive::block::checksum;
use ogive::io::{MemoryStorage, Purpose, Storage};
use ogive::page::{PageFile, Pages};
use page_support::options;
use std::fmt::Write;
use std::sync::Arc;

const DOCUMENT: &str = include_str!("../../../../docs/format/page.md");
const FILE_ID: u64 = 0x0123_4567_89ab_cdef;
const PAGE_BYTES: usize = 512;
const SLOT_BYTES: usize = 4096;

/// The bytes of the document's block that begins with "```hex name": lines of an offset and up to sixteen bytes, with a
/// note behind a semicolon; `*` repeats the line above up to the next offset; the last line is the length.
fn example(name: &str) -> Vec<u8> {
    let (_, rest) = DOCUMENT.split_once(&format!("```hex {name}\n")).unwrap_or_else(|| panic!("no example {name}"));
    let (block, _) = rest.split_once("```").unwrap();
    let (mut bytes, mut repeats) = (Vec::new(), false);
    for line in block.lines() {
        let mut words = line.split(';').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        if first == "*" {
            repeats = true;
            continue;
        }
        let offset = usize::from_str_radix(first, 16).unwrap();
        while repeats && bytes.len() < offset {
            bytes.extend_from_within(bytes.len() - 16..);
        }
        repeats = false;
        assert_eq!(bytes.len(), offset, "line {line:?} of {name}");
        bytes.extend(words.map(|word| u8::from_str_radix(word, 16).unwrap()));
    }
    bytes
}

/// The form that [`example`] reads, to bring the document up to date.
fn dump(bytes: &[u8]) -> String {
    let (mut out, mut repeats) = (String::new(), false);
    for (row, line) in bytes.chunks(16).enumerate() {
        if row > 0 && line == &bytes[(row - 1) * 16..row * 16] {
            out.push_str(if repeats { "" } else { "*\n" });
            repeats = true;
            continue;
        }
        repeats = false;
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(out, "{:08x}  {}", row * 16, hex.join(" ")).unwrap();
    }
    writeln!(out, "{:08x}", bytes.len()).unwrap();
    out
}

fn assert_document_holds(name: &str, expected: &[u8]) {
    let found = example(name);
    assert!(found == expected, "example {name} of the document should be\n{}and is\n{}", dump(expected), dump(&found));
}

/// The nonce of the document's opening.
const NONCE: u64 = 0x1122_3344_5566_7788;
/// Where the records of a segment begin.
const RECORDS_AT: usize = 64;
/// Where a slot tells of the log.
const LOG_AT: usize = 1344;

/// What the checksum of a segment's header is bound to.
fn log_identity(number: u64) -> u64 {
    FILE_ID ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Gives a page file the document's id.
fn stamp_pages(file: &mut [u8]) {
    for slot in 0..2 {
        let slot = &mut file[slot * SLOT_BYTES..(slot + 1) * SLOT_BYTES];
        slot[16..24].copy_from_slice(&FILE_ID.to_le_bytes());
        if slot[LOG_AT..LOG_AT + 8] != [0; 8] {
            slot[LOG_AT..LOG_AT + 8].copy_from_slice(&NONCE.to_le_bytes());
        }
    }
    for (length, range) in [(SLOT_BYTES, 0..2 * SLOT_BYTES), (PAGE_BYTES, 2 * SLOT_BYTES..file.len())] {
        for offset in range.step_by(length) {
            checksum::seal(FILE_ID, offset as u64, &mut file[offset..offset + length]);
        }
    }
}

/// Gives a segment the document's id.
fn stamp_segment(segment: &mut [u8]) {
    let identity = log_identity(1);
    segment[16..24].copy_from_slice(&FILE_ID.to_le_bytes());
    segment[48..56].copy_from_slice(&NONCE.to_le_bytes());
    checksum::seal(identity, 0, &mut segment[..RECORDS_AT]);
    let identity = identity ^ NONCE;
    let mut position = RECORDS_AT;
    while position < segment.len() {
        let body = u32::from_le_bytes(segment[position..position + 4].try_into().unwrap()) as usize;
        checksum::seal(identity, position as u64, &mut segment[position..position + body + 9]);
        position += body + 9;
    }
}

/// The files of the example before and after its checkpoint: the page file, and the segment.
fn made() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let file = PageFile::create(&storage, "f", &options(PAGE_BYTES), b"mine").unwrap();
    let mut tx = file.begin().unwrap();
    let page = tx.allocate().unwrap();
    assert_eq!(page, 16);
    tx.edit(page, Purpose::Leaf).unwrap().write(2, b"ogive");
    tx.set_state(&[7]);
    tx.commit().unwrap();
    let mut tx = file.begin().unwrap();
    let mut edit = tx.edit(page, Purpose::Leaf).unwrap();
    edit.shift(2..7, 4);
    edit.write(2, b"an");
    drop(edit);
    tx.commit().unwrap();
    let (mut before, mut segment) = (memory.content("f").unwrap(), memory.content("f.log-1").unwrap());
    file.checkpoint().unwrap();
    let mut after = memory.content("f").unwrap();
    stamp_pages(&mut before);
    stamp_pages(&mut after);
    stamp_segment(&mut segment);
    (before, segment, after)
}

fn page(file: &[u8], number: usize) -> &[u8] {
    &file[number * PAGE_BYTES..(number + 1) * PAGE_BYTES]
}

/// The slot that counts.
fn newest(file: &[u8]) -> &[u8] {
    let turn = |slot: usize| u64::from_le_bytes(file[slot * SLOT_BYTES + 24..][..8].try_into().unwrap());
    let slot = usize::from(turn(1) > turn(0));
    &file[slot * SLOT_BYTES..(slot + 1) * SLOT_BYTES]
}

#[test]
fn the_examples_of_the_document_are_what_the_code_writes() {
    let (before, segment, file) = made();
    assert_document_holds("segment", &segment);
    assert_document_holds("begun", newest(&before));
    assert_document_holds("slot", newest(&file));
    assert_document_holds("page", page(&file, 16));
    assert_document_holds("directory", page(&file, 17));
    assert_document_holds("map", page(&file, 18));
}

fn check(files: &[(&str, Vec<u8>)]) {
    let memory = MemoryStorage::new();
    for (name, content) in files {
        memory.put(name, content.clone()).unwrap();
    }
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let file = PageFile::open(&storage, "f", &options(PAGE_BYTES)).unwrap();
    assert_eq!(file.header(), b"mine");
    let snapshot = file.snapshot().unwrap();
    assert_eq!((snapshot.state(), snapshot.sequence()), (&[7][..], 2));
    assert_eq!(snapshot.read(16, Purpose::Leaf).unwrap()[..9], *b"\0\0anogive");
    file.verify(&[(16, 1)]).unwrap();
}

#[test]
fn the_examples_of_the_document_are_read_as_it_says() {
    let (before, _, after) = made();
    let begun = [&before[..SLOT_BYTES], &example("begun")].concat();
    check(&[("f", begun), ("f.log-1", example("segment"))]);
    let mut file = after[..SLOT_BYTES].to_vec();
    file.extend(example("slot"));
    assert_eq!(file.len(), 16 * PAGE_BYTES);
    for name in ["page", "directory", "map"] {
        file.extend(example(name));
    }
    check(&[("f", file)]);
}

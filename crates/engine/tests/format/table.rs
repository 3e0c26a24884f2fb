//! The page `docs/format/table.md` and the code say the same. Goal: neither can change without the other. Method: the
//! page's worked examples are read from the page itself; the writer and the encoders must make these very bytes, and
//! the reader must answer from them. A random file id is the one thing that differs between two writes, so the written
//! table is stamped with the page's id first.

use ogive::block::checksum;
use ogive::io::MemoryStorage;
use ogive::table::{FORMAT_VERSION, Table, TableOptions, TableWriteOptions, TableWriter, opening_bytes};
use ogive::tune::DesignRequest;
use ogive::{Cause, Error, KeyType};
use ogive_model::coded::{CodedLayer, GroupHeader, StringLayer, search, search_strings, separator_at};
use ogive_model::column::{self, ColumnGroup};
use ogive_model::line::{self, LineNode};
use ogive_model::step::{self, StepPiece};
use std::fmt::Write;
use std::sync::Arc;

const PAGE: &str = include_str!("../../../../docs/format/table.md");
const FILE_ID: u64 = 0x0123_4567_89AB_CDEF;
const RECORDS: [(u64, u16); 3] = [(100, 1), (250, 2), (1000, 3)];
const FOOTER_BYTES: usize = 32;

/// The bytes of the page's block that begins with "```hex name". A line is an offset and up to sixteen bytes, with a
/// note behind a semicolon; `*` repeats the line above up to the next offset; the last line is the length.
fn example(name: &str) -> Vec<u8> {
    let (_, rest) = PAGE.split_once(&format!("```hex {name}\n")).unwrap_or_else(|| panic!("no example {name}"));
    let (block, _) = rest.split_once("```").unwrap();
    let mut bytes: Vec<u8> = Vec::new();
    let mut repeated: Vec<u8> = Vec::new();
    for line in block.lines() {
        let line = line.split(';').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if first == "*" {
            repeated = bytes[bytes.len() - 16..].to_vec();
            continue;
        }
        let offset = usize::from_str_radix(first, 16).unwrap();
        while bytes.len() < offset {
            assert!(!repeated.is_empty(), "a hole at {offset:x} of {name}");
            bytes.extend_from_slice(&repeated);
        }
        repeated.clear();
        assert_eq!(bytes.len(), offset, "line {line:?} of {name}");
        bytes.extend(words.map(|word| u8::from_str_radix(word, 16).unwrap()));
    }
    bytes
}

/// The form that [`example`] reads, to bring the page up to date.
fn dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut repeating = false;
    for (row, line) in bytes.chunks(16).enumerate() {
        if row > 0 && line == &bytes[(row - 1) * 16..row * 16] {
            out.push_str(if repeating { "" } else { "*\n" });
            repeating = true;
            continue;
        }
        repeating = false;
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(out, "{:08x}  {}", row * 16, hex.join(" ")).unwrap();
    }
    writeln!(out, "{:08x}", bytes.len()).unwrap();
    out
}

fn assert_page_holds(name: &str, expected: &[u8]) {
    let found = example(name);
    assert!(found == expected, "example {name} of the page should be\n{}and is\n{}", dump(expected), dump(&found));
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The table of the page as the writer makes it, with the page's file id.
fn written() -> Vec<u8> {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default()
        .key_type(KeyType::U64)
        .value_width(2)
        .block_bytes(512)
        .design(DesignRequest::Coded);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    for (key, value) in RECORDS {
        writer.append(&key.to_be_bytes(), &value.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let mut file = storage.content("t").unwrap();
    // One block, and a tail of the length that the footer states: everything that carries a checksum here.
    checksum::seal(FILE_ID, 0, &mut file[..512]);
    let footer = file.len() - FOOTER_BYTES;
    file[footer + 12..footer + 20].copy_from_slice(&FILE_ID.to_le_bytes());
    let tail = file.len() - word(&file, footer + 20);
    checksum::seal(FILE_ID, tail as u64, &mut file[tail..]);
    file
}

#[test]
fn the_writer_makes_the_bytes_of_the_worked_example() {
    assert_page_holds("table", &written());
}

#[test]
fn the_worked_example_opens_and_answers() {
    let storage = Arc::new(MemoryStorage::new());
    storage.put("example", example("table")).unwrap();
    let table = Table::open((storage, "example"), &TableOptions::default()).unwrap();
    let expected = RECORDS.map(|(key, value)| (key.to_be_bytes().to_vec(), value.to_le_bytes().to_vec()));
    assert_eq!(table.iter().collect::<Result<Vec<_>, _>>().unwrap(), expected);
    assert_eq!(table.get(&250_u64.to_be_bytes()).unwrap(), Some(vec![2, 0]));
    assert_eq!(table.get(&251_u64.to_be_bytes()).unwrap(), None);
    let report = table.explain();
    assert_eq!((report.records, report.blocks, report.block_size_bytes, report.data_bytes), (3, 1, 512, 512));
    assert_eq!((report.key_type.as_str(), report.layers.len(), report.tuned_for.as_str()), ("u64", 1, "nvme"));
    assert_eq!(report.index_bytes, report.layers[0].size_bytes);
    let verified = table.verify(&mut |_, _| {}).unwrap();
    assert!(verified.is_sound(), "{:?}", verified.findings);
}

#[test]
fn the_length_of_the_worked_example_states_its_opening_read() {
    let file = example("table");
    let tail_bytes = word(&file, file.len() - FOOTER_BYTES + 20) as u64;
    let class = file.len() as u64 % 512;
    let class_bytes = (16 + class % 16) << (class / 16 + 4);
    assert_eq!(opening_bytes(tail_bytes), class_bytes);
    assert!(tail_bytes <= class_bytes);
    let size = format!("a tail of {tail_bytes} bytes");
    assert!(PAGE.contains(&size), "the page should speak of {size:?}");
}

#[test]
fn the_page_states_the_version_that_the_code_writes() {
    let version = |file: &[u8]| word(file, file.len() - FOOTER_BYTES + 8) as u32;
    assert_eq!(version(&example("table")), FORMAT_VERSION);
    for key_type in ["bytes3", "date", "(u8, u8)"] {
        let storage = MemoryStorage::new();
        let options = TableWriteOptions::default().key_type(key_type.parse().unwrap());
        TableWriter::create((Arc::new(storage.clone()), "t"), options).unwrap().finish().unwrap();
        assert_eq!(version(&storage.content("t").unwrap()), FORMAT_VERSION, "{key_type}");
    }
    assert!(PAGE.contains(&format!("Format version {FORMAT_VERSION}.")));
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    let mut file = example("table");
    let at = file.len() - FOOTER_BYTES + 8;
    file[at..at + 4].copy_from_slice(&(FORMAT_VERSION + 1).to_le_bytes());
    let id = u64::from_le_bytes(file[at + 4..at + 12].try_into().unwrap());
    let tail = file.len() - u32::from_le_bytes(file[at + 12..at + 16].try_into().unwrap()) as usize;
    let storage = Arc::new(MemoryStorage::new());
    // Without a checksum of its own, it is damage.
    storage.put("damaged", file.clone()).unwrap();
    let error = Table::open((storage.clone(), "damaged"), &TableOptions::default()).unwrap_err();
    assert!(matches!(error, Error { cause: Cause::Damaged, .. }), "{error}");
    checksum::seal(id, tail as u64, &mut file[tail..]);
    storage.put("newer", file).unwrap();
    let error = Table::open((storage, "newer"), &TableOptions::default()).unwrap_err();
    let is_told = matches!(error, Error { cause: Cause::Version { found, supported }, .. }
        if (found, supported) == (FORMAT_VERSION + 1, FORMAT_VERSION));
    assert!(is_told, "{error}");
}

/// The numbers of a coded column as the page says it, and the offset after the column.
fn decoded_column(bytes: &[u8], at: usize, lead: usize, count: usize) -> (Vec<u64>, usize) {
    let integer = |at: usize, length: usize| (0..length).map(|i| u64::from(bytes[at + i]) << (8 * i)).sum::<u64>();
    let (base, shift) = (integer(at, 8), bytes[at + 8]);
    let (anchor_bytes, rise_bytes) = (usize::from(bytes[at + 9]), usize::from(bytes[at + 10]));
    let (directory, groups) = (at + 16, (lead + count).div_ceil(64));
    let entry = anchor_bytes + rise_bytes + 3;
    let residuals = directory + groups * entry;
    let bit = |bit: usize| u64::from(bytes[residuals + bit / 8] >> (bit % 8) & 1);
    let number = |row: usize| {
        let (group, position) = ((lead + row) / 64, (lead + row) % 64);
        let at = directory + group * entry;
        let (anchor, rise) = (integer(at, anchor_bytes), integer(at + anchor_bytes, rise_bytes));
        let width = usize::from(bytes[at + anchor_bytes + rise_bytes]);
        let start = integer(at + anchor_bytes + rise_bytes + 1, 2) as usize;
        let first = if group == 0 { lead } else { 0 };
        let begin = 64 * start + (position - first) * width;
        let residual: u64 = (0..width).map(|i| bit(begin + i) << i).sum();
        let line = ((u128::from(rise << shift) * position as u128) >> 6) as u64;
        base.wrapping_add(anchor << shift).wrapping_add(line).wrapping_add(residual)
    };
    ((0..count).map(number).collect(), at + 16 + integer(at + 12, 4) as usize)
}

#[test]
fn coded_blocks_are_stored_as_the_page_says() {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(0).block_bytes(512);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    let keys: Vec<u64> = (0..40).map(|i| 1000 + 103 * i).collect();
    keys.iter().for_each(|key| writer.append(&key.to_be_bytes(), b"").unwrap());
    writer.finish().unwrap();
    let file = storage.content("t").unwrap();
    assert_eq!(word(&file, file.len() - FOOTER_BYTES + 8), FORMAT_VERSION as usize);
    assert_eq!((file[504], word(&file, 504) >> 8), (64, keys.len()), "the trailer");
    let found = example("coded-block");
    assert_page_holds("coded-block", &file[..found.len()]);
    assert!(file[found.len()..504].iter().all(|&byte| byte == 0));
    // Lead 0, no flags, one span: an integer of 8 bytes.
    assert_eq!(found[..4], [0, 0, 1, 0]);
    assert_eq!(found[16..18], [1, 8]);
    assert_eq!(decoded_column(&found, 18, 0, keys.len()), (keys, found.len()));
}

#[test]
fn front_coded_keys_are_stored_as_the_page_says() {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::Text).value_width(0).block_bytes(512);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    let of = |place: &str| (1..=5).map(|number| format!("application/{place}/{number}")).collect::<Vec<_>>();
    let keys: Vec<String> = ["east", "north", "south", "west"].map(of).concat();
    keys.iter().for_each(|key| writer.append(key.as_bytes(), b"").unwrap());
    writer.finish().unwrap();
    let file = storage.content("t").unwrap();
    assert_eq!((file[504], word(&file, 504) >> 8), (64, keys.len()), "the trailer");
    let found = example("front-coded-block");
    assert_page_holds("front-coded-block", &file[..found.len()]);
    assert!(file[found.len()..504].iter().all(|&byte| byte == 0));
    // Lead 0, flag 32, no spans; the start of suffixes; the ends of a prefix and of an empty lead-in.
    assert_eq!(found[..4], [0, 32, 0, 0]);
    assert_eq!(found[16..28], [0, 0, 0, 0, 0, 0, 0, 0, 12, 0, 12, 0]);
    let prefix = &found[28..40];
    let (shared, ends_at) = decoded_column(&found, 40, 0, keys.len());
    let (ends, suffixes_at) = decoded_column(&found, ends_at, 0, keys.len());
    let (mut key, mut begin) = (prefix.to_vec(), 0);
    for (row, expected) in keys.iter().enumerate() {
        assert!(row % 16 > 0 || shared[row] as usize == prefix.len());
        key.truncate(shared[row] as usize);
        key.extend_from_slice(&found[suffixes_at + begin..suffixes_at + ends[row] as usize]);
        assert_eq!(key, expected.as_bytes());
        begin = ends[row] as usize;
    }
    assert_eq!(suffixes_at + begin, found.len());
}

#[test]
fn columns_of_many_groups_decode_as_the_page_says() {
    for (lead, count) in [(0, 64), (5, 300), (63, 200), (1, 2)] {
        let numbers: Vec<u64> = (0..(lead + count) as u64).map(|i| (i * i * 977) << (i % 3) << 20).collect();
        let groups: Vec<ColumnGroup> = numbers.chunks(64).map(ColumnGroup::fit).collect();
        let mut bytes = Vec::new();
        column::encode(&groups, lead, count, 2, |row| numbers[lead + row], &mut bytes);
        assert_eq!(decoded_column(&bytes, 0, lead, count), (numbers[lead..].to_vec(), bytes.len()));
    }
}

#[test]
fn columns_are_stored_as_the_page_says() {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().block_bytes(512).versioned(true);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    for (key, suffix, value) in [(b"user1", 300, b"A"), (b"user2", 256, b"B"), (b"user7", 511, b"C")] {
        writer.append_version(key, 1, suffix, value).unwrap();
    }
    writer.finish().unwrap();
    let block = &storage.content("t").unwrap()[..512];
    let expected = &block[..example("columns").len()];
    assert_page_holds("columns", expected);
    assert!(block[expected.len()..504].iter().all(|&byte| byte == 0));
    assert_eq!(block[504..508], [128, 3, 0, 0]);
}

#[test]
fn step_pieces_are_stored_as_the_page_says() {
    let pieces = [StepPiece { separator: 100, first_child: 0 }, StepPiece { separator: 1000, first_child: 3 }];
    let mut expected = Vec::new();
    step::encode(&pieces, &mut expected);
    assert_page_holds("step", &expected);
    assert_eq!(step::search(&example("step"), 2, 999), Some((0, Some(3))));
    assert_eq!(step::search(&example("step"), 2, 1000), Some((3, None)));
}

#[test]
fn line_nodes_are_stored_as_the_page_says() {
    let node = LineNode { start: 1000, first_child: 3, slope: 0.25, window: 2, drop: 1023 };
    let mut expected = Vec::new();
    line::encode(&[node], &mut expected);
    assert_page_holds("line", &expected);
    let (found, next) = line::search(&example("line"), 1, 1010).unwrap();
    assert_eq!((found, next), (node, None));
    assert_eq!(found.offset().to_bits(), 0.5_f64.to_bits());
    assert_eq!(found.window(1010, 100), 6..=7);
}

#[test]
fn coded_groups_are_stored_as_the_page_says() {
    let header = GroupHeader { start: 100, count: 4, shift: 3, width: 2, bias: 1, exponent: 7, mantissa: 1 << 27 };
    let mut layer = CodedLayer::new();
    layer.push(header, vec![1, 3, 0]);
    let mut expected = Vec::new();
    layer.encode(0..1, &mut expected);
    assert_page_holds("coded", &expected);
    let stored = example("coded");
    let separators: Vec<_> = (0..4).map(|child| separator_at(&stored, 1, child)).collect();
    assert_eq!(separators, [Some(100), Some(164), Some(244), Some(284)]);
    assert_eq!(search(&stored, 1, 243), Some(1));
    assert_eq!(search(&stored, 1, 244), Some(2));
}

#[test]
fn coded_strings_are_stored_as_the_page_says() {
    let separators = ["apple", "apricot", "b"].map(|separator| separator.as_bytes().to_vec());
    let layer = StringLayer::from_separators(&separators);
    let mut expected = Vec::new();
    layer.encode(0..layer.groups(), &mut expected);
    assert_page_holds("strings", &expected);
    for (key, child) in [("a", 0), ("apple", 0), ("apricot", 1), ("azure", 1), ("banana", 2)] {
        assert_eq!(search_strings(&example("strings"), 1, key.as_bytes()), Some(child), "{key}");
    }
}

//! The page `docs/format/index-ogive.md` and the code say the same. Goal: neither can change without the other. Method:
//! the page's worked example is read from the page itself; the encoder must make these very bytes of the row that the
//! page states, and the decoder must lead keys as the page says.

use ogive_model::inner::{Children, KeyWidth, NodeForm, NodeView, encode};
use std::fmt::Write;

const PAGE: &str = include_str!("../../../../docs/format/index-ogive.md");

/// The bytes of the page's block that begins with "```hex name". A line is an offset and up to sixteen bytes, with a
/// note behind a semicolon.
fn example(name: &str) -> Vec<u8> {
    let (_, rest) = PAGE.split_once(&format!("```hex {name}\n")).unwrap_or_else(|| panic!("no example {name}"));
    let (block, _) = rest.split_once("```").unwrap();
    let mut bytes = Vec::new();
    for line in block.lines() {
        let mut words = line.split(';').next().unwrap().split_whitespace();
        let Some(offset) = words.next() else { continue };
        assert_eq!(usize::from_str_radix(offset, 16).unwrap(), bytes.len(), "line {line:?} of {name}");
        bytes.extend(words.map(|word| u8::from_str_radix(word, 16).unwrap()));
    }
    bytes
}

/// The form that [`example`] reads, to bring the page up to date.
fn dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (row, line) in bytes.chunks(16).enumerate() {
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(out, "{:04x}  {}", row * 16, hex.join(" ")).unwrap();
    }
    out
}

fn assert_page_holds(name: &str, row: &Children) {
    let expected = encode(row, KeyWidth::Eight, 4088).unwrap();
    let found = example(name);
    assert!(found == expected, "example {name} should be\n{}and is\n{}", dump(&expected), dump(&found));
    let node = NodeView::new(&found, KeyWidth::Eight).unwrap();
    assert_eq!(node.children().as_ref(), Some(row));
}

/// Separators about 8192 apart, multiples of 512, one of them not; pages one after the other, but for two that came
/// later.
fn coded_row() -> Children {
    let separators = (1..=24).map(|j: u128| j * 8192 + 512 * (j % 3) + u128::from(j == 17) * 8).collect();
    let mut next = 700;
    let page = |j: u32| match j {
        5 => 9152,
        12 => 9013,
        _ => {
            next += 1;
            next - 1
        }
    };
    Children { level: 0, separators, pages: (0..24).map(page).collect(), last: Some(722) }
}

#[test]
fn a_coded_node_is_as_the_page_says() {
    assert_page_holds("coded", &coded_row());
    let bytes = example("coded");
    let node = NodeView::new(&bytes, KeyWidth::Eight).unwrap();
    assert_eq!((node.kind(), node.groups()), (NodeForm::Coded, 1));
    let page_of = |key| node.search(key).unwrap().page.unwrap();
    assert_eq!((page_of(0), page_of(8704), page_of(8705), page_of(45_000)), (700, 700, 701, 9152));
    assert_eq!(page_of(1_000_000), 722);
}

#[test]
fn a_plain_node_is_as_the_page_says() {
    let row = Children { level: 1, separators: vec![1000, 1 << 40], pages: vec![17, 4], last: Some(99) };
    assert_page_holds("plain", &row);
}

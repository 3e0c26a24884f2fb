//! Examples of the format documents, for tests.

const LEAVES: &str = include_str!("../../../../docs/format/index-leaves.md");

/// The bytes of the named example in `docs/format/index-leaves.md`.
pub(crate) fn example_of_leaves(name: &str) -> Vec<u8> {
    let start = LEAVES.find(&format!("```hex {name}\n")).expect("an example of this name");
    let lines = LEAVES[start..].lines().skip(1).take_while(|line| !line.starts_with("```"));
    lines.flat_map(str::split_whitespace).map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

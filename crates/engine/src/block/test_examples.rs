//! Hex examples from the format documentation, for tests.

/// The bytes of the example in `document` that begins with "```hex name": lines of an offset and up to sixteen bytes;
/// the last line is the length.
pub(crate) fn example(document: &str, name: &str) -> Vec<u8> {
    let (_, rest) = document.split_once(&format!("```hex {name}\n")).expect("an example of this name");
    let mut bytes = Vec::new();
    for line in rest.lines().take_while(|line| !line.starts_with("```")) {
        let mut words = line.split_whitespace();
        let offset = usize::from_str_radix(words.next().expect("an offset"), 16).unwrap();
        assert_eq!(bytes.len(), offset, "line {line:?} of {name}");
        bytes.extend(words.map(|word| u8::from_str_radix(word, 16).unwrap()));
    }
    bytes
}

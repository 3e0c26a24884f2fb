//! An index in the footer of a file format of one's own: sorted lines in blocks, then a router over the blocks, then
//! its length. A lookup reads the footer once, and one block for each key.

#![expect(clippy::disallowed_macros, reason = "a program prints what it found")]

use ogive_model::{Router, RouterError};

const BLOCK_BYTES: usize = 4096;

/// Blocks of sorted lines, each padded to 4 KiB, and the footer.
fn write(lines: &[String]) -> Result<Vec<u8>, RouterError> {
    let (mut file, mut builder) = (Vec::new(), Router::<[u8]>::builder());
    let mut before: Option<&String> = None;
    for line in lines {
        let room = file.len().next_multiple_of(BLOCK_BYTES) - file.len();
        if room <= line.len() {
            file.resize(file.len() + room, b'\n');
            match before {
                Some(last) => builder.push_between(last.as_bytes(), line.as_bytes())?,
                None => builder.push(line.as_bytes())?,
            }
        }
        file.extend_from_slice(line.as_bytes());
        file.push(b'\n');
        before = Some(line);
    }
    file.resize(file.len().next_multiple_of(BLOCK_BYTES), b'\n');
    let footer = builder.finish();
    file.extend_from_slice(&footer);
    file.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    Ok(file)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines: Vec<String> = (0..100_000).map(|i| format!("https://example.com/item/{}", i * 37)).collect();
    lines.sort();
    let file = write(&lines)?;

    let (rest, length) = file.split_last_chunk().ok_or("no footer")?;
    let (blocks, footer) = rest.split_at(rest.len() - u32::from_le_bytes(*length) as usize);
    let router = Router::<[u8]>::open(footer)?;
    println!("{} bytes of index for {} blocks", footer.len(), router.blocks());
    for line in lines.iter().step_by(997) {
        let at = router.locate(line.as_bytes()) as usize * BLOCK_BYTES;
        let block = std::str::from_utf8(&blocks[at..at + BLOCK_BYTES])?;
        assert!(block.lines().any(|found| found == line));
    }
    Ok(())
}

//! Memory of key streams: a few blocks, for any length. The only test of its file, since it measures the process.
#![cfg(target_os = "linux")]

use ogive_research::keys::{generators, open_with};

/// The most memory that this process has had resident, in KiB.
fn peak_resident_kib() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}

#[test]
fn two_million_keys_stream_within_four_mebibytes() -> Result<(), Box<dyn std::error::Error>> {
    let before = peak_resident_kib()?;
    for generator in generators() {
        let set = open_with(generator.name, 2_000_000, None)?;
        let mut keys = 0;
        for key in set.stream()? {
            key?;
            keys += 1;
        }
        assert_eq!(keys, set.len());
        // Held at once, the keys of any of the larger sets would take 16 MB.
        let grown = peak_resident_kib()? - before;
        assert!(grown < 4_096, "{grown} KiB after {}", set.name());
    }
    Ok(())
}

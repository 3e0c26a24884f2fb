//! SOSD and text files: round trips, and damaged files, which are refused with a typed error.

use std::path::PathBuf;

use ogive_research::keys::{open, write_sosd};
use ogive_research::{Error, KeySet};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn sosd(folder: &TempDir, count: u64, keys: &[u64]) -> std::io::Result<PathBuf> {
    let bytes: Vec<u8> = [count].iter().chain(keys).flat_map(|number| number.to_le_bytes()).collect();
    let path = folder.path().join("keys_uint64");
    std::fs::write(&path, bytes)?;
    Ok(path)
}

fn open_path(path: &std::path::Path) -> ogive_research::Result<KeySet> {
    open(&path.to_string_lossy())
}

#[test]
fn a_written_set_is_read_again() -> TestResult {
    let folder = TempDir::new()?;
    let path = folder.path().join("lognormal.u64");
    let set = open("lognormal:30k")?;
    let mut told = 0;
    write_sosd(&set, &path, false, &mut |written| told = written)?;
    assert_eq!(told, 30_000);
    let file = open_path(&path)?;
    assert_eq!((file.len(), file.name()), (30_000, "lognormal.u64"));
    assert_eq!(file.load()?, set.load()?);
    Ok(())
}

#[test]
fn repeats_and_the_ends_of_the_key_space_and_the_empty_set_are_ordinary() -> TestResult {
    let folder = TempDir::new()?;
    for keys in [vec![], vec![0], vec![u64::MAX], vec![0, 0, 7, 7, 7, u64::MAX, u64::MAX]] {
        let path = sosd(&folder, keys.len() as u64, &keys)?;
        assert_eq!(open_path(&path)?.load()?, keys);
    }
    Ok(())
}

#[test]
fn a_file_that_is_not_as_long_as_its_count_is_refused() -> TestResult {
    let folder = TempDir::new()?;
    let keys = [1, 2, 3];
    // For the last but one, (count + 1) * 8 is 32 in 64 bits.
    for count in [0, 2, 4, 1 << 61, (1 << 61) + 3, u64::MAX] {
        let refused = open_path(&sosd(&folder, count, &keys)?);
        assert!(matches!(refused, Err(Error::SosdLength { count: found, found_bytes: 32, .. }) if found == count));
    }
    let path = sosd(&folder, 3, &keys)?;
    for length in 0..32 {
        std::fs::File::options().write(true).open(&path)?.set_len(length)?;
        sosd(&folder, 3, &keys)?;
        std::fs::File::options().write(true).open(&path)?.set_len(length)?;
        let refused = open_path(&path);
        let header = matches!(refused, Err(Error::SosdHeader { length_bytes, .. }) if length_bytes == length);
        let cut = matches!(refused, Err(Error::SosdLength { found_bytes, .. }) if found_bytes == length);
        assert_eq!((header, cut), (length < 8, length >= 8), "cut to {length} bytes");
    }
    Ok(())
}

#[test]
fn keys_out_of_order_are_named_by_their_number() -> TestResult {
    let folder = TempDir::new()?;
    let mut keys: Vec<u64> = (0..10_000).collect();
    keys[9_000] = 3;
    let set = open_path(&sosd(&folder, 10_000, &keys)?)?;
    assert!(matches!(set.load(), Err(Error::Unsorted { index: 9_000, .. })));
    let mut stream = set.stream()?;
    let error = stream.by_ref().find(Result::is_err);
    assert!(matches!(error, Some(Err(Error::Unsorted { index: 9_000, .. }))));
    assert!(stream.next().is_none(), "a stream ends at its error");
    Ok(())
}

#[test]
fn lines_are_keys_whatever_their_bytes() -> TestResult {
    let folder = TempDir::new()?;
    let path = folder.path().join("words.txt");
    for (bytes, lines) in
        [(&b""[..], vec![]), (b"a", vec![&b"a"[..]]), (b"\n\na\na\nb\xff\n", vec![b"", b"", b"a", b"a", b"b\xff"])]
    {
        std::fs::write(&path, bytes)?;
        let set = open_path(&path)?;
        assert_eq!(set.lines()?.collect::<Result<Vec<_>, _>>()?, lines);
        assert_eq!(set.len(), lines.len() as u64);
        assert!(set.is_text() && matches!(set.stream(), Err(Error::KeyKind { .. })));
    }
    std::fs::write(&path, "b\na\nc\n")?;
    let mut lines = open_path(&path)?.lines()?.skip(1);
    assert!(matches!(lines.next(), Some(Err(Error::Unsorted { index: 1, .. }))));
    assert!(lines.next().is_none());
    assert!(matches!(open("uniform:10")?.lines(), Err(Error::KeyKind { .. })));
    Ok(())
}

#[test]
fn no_file_is_replaced_unasked_and_none_is_left_half_made() -> TestResult {
    let folder = TempDir::new()?;
    let path = folder.path().join("keys.u64");
    std::fs::write(&path, "precious")?;
    let set = open("linear:10")?;
    assert!(matches!(write_sosd(&set, &path, false, &mut |_| ()), Err(Error::Exists { .. })));
    assert_eq!(std::fs::read(&path)?, b"precious");
    let unsorted = open_path(&sosd(&folder, 2, &[2, 1])?)?;
    assert!(write_sosd(&unsorted, &path, true, &mut |_| ()).is_err());
    assert_eq!(std::fs::read(&path)?, b"precious");
    write_sosd(&set, &path, true, &mut |_| ())?;
    assert_eq!(std::fs::metadata(&path)?.len(), 88);
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 2, "only the two files are there");
    Ok(())
}

/// A reader of the documents can only print a table again if the keys are described.
#[test]
fn every_key_file_of_the_documents_is_described_with_its_source() -> TestResult {
    let laboratory = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let described = std::fs::read_to_string(laboratory.join("../docs/data-sets.md"))?;
    let mut names = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(laboratory.join("src"))? {
        let path = entry?.path().join("page.md");
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(path)?;
        let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "_.".contains(letter)));
        names.extend(words.filter(|word| word.ends_with(".u64") || word.starts_with("str_")).map(str::to_owned));
    }
    // An example of a join has two files of uniform keys.
    names.retain(|name| !["a.u64", "b.u64"].contains(&name.as_str()));
    assert!(names.len() > 10, "{names:?}");
    let missing: Vec<&String> = names.iter().filter(|name| !described.contains(&format!("| `{name}` |"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
    Ok(())
}

//! Distributions of workloads: present keys evenly, absent keys from the gaps, skewed ones by their law.

use ogive_research::workload::Workload;
use ogive_research::{Error, open};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn std::error::Error>>;

#[test]
fn present_keys_are_present_and_come_evenly_from_all_over() -> TestResult {
    let set = open("lognormal:50k")?;
    let keys = set.load()?;
    let lookups = Workload::Present.draw(&set, 20_000, 4)?;
    let mut tenths = [0u32; 10];
    for key in &lookups {
        tenths[keys.binary_search(key).map_err(|_| "not present")? / 5_000] += 1;
    }
    assert!(tenths.iter().all(|count| count.abs_diff(2_000) < 200), "{tenths:?}");
    assert!(!lookups.is_sorted(), "in random order");
    assert_eq!(lookups, Workload::Present.draw(&set, 20_000, 4)?);
    assert_ne!(lookups, Workload::Present.draw(&set, 20_000, 5)?);
    Ok(())
}

#[test]
fn absent_keys_are_absent_and_lie_behind_the_records_drawn() -> TestResult {
    for spec in ["lognormal:50k", "step:50k", "dense:1k", "linear:1k", "zipf:10k", "clusters:5k", "equal:10"] {
        let set = open(spec)?;
        let keys = set.load()?;
        let positions = Workload::Absent.positions(set.len(), 5_000, 4)?;
        for (key, position) in Workload::Absent.draw(&set, 5_000, 4)?.into_iter().zip(positions) {
            let place = keys.binary_search(&key).err().ok_or("present")? as u64;
            let next_gap = keys[position as usize..].windows(2).position(|pair| pair[1] - pair[0] > 1);
            let expected = next_gap.map_or(set.len(), |further| position + 1 + further as u64);
            assert_eq!(place, expected, "{spec}: {key} for record {position}");
        }
    }
    Ok(())
}

#[test]
fn absent_keys_behind_the_last_gap_come_from_the_widest() -> TestResult {
    let set = open("dense-runs:1k")?;
    let keys = set.load()?;
    for (key, position) in
        Workload::Absent.draw(&set, 1_000, 1)?.into_iter().zip(Workload::Absent.positions(1_000, 1_000, 1)?)
    {
        assert!(keys.binary_search(&key).is_err());
        assert!(position < 800 || ((1 << 63) + 200..u64::MAX - 199).contains(&key), "{key} for {position}");
    }
    Ok(())
}

#[test]
fn an_empty_set_has_no_lookups() -> TestResult {
    let empty = open("uniform:0")?;
    for workload in ["present", "absent", "zipf:1"] {
        assert!(matches!(workload.parse::<Workload>()?.draw(&empty, 1, 1), Err(Error::NoLookups { .. })));
    }
    Ok(())
}

#[test]
fn skewed_lookups_favour_few_records_wherever_they_lie() -> TestResult {
    let set = open("uniform:10k")?;
    let mut lookups = Workload::Zipf { skew: 1.0 }.draw(&set, 50_000, 1)?;
    lookups.sort_unstable();
    let mut popular: Vec<(usize, u64)> = lookups.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).collect();
    popular.sort_unstable_by(|a, b| b.cmp(a));
    // The harmonic number of 10,000 is 9.79: the first of them gets a tenth, the second half of that.
    assert!(popular[0].0.abs_diff(5_109) < 300 && popular[1].0.abs_diff(2_554) < 220, "{:?}", &popular[..2]);
    assert!(!popular[..10].is_sorted_by_key(|(_, key)| *key), "popularity does not follow the keys");
    Ok(())
}

#[test]
fn a_trace_is_followed_and_its_numbers_keep_their_order() -> TestResult {
    let folder = TempDir::new()?;
    let path = folder.path().join("trace.u32");
    let numbers: [u32; 6] = [700, 5, 5, 9, 700, 5];
    std::fs::write(&path, numbers.map(u32::to_le_bytes).concat())?;
    let workload: Workload = path.to_string_lossy().parse()?;
    // Three distinct numbers over 300 records: at 0, 100 and 200; the trace starts anywhere, and starts again.
    let ranks = [200, 0, 0, 100, 200, 0];
    let found = workload.positions(300, 13, 1)?;
    assert!((0..6).any(|start| (0..13).all(|step| found[step] == ranks[(start + step) % 6])), "{found:?}");
    for no_trace in [&[][..], &[1, 2, 3], &[1, 2, 3, 4, 5]] {
        std::fs::write(&path, no_trace)?;
        assert!(matches!(workload.positions(300, 1, 1), Err(Error::Spec { .. })));
    }
    Ok(())
}

#[test]
fn strings_are_looked_up_as_integers_are() -> TestResult {
    let folder = TempDir::new()?;
    let path = folder.path().join("words.txt");
    std::fs::write(&path, b"a\na\0\na\0\0\nb\nb\nc\n")?;
    let set = open(&path.to_string_lossy())?;
    let lines: Vec<Vec<u8>> = set.lines()?.collect::<Result<_, _>>()?;
    let positions = Workload::Present.positions(6, 100, 1)?;
    let present = Workload::Present.draw_lines(&set, 100, 1)?;
    assert!(present.iter().zip(positions).all(|(key, position)| *key == lines[position as usize]));
    let positions = Workload::Absent.positions(6, 100, 1)?;
    for (key, position) in Workload::Absent.draw_lines(&set, 100, 1)?.iter().zip(positions) {
        let expected: &[u8] = [&b"a\0\0\0"[..], b"a\0\0\0", b"a\0\0\0", b"b\0", b"b\0", b"c\0"][position as usize];
        assert_eq!(key, expected);
    }
    Ok(())
}

#[test]
fn workloads_are_read_as_they_are_written() -> TestResult {
    for text in ["present", "absent", "zipf:0.5", "zipf:2"] {
        assert_eq!(text.parse::<Workload>()?.to_string(), text);
    }
    for text in ["", "zipf", "zipf:x", "zipf:-1", "zipf:nan", "trace"] {
        assert!(matches!(text.parse::<Workload>(), Err(Error::Spec { .. })), "{text}");
    }
    Ok(())
}

//! Tests of pages and pictures: they say what the records say, and nothing of a record is markup.

use super::*;
use crate::output::Record;
use crate::{Error, Result};

fn designs() -> Vec<Record> {
    let machine = Record::new("machine").figure("cpu", "fast").figure("command", "ogive-research run airindex/designs");
    let of = |profile: &str, design: &str, us: f64, ratio: f64| {
        Record::new("airindex/designs")
            .keys("lognormal:10M:seed=1")
            .profile(profile)
            .design(design)
            .figure("modelled_us", us)
            .figure("ratio_to_tuned", ratio)
    };
    vec![
        machine,
        of("ssd", "tuned", 545.25, 1.0).figure("paper_us", 573.0),
        of("ssd", "btree", 801.5, 1.47),
        of("nfs", "tuned", 100_660.0, 1.0),
    ]
}

#[test]
fn numbers_of_the_page_are_those_of_the_records() -> Result<()> {
    let html = page(&[Run::of_records(&designs())?], "ogive-research page");
    for expected in ["ssd, btree: 1.47", "ratio_to_tuned 1.470", "lognormal, AirIndex: 573 us", "modelled_us 545.2"] {
        assert!(html.contains(expected), "{expected}");
    }
    assert!(html.contains("AirIndex: experiments") && html.contains("2.0 to 2.4 times faster than the same B-tree"));
    assert!(
        html.contains("<dt>processor</dt><dd><bdi>fast</bdi>")
            && html.contains(">ogive-research run airindex/designs<")
    );
    Ok(())
}

#[test]
fn data_of_a_page_are_the_records() -> Result<()> {
    use base64::Engine;
    let records = designs();
    let html = page(&[Run::of_records(&records)?], "");
    let data = html.split("data:application/json;base64,").nth(1).and_then(|rest| rest.split('"').next());
    let data = base64::engine::general_purpose::STANDARD.decode(data.unwrap_or_default()).unwrap_or_default();
    let expected: Vec<String> = records[1..].iter().filter_map(|record| serde_json::to_string(record).ok()).collect();
    assert_eq!(String::from_utf8_lossy(&data).lines().collect::<Vec<_>>(), expected);
    Ok(())
}

#[test]
fn figures_of_papers_are_beside_the_same_case_only() -> Result<()> {
    let of = |count: u64, structure: &str| {
        Record::new("aulid/blocks")
            .keys("uniform:10M:seed=1")
            .figure("phase", "bulk")
            .figure("structure", structure)
            .figure("keys_count", count)
            .figure("resident_bytes", 0)
            .figure("blocks_per_get", 2.02)
    };
    let quoted =
        |record: Record| Ok::<_, Error>(picture(&[Run::of_records(&[record])?], "aulid-lookups")?.contains("2.13"));
    assert!(quoted(of(10_000_000, "aulid"))?);
    assert!(!quoted(of(1_000_000, "aulid"))? && !quoted(of(10_000_000, "ogive"))?);
    Ok(())
}

#[test]
fn a_wrong_picture_is_answered_by_the_right_name() -> Result<()> {
    let runs = [Run::of_records(&designs())?];
    assert!(picture(&runs, "airindex-designs")?.starts_with("<svg"));
    let error = picture(&runs, "airindex-desings").err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("did you mean \"airindex-designs\"?"), "{error}");
    Ok(())
}

#[test]
fn hostile_records_are_escaped_whether_drawn_or_not() -> Result<()> {
    let hostile = "</script><script>alert(1)</script>";
    let drawn = Record::new("airindex/designs").keys(hostile).profile(hostile).design(hostile);
    let drawn = drawn.figure("ratio_to_tuned", 1.0).figure("refused", hostile);
    let other = Record::new(hostile).keys(hostile).figure(hostile, hostile);
    let html = page(&[Run::of_records(&[drawn, other])?], hostile);
    assert!(!html.contains("alert(1)</script>") && html.contains("&lt;script&gt;alert(1)"), "{html}");
    Ok(())
}

#[test]
fn lines_that_are_no_records_are_named() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let no_runs = Run::read_all(folder.path()).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(no_runs.contains("--json run"), "{no_runs}");
    let file = folder.path().join("a.json");
    std::fs::write(&file, "{\"experiment\":\"x\"}\n[1]\n")?;
    let error = Run::read_all(folder.path()).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("a.json, line 2"), "{error}");
    Ok(())
}

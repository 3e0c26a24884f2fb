//! A measured profile is a profile, and measuring leaves nothing behind.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at what is left on disk"
)]

use ogive::io::{MeasureOptions, MeasuredProfile, Profile};
use ogive::{Cause, Error};
use std::path::Path;

fn quick() -> MeasureOptions {
    MeasureOptions::default().file_bytes(32 << 20).time_s(0.5)
}

#[test]
fn a_measurement_loads_as_a_profile_and_leaves_no_file() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut steps = Vec::new();
    let measured =
        MeasuredProfile::measure(folder.path(), &quick(), &mut |done, total| steps.push((done, total))).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(steps, (0..=25).map(|done| (done, 25)).collect::<Vec<_>>());
    assert_eq!(measured.cold, measured.warning().is_none());
    assert_eq!(measured.points.last().unwrap().size_bytes, 16 << 20);
    assert_eq!(measured.smallest_read_bytes, measured.points[0].size_bytes);
    for point in &measured.points {
        assert!(point.median_us > 0.0 && point.median_us <= point.p99_us && point.median_us <= point.time_us);
        assert!(point.reads >= 2);
    }
    assert_eq!(measured.levels.iter().map(|level| level.in_flight).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64]);
    assert!((1..=64).contains(&measured.parallel));
    let fastest = measured.streams.iter().map(|stream| stream.mb_per_s).fold(0.0, f64::max);
    assert!(fastest > 0.0 && measured.peak_mb_per_s == Some(fastest));

    let path = folder.path().join("device.json");
    measured.save(&path).unwrap();
    assert_eq!(Profile::load(&path).unwrap(), measured.to_profile().unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<MeasuredProfile>(&text).unwrap(), measured);
}

#[test]
fn a_measurement_that_cannot_be_made_is_an_error() {
    let nowhere = MeasuredProfile::measure(Path::new("/no/such/folder"), &quick(), &mut |_, _| ());
    assert!(matches!(nowhere, Err(Error { cause: Cause::Io(_), .. })));
    for time_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let outcome = MeasuredProfile::measure(Path::new("."), &quick().time_s(time_s), &mut |_, _| ());
        assert!(matches!(outcome, Err(Error { cause: Cause::Input, .. })), "{time_s}");
    }
}

/// Pitfall: a profile measured on cached data.
#[cfg(target_os = "linux")]
#[test]
fn figures_of_a_cache_are_said_to_be_so() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
    let measured = MeasuredProfile::measure(folder.path(), &quick(), &mut |_, _| ()).unwrap();
    assert!(!measured.cold && measured.warning().is_some());
}

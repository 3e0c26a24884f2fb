//! Storage profiles: T(n), the time to read n consecutive bytes, and the number of reads served at once.

use super::spread::{QUANTILES, TimeSpread};
use crate::error::{Advice, Call, Error, Result};
use crate::io::random_u64;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

/// Version of the JSON form.
pub(in crate::io) const FORMAT_VERSION: u32 = 1;

/// Longest time that a profile may state: a read of more than 11 days is an input error, and the limit keeps every sum
/// of times finite.
const TIME_US_MAX: f64 = 1e12;
const BANDWIDTH_MB_PER_S_MIN: f64 = 1e-6;
const BANDWIDTH_MB_PER_S_MAX: f64 = 1e9;
const PARALLEL_MAX: u32 = 1 << 16;

/// Name, latency in us, bandwidth in MB/s, reads at once.
///
/// Latencies and bandwidths are those of the AirIndex paper's storage profiles and of similar devices. For a local
/// device the number of reads at once is about the number of 4 KiB reads that saturate its bandwidth (6, 19 and 12,
/// rounded to a nearby power of two); a disk has one arm; an NFS mount has 16 request slots; a client of an object
/// store has about 64 connections, each with the stated bandwidth.
const NAMED: [(&str, f64, f64, u32); 7] = [
    ("optane", 10.0, 2200.0, 8),
    ("nvme", 60.0, 1200.0, 16),
    ("sata", 100.0, 500.0, 8),
    ("ssd", 250.0, 175.0, 8),
    ("hdd", 8_000.0, 150.0, 1),
    ("nfs", 50_000.0, 12.0, 16),
    ("s3", 40_000.0, 90.0, 64),
];

/// One point of a measured T(n).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilePoint {
    /// n: number of consecutive bytes read.
    pub size_bytes: u64,
    /// T(n) in microseconds.
    pub time_us: f64,
}

/// The spread of the time to read n bytes: its upper quantiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadQuantiles {
    /// 90th percentile in microseconds.
    pub p90_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// 99.9th percentile in microseconds.
    pub p999_us: f64,
}

/// The shape of T(n).
#[derive(Clone, Debug, PartialEq)]
enum Curve {
    /// latency + bytes / bandwidth; one MB/s is one byte per microsecond.
    Affine { latency_us: f64, bandwidth_mb_per_s: f64 },
    /// Linear interpolation between points.
    Points(Vec<ProfilePoint>),
}

/// The read performance of a storage device: T(n), the time to read n consecutive bytes (AirIndex, Section 4), and P,
/// the number of reads served at once (the PDAM model).
///
/// T may be any function that does not decrease. The JSON form is `{"ogive_profile": 1, "name": "nvme", "parallel": 16,
/// "latency_us": 60.0, "bandwidth_mb_per_s": 1200.0}`, or, instead of latency and bandwidth, `"points": [{"size_bytes":
/// 4096, "time_us": 63.4}, ...]`. An optional `"peak_mb_per_s": 2100.0` limits the rate of all reads together. MB is
/// 10^6 bytes. Points may have quantiles, `"p99_us": 120.0` and others: the spread of T(n), which only the quantile
/// objective of the tuner uses.
///
/// ```
/// let ssd = ogive::io::Profile::affine("mine", 100.0, 1000.0, 8)?;
/// assert_eq!(ssd.time_us(4_000), 104.0);
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ProfileForm", into = "ProfileForm")]
pub struct Profile {
    name: String,
    curve: Curve,
    parallel: u32,
    /// The distribution of the time at each point, which never falls from one to the next; empty if it is not known.
    spread: Vec<TimeSpread>,
    /// Rate of long reads, as many in flight as help, in MB/s, if it is known.
    peak_mb_per_s: Option<f64>,
}

impl Default for Profile {
    /// The profile named `nvme`.
    fn default() -> Self {
        let (name, latency_us, bandwidth_mb_per_s, parallel) = NAMED[1];
        Self {
            name: name.to_owned(),
            curve: Curve::Affine { latency_us, bandwidth_mb_per_s },
            parallel,
            spread: Vec::new(),
            peak_mb_per_s: None,
        }
    }
}

impl Profile {
    /// A profile with T(n) = `latency_us` + n / bandwidth and `parallel` reads at once; one MB is 10^6 bytes.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a zero, negative, NaN, infinite or absurdly large value.
    pub fn affine(name: &str, latency_us: f64, bandwidth_mb_per_s: f64, parallel: u32) -> Result<Self> {
        check_time(name, "latency_us", latency_us)?;
        check_rate(name, "bandwidth_mb_per_s", bandwidth_mb_per_s)?;
        check_parallel(name, parallel)?;
        Ok(Self::of_curve(name, Curve::Affine { latency_us, bandwidth_mb_per_s }, parallel))
    }

    /// A profile with T(n) interpolated linearly between `points`: constant before the first point, with the last slope
    /// after the last.
    ///
    /// # Errors
    /// `Cause::Input` if there is no point, if a time is zero, negative, NaN, infinite or absurdly large,
    /// if sizes do not increase, or if times decrease.
    pub fn from_points(name: &str, points: Vec<ProfilePoint>, parallel: u32) -> Result<Self> {
        if points.is_empty() {
            return Err(Error::input(format!("profile {name}: it has no points; give at least one")));
        }
        for point in &points {
            check_time(name, &format!("time_us at {} bytes", point.size_bytes), point.time_us)?;
        }
        for pair in points.windows(2) {
            if pair[1].size_bytes <= pair[0].size_bytes || pair[1].time_us < pair[0].time_us {
                return Err(Error::input(format!(
                    "profile {name}: the point ({} bytes, {} us) follows ({} bytes, {} us); give sizes that rise and \
                     times that never fall",
                    pair[1].size_bytes, pair[1].time_us, pair[0].size_bytes, pair[0].time_us
                )));
            }
        }
        check_parallel(name, parallel)?;
        Ok(Self::of_curve(name, Curve::Points(points), parallel))
    }

    fn of_curve(name: &str, curve: Curve, parallel: u32) -> Self {
        Self { name: name.to_owned(), curve, parallel, spread: Vec::new(), peak_mb_per_s: None }
    }

    /// The same profile of a device that gives at most `peak_mb_per_s` in total, however many reads are in flight.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a zero, negative, NaN, infinite or absurd rate.
    pub fn with_peak(self, peak_mb_per_s: f64) -> Result<Self> {
        check_rate(&self.name, "peak_mb_per_s", peak_mb_per_s)?;
        Ok(Self { peak_mb_per_s: Some(peak_mb_per_s), ..self })
    }

    /// The same profile with the spread of the time at each of its points. T(n) counts as the median. A quantile that
    /// is below a lower one, or below that of a smaller size, is raised to it: a longer read is never faster.
    ///
    /// # Errors
    /// `Cause::Input` if the profile has no points or another number of them, and for a zero, negative,
    /// NaN, infinite or absurd time.
    pub fn with_spread(self, quantiles: &[ReadQuantiles]) -> Result<Self> {
        let points = match &self.curve {
            Curve::Points(points) => &points[..],
            Curve::Affine { .. } => &[],
        };
        if points.is_empty() || points.len() != quantiles.len() {
            return Err(Error::input(format!(
                "profile {}: it has {} points and quantiles of {}; give those of each point",
                self.name,
                points.len(),
                quantiles.len()
            )));
        }
        let mut spread = Vec::new();
        let mut smaller = [0.0_f64; QUANTILES.len()];
        for (point, &ReadQuantiles { p90_us, p99_us, p999_us }) in points.iter().zip(quantiles) {
            let mut least_us = 0.0_f64;
            for (least, (name, time_us)) in smaller.iter_mut().zip([
                ("time_us", point.time_us),
                ("p90_us", p90_us),
                ("p99_us", p99_us),
                ("p999_us", p999_us),
            ]) {
                check_time(&self.name, &format!("{name} at {} bytes", point.size_bytes), time_us)?;
                least_us = least_us.max(time_us).max(*least);
                *least = least_us;
            }
            spread.push(TimeSpread::new(smaller));
        }
        Ok(Self { spread, ..self })
    }

    /// Whether the spread of T(n) is known. Without it, all reads of one size take the same time.
    pub fn has_spread(&self) -> bool {
        !self.spread.is_empty()
    }

    /// The time in microseconds that a share `quantile` of the reads of this number of bytes does not exceed, between 0
    /// and 1. It is T(`bytes`) up to the median, and for all quantiles if the spread is not known; beyond the 99.9th
    /// percentile, it is that.
    pub fn time_quantile_us(&self, bytes: u64, quantile: f64) -> f64 {
        self.spread_of(bytes).at(quantile)
    }

    /// The distribution of the time to read this number of bytes.
    pub(crate) fn spread_of(&self, bytes: u64) -> TimeSpread {
        match &self.curve {
            Curve::Points(points) if !self.spread.is_empty() => TimeSpread::between(points, &self.spread, bytes),
            _ => TimeSpread::fixed(self.time_us(bytes)),
        }
    }

    /// A predefined profile: `optane`, `nvme`, `sata`, `ssd`, `hdd`, `nfs`, `s3`.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for any other name; the message lists the known ones.
    pub fn named(name: &str) -> Result<Self> {
        let Some(&(name, latency_us, bandwidth_mb_per_s, parallel)) = NAMED.iter().find(|known| known.0 == name) else {
            return Err(Error::input(format!(
                "there is no storage profile named {name:?}; the known ones are {}",
                Self::names().collect::<Vec<_>>().join(", ")
            )));
        };
        Self::affine(name, latency_us, bandwidth_mb_per_s, parallel)
    }

    /// The names of the predefined profiles, fastest device first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|known| known.0)
    }

    /// A predefined profile, or the one in a JSON file at that path.
    ///
    /// # Errors
    /// `Cause::Input` if `text` is neither, or the file does not contain a valid profile; `Cause::Io` if
    /// the file cannot be read.
    pub fn by_name_or_file(text: &str) -> Result<Self> {
        if Self::names().any(|name| name == text) {
            return Self::named(text);
        }
        let path = Path::new(text);
        if !path.exists() {
            return Err(Error::input(format!(
                "{text:?} is neither a storage profile ({}) nor a file",
                Self::names().collect::<Vec<_>>().join(", ")
            ))
            .advise(Advice::Use(Call::MeasureProfile)));
        }
        Self::load(path)
    }

    /// Reads a profile from a JSON file, as written by `ogive profile -o FILE`.
    ///
    /// # Errors
    /// `Cause::Io` if the file cannot be read, `Cause::Input` if it does not contain a valid profile.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::io("read", path, source))?;
        serde_json::from_str(&text)
            .map_err(|error| Error::input(format!("{} is not a storage profile: {error}", path.display())))
    }

    /// Writes the profile as JSON, replacing the file at `path`.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io) if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        save_json(self, path)
    }

    /// The profile's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// P: the number of reads that the storage serves at once.
    pub fn parallel(&self) -> u32 {
        self.parallel
    }

    /// The total rate of long reads in MB/s, however many are in flight, if it was measured. Without it, P reads at
    /// once have P times the rate of one.
    pub fn peak_mb_per_s(&self) -> Option<f64> {
        self.peak_mb_per_s
    }

    /// The least time in microseconds in which the device gives this number of bytes, in any number of reads.
    pub(crate) fn least_us(&self, bytes: f64) -> f64 {
        self.peak_mb_per_s.map_or(0.0, |peak| bytes / peak)
    }

    /// Time in microseconds per read of this size, with this many of them always in flight.
    pub(crate) fn stream_us(&self, bytes: u64, in_flight: u32) -> f64 {
        let at_once = f64::from(in_flight.clamp(1, self.parallel));
        (self.time_us(bytes) / at_once).max(self.least_us(bytes as f64))
    }

    /// T(`bytes`) in microseconds: the time to read this number of consecutive bytes. T(0) is the latency.
    pub fn time_us(&self, bytes: u64) -> f64 {
        match &self.curve {
            Curve::Affine { latency_us, bandwidth_mb_per_s } => latency_us + bytes as f64 / bandwidth_mb_per_s,
            Curve::Points(points) => interpolate(points, bytes),
        }
    }

    /// Time in microseconds to complete concurrent reads of the given sizes: they start in the given order, each as
    /// soon as one of the P places is free.
    pub fn batch_us(&self, sizes_bytes: &[u64]) -> f64 {
        let mut finished_us = 0.0_f64;
        // Times are positive, and positive floats order as their bits do.
        let mut places: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        for &size_bytes in sizes_bytes {
            let start_us = if places.len() < self.parallel as usize {
                0.0
            } else {
                places.pop().map_or(0.0, |Reverse(bits)| f64::from_bits(bits))
            };
            let end_us = start_us + self.time_us(size_bytes);
            finished_us = finished_us.max(end_us);
            places.push(Reverse(end_us.to_bits()));
        }
        finished_us.max(self.least_us(sizes_bytes.iter().map(|&bytes| bytes as f64).sum()))
    }
}

/// Linear interpolation: constant before the first point, with the last slope after the last.
fn interpolate(points: &[ProfilePoint], bytes: u64) -> f64 {
    let (left, right, share) = place(points, bytes);
    let (left, right) = (points[left], points[right]);
    left.time_us + (right.time_us - left.time_us) * share
}

/// The points between which a size is, and how far it is from the first to the second: 0 before all points, more than 1
/// beyond the last.
fn place(points: &[ProfilePoint], bytes: u64) -> (usize, usize, f64) {
    let last = points.len() - 1;
    let right = points.partition_point(|point| point.size_bytes < bytes).min(last);
    if right == 0 {
        return (0, 0, 0.0);
    }
    let (left, end) = (points[right - 1].size_bytes, points[right].size_bytes);
    // Exactly a point: no rounding.
    if bytes == end {
        return (right, right, 0.0);
    }
    (right - 1, right, (bytes - left) as f64 / (end - left) as f64)
}

impl TimeSpread {
    /// The distribution at a size, interpolated as T(n) is.
    fn between(points: &[ProfilePoint], spread: &[Self], bytes: u64) -> Self {
        let (left, right, share) = place(points, bytes);
        // Beyond the last point, the quantiles of a distribution with unequal slopes might cross.
        let share_of_spread = share.min(1.0);
        let beyond = Self::fixed(interpolate(points, bytes) - interpolate(points, points[right].size_bytes.min(bytes)));
        Self::mixed(spread[left], spread[right], share_of_spread).plus(beyond)
    }
}

fn check_time(name: &str, field: &str, time_us: f64) -> Result<()> {
    if time_us > 0.0 && time_us <= TIME_US_MAX {
        return Ok(());
    }
    Err(Error::input(format!(
        "profile {name}: {field} is {time_us}; give a number of microseconds above 0 and up to {TIME_US_MAX}"
    )))
}

fn check_rate(name: &str, field: &str, mb_per_s: f64) -> Result<()> {
    if (BANDWIDTH_MB_PER_S_MIN..=BANDWIDTH_MB_PER_S_MAX).contains(&mb_per_s) {
        return Ok(());
    }
    Err(Error::input(format!(
        "profile {name}: {field} is {mb_per_s}; give a number from {BANDWIDTH_MB_PER_S_MIN} to {BANDWIDTH_MB_PER_S_MAX}"
    )))
}

fn check_parallel(name: &str, parallel: u32) -> Result<()> {
    if (1..=PARALLEL_MAX).contains(&parallel) {
        return Ok(());
    }
    Err(Error::input(format!(
        "profile {name}: parallel is {parallel}; give the number of reads served at once, from 1 to {PARALLEL_MAX}"
    )))
}

/// Writes a document as readable JSON.
pub(in crate::io) fn save_json(document: &impl Serialize, path: &Path) -> Result<()> {
    let mut text = serde_json::to_string_pretty(document)
        .map_err(|error| Error::input(format!("cannot express {} as JSON: {error}", path.display())))?;
    text.push('\n');
    save_text(&text, path)
}

/// Writes a text file, replacing the file at `path`.
pub(crate) fn save_text(text: &str, path: &Path) -> Result<()> {
    // Written to a temporary file first: the existing file, under all its names, stays unchanged until the new one is
    // complete.
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{:016x}.ogive-tmp", random_u64()));
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|source| {
        // The first error says more.
        _ = std::fs::remove_file(&temporary);
        Error::io("write", path, source)
    })
}

/// The JSON form: readable, versioned, with either latency and bandwidth or points. Unknown fields are ignored, so a
/// measurement is also a profile.
#[derive(Serialize, Deserialize)]
struct ProfileForm {
    ogive_profile: u32,
    name: String,
    parallel: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bandwidth_mb_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<Vec<PointForm>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peak_mb_per_s: Option<f64>,
}

/// The JSON form of a point. Measurements of earlier versions have `p99_us` only; profiles by hand may have none.
#[derive(Serialize, Deserialize)]
struct PointForm {
    size_bytes: u64,
    time_us: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p90_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p99_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p999_us: Option<f64>,
}

impl PointForm {
    /// The quantiles; those that are not given follow from the 99th percentile: the 90th is on the line from the median
    /// to it, and the 99.9th is the same.
    fn quantiles(&self) -> Option<ReadQuantiles> {
        let p99_us = self.p99_us?;
        let p90_us = self.p90_us.unwrap_or(self.time_us + (p99_us - self.time_us).max(0.0) * MEDIAN_TO_P90_SHARE);
        Some(ReadQuantiles { p90_us, p99_us, p999_us: self.p999_us.unwrap_or(p99_us) })
    }
}

/// The 90th percentile is this far from the median to the 99th.
const MEDIAN_TO_P90_SHARE: f64 = (QUANTILES[1] - QUANTILES[0]) / (QUANTILES[2] - QUANTILES[0]);

/// The profile of points in JSON.
fn of_points(name: &str, forms: &[PointForm], parallel: u32) -> Result<Profile> {
    let point = |form: &PointForm| ProfilePoint { size_bytes: form.size_bytes, time_us: form.time_us };
    let profile = Profile::from_points(name, forms.iter().map(point).collect(), parallel)?;
    let quantiles: Vec<ReadQuantiles> = forms.iter().filter_map(PointForm::quantiles).collect();
    if quantiles.is_empty() { Ok(profile) } else { profile.with_spread(&quantiles) }
}

impl From<Profile> for ProfileForm {
    fn from(profile: Profile) -> Self {
        let (latency_us, bandwidth_mb_per_s, points) = match profile.curve {
            Curve::Affine { latency_us, bandwidth_mb_per_s } => (Some(latency_us), Some(bandwidth_mb_per_s), None),
            Curve::Points(points) => {
                let form = |(at, point): (usize, &ProfilePoint)| {
                    let quantile = |index: usize| Some(profile.spread.get(at)?.at(QUANTILES[index]));
                    PointForm {
                        size_bytes: point.size_bytes,
                        time_us: point.time_us,
                        p90_us: quantile(1),
                        p99_us: quantile(2),
                        p999_us: quantile(3),
                    }
                };
                (None, None, Some(points.iter().enumerate().map(form).collect()))
            }
        };
        Self {
            ogive_profile: FORMAT_VERSION,
            name: profile.name,
            parallel: profile.parallel,
            latency_us,
            bandwidth_mb_per_s,
            points,
            peak_mb_per_s: profile.peak_mb_per_s,
        }
    }
}

impl TryFrom<ProfileForm> for Profile {
    type Error = Error;

    fn try_from(form: ProfileForm) -> Result<Self> {
        if form.ogive_profile != FORMAT_VERSION {
            return Err(Error::input(format!(
                "profile {}: it has version {}; this program reads version {FORMAT_VERSION}",
                form.name, form.ogive_profile
            )));
        }
        let profile = match (form.latency_us, form.bandwidth_mb_per_s, form.points) {
            (Some(latency_us), Some(bandwidth), None) => Self::affine(&form.name, latency_us, bandwidth, form.parallel),
            (None, None, Some(points)) => of_points(&form.name, &points, form.parallel),
            _ => Err(Error::input(format!(
                "profile {}: give either latency_us and bandwidth_mb_per_s, or points",
                form.name
            ))),
        }?;
        form.peak_mb_per_s.map_or(Ok(profile.clone()), |peak| profile.with_peak(peak))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs()
    }

    /// AirIndex, Section 2.1: B200 reads three nodes of 4 KB and a page of 4 KB, B5000 two nodes of 100 KB and the
    /// page.
    #[test]
    fn the_example_of_section_2_1_comes_out() {
        let look_up_us = |profile: &Profile, nodes: u32, node_bytes| {
            f64::from(nodes) * profile.time_us(node_bytes) + profile.time_us(4_000)
        };
        let ssd = Profile::affine("paper-ssd", 100.0, 1000.0, 1).unwrap();
        assert!(close(look_up_us(&ssd, 3, 4_000), 416.0));
        assert!(close(look_up_us(&ssd, 2, 100_000), 504.0));
        let cloud = Profile::affine("paper-cloud", 100_000.0, 100.0, 1).unwrap();
        assert!(close(look_up_us(&cloud, 3, 4_000), 400_160.0));
        assert!(close(look_up_us(&cloud, 2, 100_000), 302_040.0));
    }

    #[test]
    fn named_profiles_have_their_stated_times() {
        let expected_us = [(10.0, 1e6 / 2200.0), (60.0, 1e6 / 1200.0), (100.0, 1e6 / 500.0), (250.0, 1e6 / 175.0)];
        let slow_us = [(8_000.0, 1e6 / 150.0), (50_000.0, 1e6 / 12.0), (40_000.0, 1e6 / 90.0)];
        let expected_us = expected_us.into_iter().chain(slow_us);
        assert_eq!(Profile::names().count(), expected_us.clone().count());
        for (name, (latency_us, megabyte_us)) in Profile::names().zip(expected_us) {
            let profile = Profile::named(name).unwrap();
            assert!(close(profile.time_us(0), latency_us), "{name}");
            assert!(close(profile.time_us(1_000_000), latency_us + megabyte_us), "{name}");
            assert!(profile.parallel() >= 1);
        }
        assert!(matches!(Profile::named("floppy"), Err(error @ Error { cause: Cause::Input, .. })
                if error.detail().contains("nvme")));
    }

    #[test]
    fn senseless_values_are_refused_with_the_sensible_ones_named() {
        for wrong in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            let outcomes = [
                Profile::affine("x", wrong, 100.0, 1),
                Profile::affine("x", 100.0, wrong, 1),
                Profile::from_points("x", vec![ProfilePoint { size_bytes: 512, time_us: wrong }], 1),
            ];
            for outcome in outcomes {
                assert!(
                    matches!(outcome, Err(error @ Error { cause: Cause::Input, .. })
                        if error.detail().contains("give")),
                    "{wrong}"
                );
            }
        }
        for parallel in [0, u32::MAX] {
            assert!(matches!(Profile::affine("x", 1.0, 1.0, parallel), Err(Error { cause: Cause::Input, .. })));
        }
        for wrong in [&[][..], &[(512, 2.0), (1024, 1.0)], &[(512, 1.0), (512, 2.0)], &[(1024, 1.0), (512, 2.0)]] {
            let points = wrong.iter().map(|&(size_bytes, time_us)| ProfilePoint { size_bytes, time_us }).collect();
            let outcome = Profile::from_points("x", points, 1);
            assert!(matches!(outcome, Err(Error { cause: Cause::Input, .. })), "{wrong:?}");
        }
    }

    #[test]
    fn a_table_of_points_is_straight_between_and_beyond_them() {
        let point = |size_bytes, time_us| ProfilePoint { size_bytes, time_us };
        let curve =
            Profile::from_points("x", vec![point(1000, 10.0), point(2000, 20.0), point(4000, 30.0)], 4).unwrap();
        for (bytes, time_us) in
            [(0, 10.0), (1000, 10.0), (1500, 15.0), (2000, 20.0), (3000, 25.0), (4000, 30.0), (6000, 40.0)]
        {
            assert!(close(curve.time_us(bytes), time_us), "{bytes}");
        }
        assert!(curve.time_us(u64::MAX).is_finite());
        let flat = Profile::from_points("x", vec![point(4096, 7.0)], 1).unwrap();
        assert_eq!((flat.time_us(0), flat.time_us(u64::MAX)), (7.0, 7.0));
    }

    #[test]
    fn a_batch_runs_as_many_reads_at_a_time_as_the_storage_serves() {
        let profile = Profile::affine("x", 100.0, 1.0, 2).unwrap();
        assert_eq!(profile.batch_us(&[]), 0.0);
        assert_eq!(profile.batch_us(&[10]), 110.0);
        assert_eq!(profile.batch_us(&[10, 50]), 150.0);
        assert_eq!(profile.batch_us(&[10, 50, 0]), 210.0);
        assert_eq!(profile.batch_us(&[0; 5]), 300.0);
    }

    #[test]
    fn reads_in_flight_share_the_peak() {
        let profile = Profile::affine("x", 100.0, 1.0, 8).unwrap();
        assert_eq!((profile.batch_us(&[900; 4]), profile.stream_us(900, 4)), (1000.0, 250.0));
        let limited = profile.with_peak(2.0).unwrap();
        assert_eq!((limited.batch_us(&[900; 4]), limited.stream_us(900, 4)), (1800.0, 450.0));
        assert_eq!((limited.batch_us(&[900]), limited.stream_us(900, 1)), (1000.0, 1000.0));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(limited.clone().with_peak(wrong), Err(Error { cause: Cause::Input, .. })), "{wrong}");
        }
    }

    #[test]
    fn json_gives_back_the_same_profile_and_refuses_wrong_ones() {
        let points = vec![
            ProfilePoint { size_bytes: 512, time_us: 50.25 },
            ProfilePoint { size_bytes: 4096, time_us: 0.1 + 61.0 },
        ];
        let mine = Profile::from_points("mine", points, 32).unwrap();
        for profile in [Profile::named("nvme").unwrap(), mine.clone(), mine.with_peak(1234.5).unwrap()] {
            let text = serde_json::to_string(&profile).unwrap();
            assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile, "{text}");
        }
        for wrong in [
            r#"{"ogive_profile": 2, "name": "x", "parallel": 1, "latency_us": 1, "bandwidth_mb_per_s": 1}"#,
            r#"{"ogive_profile": 1, "name": "x", "parallel": 1, "latency_us": 0, "bandwidth_mb_per_s": 1}"#,
            r#"{"ogive_profile": 1, "name": "x", "parallel": 1, "latency_us": 1}"#,
            r#"{"ogive_profile": 1, "name": "x", "parallel": 1, "points": []}"#,
            r#"{"name": "x"}"#,
        ] {
            assert!(serde_json::from_str::<Profile>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_profile_is_found_by_name_or_by_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.json");
        let mine = Profile::affine("mine", 3.0, 4.0, 5).unwrap();
        mine.save(&path).unwrap();
        assert_eq!(Profile::by_name_or_file(path.to_str().unwrap()).unwrap(), mine);
        assert_eq!(Profile::by_name_or_file("s3").unwrap(), Profile::named("s3").unwrap());
        assert!(matches!(Profile::by_name_or_file("no-such-thing"), Err(Error { cause: Cause::Input, .. })));
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(Profile::by_name_or_file(path.to_str().unwrap()), Err(Error { cause: Cause::Input, .. })));
    }

    #[test]
    fn points_with_quantiles_spread_the_time_and_those_without_do_not() {
        let text = r#"{"ogive_profile": 1, "name": "x", "parallel": 1, "points": [
            {"size_bytes": 1000, "time_us": 10, "median_us": 10, "p99_us": 59, "reads": 7},
            {"size_bytes": 3000, "time_us": 30, "p90_us": 40, "p99_us": 50, "p999_us": 200}]}"#;
        let spread: Profile = serde_json::from_str(text).unwrap();
        assert!(spread.has_spread());
        // The 90th percentile of the first is 40/49 of the way from 10 to 59, the 99th of the second that of the first.
        for (bytes, quantile, time_us) in [
            (1000, 0.5, 10.0),
            (1000, 0.9, 50.0),
            (1000, 0.99, 59.0),
            (1000, 0.999, 59.0),
            (3000, 0.5, 30.0),
            (3000, 0.9, 50.0),
            (3000, 0.99, 59.0),
            (3000, 0.9999, 200.0),
            (2000, 0.999, 129.5),
            (0, 0.99, 59.0),
            (5000, 0.99, 79.0),
        ] {
            let found = spread.time_quantile_us(bytes, quantile);
            assert!(close(found, time_us), "{bytes}, {quantile}: {found}");
        }
        let text = serde_json::to_string(&spread).unwrap();
        assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), spread);
        let bare = Profile::named("nvme").unwrap();
        assert!(!bare.has_spread() && bare.time_quantile_us(4096, 0.999) == bare.time_us(4096));
    }

    #[test]
    fn quantiles_of_some_points_and_impossible_ones_are_refused() {
        let points = |first: &str, second: &str| {
            let text = format!(
                r#"{{"ogive_profile": 1, "name": "x", "parallel": 1, "points": [
                    {{"size_bytes": 512, "time_us": 1{first}}}, {{"size_bytes": 4096, "time_us": 2{second}}}]}}"#
            );
            serde_json::from_str::<Profile>(&text)
        };
        assert!(points("", "").is_ok() && points(r#", "p99_us": 3"#, r#", "p99_us": 4"#).is_ok());
        for second in ["", r#", "p99_us": 0"#, r#", "p99_us": -1"#, r#", "p99_us": 1e300"#] {
            assert!(points(r#", "p99_us": 3"#, second).is_err(), "{second}");
        }
        let quantiles = ReadQuantiles { p90_us: 1.0, p99_us: 1.0, p999_us: 1.0 };
        assert!(matches!(
            Profile::named("ssd").unwrap().with_spread(&[quantiles]),
            Err(Error { cause: Cause::Input, .. })
        ));
    }

    #[test]
    fn no_quantile_falls_with_the_size_or_is_below_a_lower_one() {
        let text = r#"{"ogive_profile": 1, "name": "x", "parallel": 1, "points": [
            {"size_bytes": 512, "time_us": 70, "p90_us": 60, "p99_us": 900, "p999_us": 80},
            {"size_bytes": 4096, "time_us": 80, "p90_us": 85, "p99_us": 90, "p999_us": 2000},
            {"size_bytes": 65536, "time_us": 300, "p90_us": 310, "p99_us": 320, "p999_us": 330}]}"#;
        let profile: Profile = serde_json::from_str(text).unwrap();
        let quantiles = [0.0, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.995, 0.999, 1.0];
        let times = |bytes: u64| quantiles.map(|quantile| profile.time_quantile_us(bytes, quantile));
        let mut before = [0.0; 10];
        for bytes in (0..200_000).step_by(97) {
            let now = times(bytes);
            assert!(now.is_sorted() && before.iter().zip(now).all(|(before, now)| *before <= now), "{bytes}: {now:?}");
            assert!(close(now[2], profile.time_us(bytes)));
            before = now;
        }
    }
}

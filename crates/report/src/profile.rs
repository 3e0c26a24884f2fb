//! The page of a storage profile: the measured T(n) beside the named profiles.

use crate::data_table::DataTable;
use crate::figure::Figure;
use crate::format::{bytes, count, grouped, time_us};
use crate::page::Page;
use crate::svg::{Axis, LineChart, Mark, Series, Unit};
use ogive::io::{MeasuredProfile, Profile};

/// Smallest and largest read of the curves of profiles, as powers of two.
const SIZES: std::ops::RangeInclusive<u32> = 9..=24;

/// The page of a measured device; `command` is what made it.
#[must_use]
pub fn measured_page(measured: &MeasuredProfile, command: &str) -> String {
    let points = measured.points.iter().map(|point| (point.size_bytes as f64, point.median_us)).collect();
    let hovers = measured.points.iter().map(|point| {
        let (median, slow) = (time_us(point.median_us), time_us(point.p99_us));
        format!("{}: median {median}, p99 {slow}, {} reads", bytes(point.size_bytes as f64), grouped(point.reads))
    });
    let mut table = DataTable::new(["read size", "median", "p99", "reads timed"]).caption("Reads, one at a time");
    for point in &measured.points {
        let (median, slow) = (time_us(point.median_us), time_us(point.p99_us));
        table.push([bytes(point.size_bytes as f64), median, slow, grouped(point.reads)]);
    }
    let chart = curves(&measured.name, points, hovers.collect());
    let reached = if measured.cold { "bypassing the page cache" } else { "through the page cache" };
    let page = Page::new(&measured.name)
        .summary(&format!("The time to read n bytes, T(n), as measured on this device, {reached}."))
        .command(command)
        .fact("reads at once", &measured.parallel.to_string())
        .fact("measured", reached);
    let page = match measured.peak_mb_per_s {
        Some(peak) => page.fact("bandwidth", &format!("{} MB/s", count(peak))),
        None => page,
    };
    let warning = measured.warning();
    let page = page.section("Time of a read", |section| {
        let section = section.text(EXPLANATION).figure(Figure::of_svg(CAPTION, &chart).table(table));
        warning.iter().fold(section, |section, warning| section.note(warning))
    });
    page.section("Reads at once", |section| {
        let points = measured.levels.iter().map(|level| (f64::from(level.in_flight), level.requests_per_s));
        let (x, y) = (Axis::log("reads in flight", Unit::Count), Axis::linear("reads per second", Unit::Count));
        let chart = LineChart::new("4 KiB reads per second", x, y)
            .description("Reads per second by the number of reads in flight")
            .series(Series::new("measured", Mark::Line, points));
        let mut table = DataTable::new(["in flight", "4 KiB reads per second"]);
        for level in &measured.levels {
            table.push([level.in_flight.to_string(), grouped(level.requests_per_s.round() as u64)]);
        }
        let caption = "Where the line is level, the device is busy: more reads at once do not help.";
        section.figure(Figure::of_svg(caption, &chart).table(table))
    })
    .to_html()
}

/// The page of a profile that states its curve only, such as that of an object store.
#[must_use]
pub fn profile_page(profile: &Profile, command: &str) -> String {
    let sizes = || SIZES.map(|bits| 1_u64 << bits);
    let points = sizes().map(|size| (size as f64, profile.time_us(size))).collect();
    let mut table = DataTable::new(["read size", "time"]).caption("Reads, one at a time");
    sizes().for_each(|size| table.push([bytes(size as f64), time_us(profile.time_us(size))]));
    let chart = curves(profile.name(), points, Vec::new());
    Page::new(profile.name())
        .summary("The time to read n bytes, T(n), as measured.")
        .command(command)
        .fact("requests at once", &profile.parallel().to_string())
        .section("Time of a read", |section| {
            section.text(EXPLANATION).figure(Figure::of_svg(CAPTION, &chart).table(table))
        })
        .to_html()
}

const EXPLANATION: &str = "A small read costs the latency, however small it is; a large one costs the bandwidth. An \
    index is tuned for this curve: where it is level, reading more at once is free, so fewer layers are better.";
const CAPTION: &str = "The measured storage, and the named profiles that --for takes. Both axes are logarithmic.";

fn curves(name: &str, points: Vec<(f64, f64)>, hovers: Vec<String>) -> LineChart {
    let (x, y) = (Axis::log("bytes of a read", Unit::Bytes), Axis::log("time", Unit::Micros));
    let mut series = Series::new(&format!("{name} (measured)"), Mark::Line, points);
    if !hovers.is_empty() {
        series = series.hovers(hovers);
    }
    let chart = LineChart::new("T(n), the time to read n bytes", x, y)
        .description("Time of a read by its size, on the measured storage and on the named ones")
        .series(series);
    Profile::names().filter_map(|name| Profile::named(name).ok()).fold(chart, |chart, profile| {
        let points = SIZES.map(|bits| ((1_u64 << bits) as f64, profile.time_us(1 << bits)));
        chart.series(Series::new(profile.name(), Mark::Line, points))
    })
}

//! The page `docs/format/profile.md` and the code say the same. Goal: its examples load, mean what it says, and its
//! table of named profiles is the code's. Method: they are read from the page itself.

use ogive::io::Profile;

const PAGE: &str = include_str!("../../../../docs/format/profile.md");

fn example(name: &str) -> Profile {
    let (_, rest) = PAGE.split_once(&format!("```json {name}\n")).unwrap_or_else(|| panic!("no example {name}"));
    serde_json::from_str(rest.split_once("```").unwrap().0).unwrap()
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.05, "{found} rather than {expected}");
}

#[test]
fn the_example_by_latency_costs_what_the_page_says() {
    let profile = example("affine");
    assert_eq!((profile.name(), profile.parallel()), ("my-nvme", 16));
    assert_near(profile.time_us(4096), 63.4);
}

#[test]
fn the_example_by_points_costs_what_the_page_says() {
    let profile = example("points");
    assert_eq!((profile.name(), profile.parallel()), ("measured", 8));
    for (bytes, time_us) in [(1, 70.0), (512, 70.0), (2304, 75.0), (4096, 80.0), (1 << 20, 600.0)] {
        assert_near(profile.time_us(bytes), time_us);
    }
    let slope_us = (600.0 - 80.0) / f64::from((1 << 20) - 4096);
    assert_near(profile.time_us(2 << 20), 600.0 + slope_us * f64::from(1 << 20));
}

#[test]
fn the_example_with_percentiles_spreads_as_the_page_says() {
    let profile = example("spread");
    for (bytes, quantile, time_us) in [(512, 0.99, 250.0), (512, 0.95, 174.4), (512, 0.4, 70.0), (4096, 1.0, 950.0)] {
        assert_near(profile.time_quantile_us(bytes, quantile), time_us);
    }
    assert!(!example("points").has_spread());
}

#[test]
fn the_page_lists_the_named_profiles_as_they_are() {
    for name in Profile::names() {
        let profile = Profile::named(name).unwrap();
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (number, unit) = cells[2].split_once(' ').unwrap();
        let latency_us = number.parse::<f64>().unwrap() * if unit == "ms" { 1000.0 } else { 1.0 };
        let bandwidth: f64 = cells[3].strip_suffix(" MB/s").unwrap().parse().unwrap();
        assert_near(profile.time_us(0), latency_us);
        assert_near(profile.time_us(1 << 20), latency_us + f64::from(1 << 20) / bandwidth);
        assert_eq!(profile.parallel().to_string(), cells[4], "{name}");
    }
}

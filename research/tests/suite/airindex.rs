//! The AirIndex experiments, at small size: each must show the result of the paper or of our own design on few keys.

use ogive_research::experiments::{Context, experiments};
use ogive_research::output::Reporter;
use serde_json::Value;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn small() -> Context {
    Context { count: 50_000, key_sets: vec!["lognormal".into()], modelled_only: true, ..Context::default() }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn run(name: &str, context: &Context) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let experiment = experiments().iter().find(|experiment| experiment.name == name).ok_or("no such experiment")?;
    let mut printed = Vec::new();
    {
        let stream: &mut dyn std::io::Write = &mut printed;
        experiment.measure(context, &mut Reporter::new(stream, true))?;
    }
    let records: Vec<Value> = str::from_utf8(&printed)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert!(!records.is_empty());
    assert!(records.iter().all(|record| record["experiment"] == name && record["keys"].is_string()));
    Ok(records)
}

fn number(record: &Value, figure: &str) -> f64 {
    // Comparisons with what is no number fail.
    record[figure].as_f64().unwrap_or(f64::NAN)
}

fn of_design<'r>(records: &'r [Value], design: &'r str) -> impl Iterator<Item = &'r Value> {
    records.iter().filter(move |record| record["design"] == design)
}

#[test]
fn no_fixed_design_beats_the_tuned_one() -> TestResult {
    let context = Context { key_sets: strings(&["lognormal", "uniform", "step"]), lookups: Some(200), ..small() };
    let records = run("airindex/designs", &context)?;
    for record in &records {
        let same = |other: &&Value| other["keys"] == record["keys"] && other["profile"] == record["profile"];
        let best = of_design(&records, "tuned exactly").find(same).ok_or("no tuned design")?;
        let (best_us, modelled_us) = (number(best, "modelled_us"), number(record, "modelled_us"));
        assert!(
            best_us <= modelled_us * (1.0 + 1e-9),
            "{} on {}: {modelled_us} < {best_us}",
            record["design"],
            record["profile"]
        );
    }
    // Without index, the whole table is one read.
    for record in of_design(&records, "none") {
        assert!(number(record, "metered_error_percent").abs() < 1.0, "{record}");
    }
    // Six designs and the exact one, six profiles, three key sets.
    assert_eq!(records.len(), 7 * 6 * 3);
    Ok(())
}

#[test]
fn metered_lookups_cost_what_the_model_says() -> TestResult {
    let designs = strings(&["tuned", "coded", "btree", "none", "layers=2,builder=gband,lambda=8192"]);
    let profiles = strings(&["optane", "ssd"]);
    let context = Context { designs, profiles, lookups: Some(100_000), payload_bytes: 8, ..small() };
    for record in run("airindex/designs", &context)? {
        // Without an index each lookup reads the whole table, so a few suffice.
        assert!(record["lookups"] == 100_000 || record["design"] == "none");
        assert!(number(&record, "metered_error_percent").abs() < 1.0, "{record}");
    }
    Ok(())
}

#[test]
fn one_resident_layer_of_coded_separators_leads_to_one_block() -> TestResult {
    let context =
        Context { designs: strings(&["coded"]), profiles: strings(&["ssd"]), lookups: Some(2_000), ..small() };
    for record in run("airindex/designs", &context)? {
        assert_eq!((number(&record, "blocks_per_get"), number(&record, "reads_per_get")), (1.0, 1.0));
        assert_eq!(number(&record, "blocks_per_absent_get"), 1.0);
        assert!((96.0..=100.0).contains(&number(&record, "fill_percent")), "{record}");
    }
    Ok(())
}

#[test]
fn several_seeds_give_medians_and_one_name() -> TestResult {
    let context = Context {
        designs: strings(&["tuned"]),
        profiles: strings(&["nfs"]),
        lookups: Some(50),
        seeds: 3,
        exact: true,
        ..small()
    };
    let records = run("airindex/designs", &context)?;
    assert_eq!((records.len(), &records[0]["keys"]), (1, &"lognormal:50k".into()));
    assert!(number(&records[0], "modelled_us_min") <= number(&records[0], "modelled_us"));
    assert!(number(&records[0], "modelled_us") <= number(&records[0], "modelled_us_max"));
    Ok(())
}

#[test]
fn byte_strings_are_compared_among_the_designs_that_they_can_have() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("words.txt");
    let lines: String = (0..5_000).map(|index| format!("word {index:06}\n")).collect();
    std::fs::write(&path, lines)?;
    let key_sets = vec![path.to_str().ok_or("no path")?.to_owned()];
    let context = Context { key_sets, profiles: strings(&["ssd"]), lookups: Some(100), payload_bytes: 8, ..small() };
    let records = run("airindex/designs", &context)?;
    let designs: Vec<_> = records.iter().map(|record| record["design"].as_str().unwrap_or_default()).collect();
    assert_eq!(designs, ["tuned", "coded", "none"]);
    Ok(())
}

#[test]
fn no_setting_of_a_knob_beats_the_tuned_design() -> TestResult {
    let records = run("airindex/knobs", &small())?;
    for record in &records {
        // The choice of the block size is indifferent to a fifth of a percent.
        assert!(number(record, "ratio_to_tuned") > 0.998, "{record}");
    }
    for knob in ["page_bytes", "error_keys", "plex_error_keys", "rmi_leaves", "layers", "lambda_bytes"] {
        assert!(records.iter().any(|record| record["knob"] == knob), "{knob}");
    }
    Ok(())
}

#[test]
fn faster_storage_never_makes_the_tuned_design_slower() -> TestResult {
    let records = run("airindex/spectrum", &Context { count: 200_000, ..small() })?;
    assert_eq!(records.len(), 100);
    for pair in records.windows(2).filter(|pair| pair[0]["latency_us"] == pair[1]["latency_us"]) {
        assert!(number(&pair[0], "bandwidth_mb_per_s") < number(&pair[1], "bandwidth_mb_per_s"));
        assert!(number(&pair[1], "modelled_us") <= number(&pair[0], "modelled_us") * 1.002, "{} {}", pair[0], pair[1]);
    }
    // Low latency and little bandwidth want tall indexes of fine precision, the other corner the contrary.
    let cell = |latency: f64, bandwidth: f64| {
        let found = records.iter().find(|record| {
            number(record, "latency_us") == latency && number(record, "bandwidth_mb_per_s") == bandwidth
        });
        found.ok_or("no such cell")
    };
    let (slow, fast) = (cell(1.0, 1e-3)?, cell(1e9, 1e6)?);
    assert!(number(slow, "index_layers") > number(fast, "index_layers"));
    assert!(number(slow, "read_bytes") < number(fast, "read_bytes"));
    Ok(())
}

#[test]
fn a_design_is_best_where_it_was_tuned_for() -> TestResult {
    let records = run("airindex/mismatch", &small())?;
    for record in &records {
        assert!(number(record, "slowdown") > 0.998, "{record}");
        if record["latency_factor"] == 1.0 && record["bandwidth_factor"] == 1.0 {
            assert!((number(record, "slowdown") - 1.0).abs() < 1e-9, "{record}");
        }
    }
    assert!(records.iter().any(|record| number(record, "slowdown") > 1.05));
    Ok(())
}

#[test]
fn building_reports_each_size_with_and_without_index() -> TestResult {
    let records = run("airindex/build", &Context { payload_bytes: 8, ..small() })?;
    let sizes: Vec<f64> = of_design(&records, "tuned").map(|record| number(record, "records")).collect();
    assert_eq!(sizes, [500.0, 5_000.0, 50_000.0]);
    for record in &records {
        assert!(number(record, "build_s") > 0.0);
        assert_eq!(record["design"] == "none", number(record, "index_bytes") == 0.0 && record["index_s"].is_null());
    }
    Ok(())
}

#[test]
fn lookups_become_faster_while_the_cache_fills() -> TestResult {
    let records = run("airindex/warm", &Context { lookups: Some(5_000), ..small() })?;
    for design in ["tuned", "btree", "pgm:64", "coded"] {
        for profile in ["nfs", "ssd"] {
            let curve: Vec<f64> = of_design(&records, design)
                .filter(|record| record["profile"] == profile && record["warmed_bytes"] == 0)
                .map(|record| number(record, "mean_modelled_us"))
                .collect();
            assert_eq!(curve.len(), 12, "1, 2, 5, ... 5000");
            assert!(curve.is_sorted_by(|earlier, later| later <= earlier), "{design} on {profile}: {curve:?}");
        }
    }
    // A table that is warmed as a whole is read once, before the first lookup.
    let warmed: Vec<&Value> = of_design(&records, "tuned").filter(|record| record["warmed_bytes"] == 1 << 30).collect();
    let reads = |record: &Value| number(record, "reads_per_get") * number(record, "lookups");
    assert_eq!(warmed.len(), 2 * 12);
    for curve in warmed.chunks(12) {
        assert!(curve.iter().all(|record| (reads(record) - reads(curve[0])).abs() < 1e-6), "{curve:?}");
    }
    Ok(())
}

#[test]
fn alex_and_the_rivals_among_the_designs_stand_beside_the_tuned_design() -> TestResult {
    let rivals = strings(&["tuned", "rmi", "plex:2048", "data-calculator"]);
    let context = Context {
        key_sets: strings(&["gmm", "zipf", "dense-runs"]),
        profiles: strings(&["nfs", "ssd"]),
        designs: rivals,
        structures: strings(&["alex"]),
        lookups: Some(300),
        payload_bytes: 8,
        ..small()
    };
    let cold = run("airindex/designs", &context)?;
    let warm = run("airindex/warm", &context)?;
    for (records, first) in [(&cold, "metered_us"), (&warm, "mean_modelled_us")] {
        for design in ["plex:2048", "data-calculator", "alex"] {
            assert!(of_design(records, design).count() > 0, "{design}");
            for record in of_design(records, design) {
                let same =
                    |other: &&Value| ["keys", "profile", "lookups"].iter().all(|field| other[*field] == record[*field]);
                let tuned = of_design(records, "tuned").find(same).ok_or("no tuned design")?;
                assert!(number(record, first) > 0.0 && number(tuned, first) > 0.0, "{record}");
            }
        }
    }
    // Three reads of a PLEX, one of them when it is opened; of ALEX at least a node, and a leaf.
    for record in of_design(&cold, "plex:2048") {
        assert_eq!(number(record, "reads_per_get"), 2.0, "{record}");
        assert!(number(record, "metered_error_percent").abs() < 1.0, "{record}");
    }
    for record in of_design(&cold, "alex") {
        assert!((1.0..8.0).contains(&number(record, "reads_per_get")), "{record}");
        let latency_us = if record["profile"] == "nfs" { 50_000.0 } else { 250.0 };
        let reads = 1.0 + number(record, "reads_per_get");
        assert!(number(record, "metered_us") >= reads * latency_us, "{record}");
    }
    let curve: Vec<f64> = of_design(&warm, "alex")
        .filter(|record| {
            record["profile"] == "nfs" && record["keys"].as_str().is_some_and(|set| set.starts_with("gmm"))
        })
        .map(|record| number(record, "mean_modelled_us"))
        .collect();
    // Not each point is below the one before: a tree's few first lookups may each read another inner node.
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    assert!(curve.len() == 9 && curve.iter().all(|mean| *mean <= first) && last < 0.5 * first, "{curve:?}");
    Ok(())
}

#[test]
fn first_lookups_are_measured_on_the_device_beside_the_model() -> TestResult {
    let folder = tempfile::tempdir()?;
    let context = Context {
        count: 20_000,
        designs: strings(&["tuned", "plex:2048"]),
        structures: strings(&["alex"]),
        profiles: strings(&["nvme"]),
        lookups: Some(200),
        modelled_only: false,
        device: Some(folder.path().to_owned()),
        ..small()
    };
    let (measured, modelled) =
        (run("airindex/warm", &context)?, run("airindex/warm", &Context { modelled_only: true, ..context })?);
    assert_eq!(measured.len(), modelled.len());
    for (measured, modelled) in measured.iter().zip(&modelled) {
        assert!(number(measured, "mean_measured_us") > 0.0 && measured["cold"].is_boolean(), "{measured}");
        // The same reads wherever they go.
        for figure in ["lookups", "mean_modelled_us", "reads_per_get", "bytes_per_get"] {
            let ratio = number(measured, figure) / number(modelled, figure);
            assert!((ratio - 1.0).abs() < 1e-9, "{figure}: {measured} {modelled}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 0, "no file is left behind");
    Ok(())
}

#[test]
fn skew_speeds_up_the_hundredth_lookup_and_not_the_first() -> TestResult {
    let context = Context { designs: strings(&["btree"]), profiles: strings(&["ssd"]), ..small() };
    let records = run("airindex/skew", &Context { lookups: Some(200), ..context })?;
    let ends: Vec<&Value> = records.iter().filter(|record| record["first_modelled_us"].is_number()).collect();
    let (even, skewed) = (ends[0], ends[ends.len() - 1]);
    assert_eq!((ends.len(), number(even, "skew"), number(skewed, "skew")), (4, 0.0, 2.0));
    assert!((number(even, "first_modelled_us") / number(skewed, "first_modelled_us") - 1.0).abs() < 0.05);
    assert!(number(skewed, "hundredth_modelled_us") < 0.5 * number(even, "hundredth_modelled_us"));
    // The mean of the first lookups begins with the first one, and falls.
    let means: Vec<&Value> = records.iter().filter(|record| number(record, "skew") == 2.0).skip(1).collect();
    assert_eq!(
        means.iter().map(|mean| number(mean, "lookups")).collect::<Vec<_>>(),
        [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
    );
    assert_eq!(number(means[0], "mean_modelled_us"), number(skewed, "first_modelled_us"));
    assert!(means.is_sorted_by(|less, more| number(less, "mean_modelled_us") >= number(more, "mean_modelled_us")));
    Ok(())
}

#[test]
fn a_table_that_is_retuned_for_its_lookups_reads_less_for_them() -> TestResult {
    let context = Context { profiles: strings(&["ssd"]), lookups: Some(4_000), ..small() };
    let records = run("airindex/retune", &context)?;
    assert_eq!(records.len(), 4 * 2 * 4, "workloads, memories, goals");
    for group in records.chunks(4) {
        assert_eq!((&group[0]["goal"], number(&group[0], "to_untuned")), (&"untuned".into(), 1.0));
        assert_eq!(group[2]["goal"], "retuned");
        assert!(number(&group[2], "to_untuned") <= 1.01, "{}", group[2]);
        assert!(number(&group[3], "p99_modelled_us") <= 1.01 * number(&group[0], "p99_modelled_us"), "{}", group[3]);
    }
    Ok(())
}

#[test]
fn following_more_candidates_never_costs() -> TestResult {
    let records = run("airindex/topk", &small())?;
    assert_eq!(records.len(), 20);
    let costs: Vec<f64> = records.iter().map(|record| number(record, "modelled_us")).collect();
    assert!(costs.is_sorted_by(|fewer, more| more <= fewer), "{costs:?}");
    Ok(())
}

#[test]
fn the_parts_of_a_lookup_add_up() -> TestResult {
    let records = run("airindex/breakdown", &Context { lookups: Some(1_000), ..small() })?;
    for record in &records {
        let parts = record
            .as_object()
            .ok_or("no object")?
            .iter()
            .filter(|(name, _)| name.ends_with("_modelled_us") && *name != "reads_modelled_us");
        let sum: f64 = parts.filter_map(|(_, value)| value.as_f64()).sum();
        assert!((sum - number(record, "reads_modelled_us")).abs() <= 1e-9 * sum, "{record}");
    }
    Ok(())
}

#[test]
fn every_kind_of_node_helps_or_does_no_harm() -> TestResult {
    let context = Context { key_sets: strings(&["uniform", "step"]), ..small() };
    for record in run("airindex/builders", &context)? {
        assert!(number(&record, "ratio_to_all") > 0.998, "{record}");
    }
    Ok(())
}

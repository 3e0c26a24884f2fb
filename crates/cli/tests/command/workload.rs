//! The lookups that an index is designed for: their objective, openings, keys, memory, and the assessment of a table.
//! Method: small tables and files of keys; the designs that `tune` prints, the tables that `build` writes, and what
//! wrong input is answered with.

use super::run::{Folder, sosd, uneven_keys};
use serde_json::Value;

/// A folder with keys and with some of them, one on a line.
fn folder() -> Folder {
    let folder = Folder::new();
    let keys = uneven_keys(50_000);
    folder.write("keys.u64", sosd(&keys));
    let asked = (0..4_000_usize).map(|index| format!("{}\n", keys[index * index % 1_000 * 7]));
    folder.write("asked.txt", asked.collect::<String>());
    folder
}

fn objective_us(design: &Value) -> f64 {
    design["objective_us"].as_f64().unwrap()
}

/// The designs that `tune` compares, as JSON; the tuned one must cost least.
fn tune(folder: &Folder, flags: &[&str]) -> Value {
    let report = folder.run(&[&["tune", "keys.u64", "--json"], flags].concat()).exits_with(0).json();
    let designs = report["designs"].as_array().unwrap();
    assert_eq!(designs[0]["design"], "tuned");
    let least_us = objective_us(&designs[0]);
    assert!(designs.iter().all(|design| objective_us(design) >= least_us * (1.0 - 1e-9)), "{flags:?}: {report}");
    report
}

#[test]
fn designs_are_compared_by_the_objective() {
    let folder = folder();
    let mean = tune(&folder, &["--for", "ssd"]);
    assert_eq!((&mean["objective"], &mean["lookups_per_opening"]), (&Value::from("mean"), &Value::from(1)));
    assert!(mean["designs"][0]["objective"].is_null(), "{mean}");
    assert_eq!(mean["designs"][0]["objective_us"], mean["designs"][0]["modelled_us"]);
    let tail = tune(&folder, &["--for", "ssd", "--objective", "p99.9"]);
    assert_eq!(tail["objective"], "p99.9");
    assert_eq!(tail["designs"][0]["objective"]["objective"], "p99.9");
    // The stated objective is computed before the property that states it lengthens the opening read.
    assert!(objective_us(&tail["designs"][0]) >= 0.99 * objective_us(&mean["designs"][0]), "{tail}");
    let text = folder.run(&["tune", "keys.u64", "--for", "s3", "--objective", "p99"]).exits_with(0).stdout;
    assert!(text.contains("p99 of a modelled cold lookup on s3"), "{text}");
    for wrong in ["p100", "p0", "p", "99", "fast", "p-3"] {
        let run = folder.run(&["tune", "keys.u64", "--objective", wrong]).exits_with(2);
        run.complains_of("give ");
    }
}

#[test]
fn an_open_table_pays_for_no_opening_and_a_shared_one_for_its_part() {
    let folder = folder();
    let tuned_us = |flags: &[&str]| objective_us(&tune(&folder, &[&["--for", "ssd"], flags].concat())["designs"][0]);
    let costs = [tuned_us(&["--open"]), tuned_us(&["--open=1000"]), tuned_us(&["--open=2"]), tuned_us(&[])];
    assert!(costs.is_sorted_by(|less, more| less < more), "{costs:?}");
    // One read of the smallest block: 250 us, and 512 B at 175 MB/s.
    assert!((costs[0] - 252.926).abs() < 0.01, "{costs:?}");
    assert_eq!(tuned_us(&["--open=1"]), costs[3]);
    assert!(tune(&folder, &["--open"])["lookups_per_opening"].is_null());
    assert_eq!(tune(&folder, &["--open=7"])["lookups_per_opening"], 7);
    let text = folder.run(&["tune", "--open", "keys.u64"]).exits_with(0).stdout;
    assert!(text.contains("modelled lookup in an open table on nvme"), "{text}");
    for wrong in ["--open=0", "--open=-1", "--open=often"] {
        folder.run(&["tune", "keys.u64", wrong]).exits_with(2).complains_of("--open");
    }
    folder.run(&["tune", "keys.u64", "--open", "--html", "page.html"]).exits_with(2).complains_of("cold lookups");
    assert_eq!(folder.names(), ["asked.txt", "keys.u64"]);
}

#[test]
fn tables_for_known_lookups_answer_as_others_do() {
    let folder = folder();
    tune(&folder, &["--lookups", "asked.txt"]);
    tune(&folder, &["--for", "optane", "--lookups", "asked.txt", "--objective", "p95", "--open=10"]);
    tune(&folder, &["--lookups", "asked.txt", "--open", "--reader-memory", "128KiB"]);
    folder.build("keys.u64", "plain.ogive", &[]);
    let flags = ["--lookups", "asked.txt", "--objective", "p99", "--open=100", "--reader-memory", "100k"];
    folder.build("keys.u64", "tuned.ogive", &flags);
    folder.build("keys.u64", "beside.ogive", &["--external", "--lookups", "asked.txt"]);
    for table in ["tuned.ogive", "beside.ogive"] {
        folder.run(&["verify", table]).exits_with(0);
        let scan = folder.run(&["scan", table]).exits_with(0).stdout;
        assert!(scan == folder.run(&["scan", "plain.ogive"]).stdout, "{table}");
    }
    let report = folder.run(&["explain", "tuned.ogive", "--json"]).exits_with(0).json();
    assert_eq!(report["objective"]["objective"], "p99");
    assert_eq!(report["objective"]["opening_hit_rate"], 0.99);
    assert!(folder.run(&["explain", "plain.ogive", "--json"]).json()["objective"].is_null());
    let run =
        folder.run_piped("asked.txt", &["build", "keys.u64", "-o", "piped.ogive", "--lookups", "-"]).exits_with(0);
    assert!(run.stdout.contains("50,000 records"), "{}", run.stdout);
}

#[test]
fn keys_that_cannot_be_looked_up_are_refused_with_their_line() {
    let folder = folder();
    folder.write("empty.txt", "");
    folder.write("words.txt", "1000\n2\nthree\n");
    folder.write("blank.txt", "1000\n\n");
    let before = folder.names();
    let refused = |file: &str, code: i32| {
        for verb in [&["tune", "keys.u64"][..], &["build", "keys.u64", "-o", "t.ogive"]] {
            folder.run(&[verb, &["--lookups", file]].concat()).exits_with(code).complains_of(file);
        }
        folder.run(&["build", "keys.u64", "-o", "t.ogive", "--lookups", file])
    };
    refused("missing.txt", 1).complains_of("cannot read");
    refused("empty.txt", 1).complains_of("contains no keys");
    refused("words.txt", 1).complains_of("'three' in line 3").complains_of("u64").complains_of("whole numbers");
    refused("blank.txt", 1).complains_of("'' in line 2");
    folder.run(&["tune", "keys.u64", "--reader-memory", "1MiB"]).exits_with(2).complains_of("--lookups");
    assert_eq!(folder.names(), before);
    let mut long = vec![b'7'; 1 << 20];
    long.push(b'\n');
    folder.write("long.txt", long);
    refused("long.txt", 1).complains_of("line 1 of");
}

#[test]
fn lookups_of_text_are_told_to_change_nothing() {
    let folder = Folder::new();
    let words: String = (0..3_000).map(|number| format!("word-{number:05}\n")).collect();
    folder.write("words.txt", &words);
    folder.build("words.txt", "t.ogive", &["--lookups", "words.txt"]).complains_of("changes nothing");
    folder.run(&["tune", "words.txt", "--objective", "p99", "--open", "--json"]).exits_with(0);
    folder.build("words.txt", "t.ogive", &[]).keeps_quiet_about("--lookups");
}

#[test]
fn an_assessment_says_what_a_new_search_could_gain_and_writes_nothing() {
    let folder = folder();
    folder.build("keys.u64", "btree.ogive", &["--design", "btree", "--for", "ssd"]);
    folder.build("keys.u64", "tuned.ogive", &["--for", "ssd"]);
    folder.build("keys.u64", "none.ogive", &["--design", "none"]);
    let before: Vec<Vec<u8>> = folder.names().iter().map(|name| std::fs::read(folder.path(name)).unwrap()).collect();
    let assess = |table: &str, flags: &[&str]| {
        folder.run(&[&["tune", table, "--assess", "--for", "ssd", "--json"], flags].concat()).exits_with(0).json()
    };
    let current_us = |report: &Value| report["current_us"].as_f64().unwrap();
    for flags in [&[][..], &["--open"], &["--open=20"], &["--lookups", "asked.txt"]] {
        let [tuned, btree, none] = ["tuned.ogive", "btree.ogive", "none.ogive"].map(|table| assess(table, flags));
        assert!(current_us(&tuned) <= current_us(&btree), "{flags:?}: {tuned} {btree}");
        assert!(current_us(&tuned) < current_us(&none) && none["worth_tuning"] == true, "{flags:?}: {tuned} {none}");
        // No table beats what a search could find at best.
        let gain = 1.0 - current_us(&tuned) / current_us(&btree);
        assert!(gain <= btree["gain_max"].as_f64().unwrap() + 1e-9, "{flags:?}: {btree}");
    }
    let explained = folder.run(&["explain", "btree.ogive", "--json"]).json()["modelled_us"]["ssd"].as_f64().unwrap();
    assert!((current_us(&assess("btree.ogive", &[])) - explained).abs() < 0.01);
    let asked = ["--lookups", "asked.txt", "--objective", "p99"];
    assert!(current_us(&assess("tuned.ogive", &asked)) > 250.0);
    // The blocks of all keys that are asked for fit a cache of 8 MiB.
    let cached = [&asked[..], &["--open", "--reader-memory", "8MiB"]].concat();
    assert_eq!(current_us(&assess("tuned.ogive", &cached)), 0.0);
    let text = folder.run(&["build", "keys.u64", "-o", "none.ogive", "--for", "ssd", "--assess"]).exits_with(0).stdout;
    assert!(text.contains("at most") && text.contains("worth it"), "{text}");
    let after: Vec<Vec<u8>> = folder.names().iter().map(|name| std::fs::read(folder.path(name)).unwrap()).collect();
    assert!(before == after);
}

#[test]
fn only_tables_are_assessed() {
    let folder = folder();
    folder.build("keys.u64", "t.ogive", &[]);
    folder.run(&["tune", "keys.u64", "--assess"]).exits_with(1).complains_of("is not a table");
    folder.run(&["tune", "gone.ogive", "--assess"]).exits_with(1).complains_of("gone.ogive");
    folder.run(&["build", "keys.u64", "-o", "new.ogive", "--assess"]).exits_with(1).complains_of("new.ogive");
    folder.run(&["tune", "t.ogive", "--assess", "--objective", "p99"]).exits_with(2).complains_of("--lookups FILE");
    for flags in [&["--html", "page.html"][..], &["--design", "btree"], &["--block-size", "512"]] {
        folder.run(&[&["tune", "t.ogive", "--assess"], flags].concat()).exits_with(2).complains_of("--assess");
    }
    folder.write("words.txt", "apple\n");
    let run = folder.run(&["tune", "t.ogive", "--assess", "--lookups", "words.txt"]).exits_with(1);
    run.complains_of("'apple' in line 1 of words.txt");
}

//! Lookups of many keys by `ogive get`. Goal: they print what one lookup for each key prints, in few rounds of reads,
//! and no answer waits for keys that have yet to come. Method: generated lists of keys on places of all kinds, a server
//! that counts rounds, and programs that wait for each answer.

#[cfg(feature = "object-store")]
use super::http::FileServer;
use super::run::{Folder, Run};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A time in which any answer comes on a machine that does other work.
const LONG: Duration = Duration::from_secs(60);

/// Bytes of a long value: more than a block has.
const LONG_BYTES: usize = 20_000;

/// Records with even keys from 0 on, each with a number as its value, or with a long one.
fn rows(count: u64, is_long: bool) -> String {
    let width = if is_long { LONG_BYTES } else { 0 };
    let mut text = "id,name\n".to_owned();
    (0..count).for_each(|i| writeln!(text, "{},{i:0width$}", i * 2).unwrap());
    text
}

/// Places of all kinds with records of even keys below 800; those named `twice` have two records of each key.
fn places() -> (Folder, Vec<&'static str>) {
    let folder = Folder::new();
    folder.write("rows.csv", rows(400, false));
    folder.write("long.csv", rows(60, true));
    let twice: String = (0..400_u64).flat_map(|i| [format!("{},a{i}\n", i * 2), format!("{},b{i}\n", i * 2)]).collect();
    folder.write("twice.csv", format!("id,name\n{twice}"));
    let typed = ["--key", "id", "--key-type", "u64"];
    for name in ["rows", "long", "twice"] {
        let small_blocks = [&typed[..], &["--block-size", "512"]].concat();
        folder.build(&format!("{name}.csv"), &format!("{name}.ogive"), &small_blocks);
        if name != "twice" {
            folder.run(&[&["db", "import", &format!("{name}.db"), &format!("{name}.csv")], &typed[..]].concat());
        }
    }
    for (name, flags) in [("rows", &[][..]), ("twice", &["--duplicates"])] {
        let index = format!("{name}.ogx");
        let create = ["index", "create", &index, "--value-type", "{name: text}", "--value-bytes", "8"];
        folder.run(&[&create[..], flags].concat()).exits_with(0);
        let load = ["index", "load", &index, &format!("{name}.csv"), "--key", "id", "--value", "name"];
        folder.run(&load).exits_with(0);
    }
    let mut places = vec!["rows.ogive", "long.ogive", "twice.ogive", "rows.db", "long.db", "rows.ogx", "twice.ogx"];
    if cfg!(feature = "parquet") {
        for (name, key) in [("rows", "id"), ("twice", "id"), ("rows", "name")] {
            let (table, data, index) =
                (format!("{name}.ogive"), format!("{name}.parquet"), format!("{name}-{key}.idx"));
            if !folder.path(&data).exists() {
                folder.run(&["export", &table, &data]).exits_with(0);
            }
            folder.run(&["build", &data, "--external", "--key", key, "-o", &index]).exits_with(0);
        }
        places.extend(["rows-id.idx", "twice-id.idx", "rows-name.idx"]);
    }
    (folder, places)
}

/// Keys that are there, that are not, and that come several times, in no order.
const KEYS: [&str; 9] = ["40", "7", "798", "0", "40", "900", "118", "2", "4"];

/// What the keys print, one by one.
fn one_by_one(folder: &Folder, place: &str, flags: &[&str]) -> (String, String, i32) {
    let (mut stdout, mut stderr, mut code) = (String::new(), String::new(), 0);
    let is_text = !flags.contains(&"--json");
    for key in KEYS {
        let output = folder.command(&[&["get", place, key], flags].concat()).output().unwrap();
        let (printed, told) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        if is_text && place.ends_with(".idx") {
            let header = printed.lines().next().unwrap_or_default();
            if stdout.is_empty() && !header.is_empty() {
                writeln!(stdout, "{header}").unwrap();
            }
            printed.lines().skip(1).for_each(|line| writeln!(stdout, "{line}").unwrap());
        } else if is_text {
            printed.lines().for_each(|line| writeln!(stdout, "{key}\t{line}").unwrap());
        } else {
            stdout.push_str(&printed);
        }
        // That there are more records is told of a single key.
        told.lines().filter(|line| line.ends_with(": not found")).for_each(|line| writeln!(stderr, "{line}").unwrap());
        code = code.max(output.status.code().unwrap());
    }
    (stdout, stderr, code)
}

#[test]
fn many_keys_print_what_each_prints_by_itself_in_their_order() {
    let (folder, places) = places();
    folder.write("keys.txt", KEYS.join("\n"));
    for place in places {
        for flags in [&[][..], &["--all"], &["--json"], &["--json", "--all"]] {
            let (stdout, stderr, code) = one_by_one(&folder, place, flags);
            assert!(stdout.lines().count() >= 5 && code == 1, "{place} {flags:?}: {stdout}");
            // In a small memory, there is room for few values. A store is refused less.
            let small = if place.ends_with(".db") { "4MiB" } else { "64KiB" };
            for memory in [&[][..], &["--memory", small]] {
                let flags = [flags, memory].concat();
                let run = folder.run(&[&["get", place], &KEYS[..], &flags].concat()).exits_with(code).prints(&stdout);
                assert_eq!(run.stderr, stderr, "{place} {flags:?}");
                let run = folder.run_piped("keys.txt", &[&["get", place, "-"], &flags[..]].concat());
                assert_eq!(run.exits_with(code).prints(&stdout).stderr, stderr, "{place} {flags:?}");
            }
        }
    }
}

#[test]
fn more_keys_than_a_wave_has_are_answered_in_their_order() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(5_000, false));
    folder.build("rows.csv", "t", &["--key-type", "u64"]);
    folder.run(&["db", "import", "s", "rows.csv", "--key-type", "u64", "--key", "id"]).exits_with(0);
    folder.run(&["index", "create", "i", "--value-type", "{name: text}", "--value-bytes", "8"]).exits_with(0);
    folder.run(&["index", "load", "i", "rows.csv", "--key", "id", "--value", "name"]).exits_with(0);
    let keys: Vec<u64> = (0..9_999_u64).map(|i| i * 7_919 % 11_000).collect();
    folder.write("keys.txt", keys.iter().map(|key| format!("{key}\r\n")).collect::<String>());
    let is_there = |key: &&u64| **key < 10_000 && key.is_multiple_of(2);
    let found: String = keys.iter().filter(is_there).map(|key| format!("{key}\t{}\n", key / 2)).collect();
    let absent: String = keys.iter().filter(|key| !is_there(key)).map(|key| format!("{key}: not found\n")).collect();
    for place in ["t", "s", "i"] {
        for memory in ["4MiB", "256MiB"] {
            let run = folder.run_piped("keys.txt", &["get", place, "-", "--memory", memory]);
            assert_eq!(run.exits_with(1).prints(&found).stderr, absent, "{place} in {memory}");
        }
    }
    // A file that is no pipe, twice, and among other keys: as arguments stand.
    folder.write("few.txt", "2\n4");
    let mut command = folder.command(&["get", "t", "0", "-", "6", "-"]);
    command.stdin(std::fs::File::open(folder.path("few.txt")).unwrap());
    let twice = if cfg!(target_os = "linux") { "0\t0\n2\t1\n4\t2\n6\t3\n2\t1\n4\t2\n" } else { "" };
    let run = Run::new(&["get"], command.output().unwrap()).exits_with(0);
    assert!(twice.is_empty() || run.stdout == twice, "{}", run.stdout);
    assert_eq!(folder.run_piped("few.txt", &["get", "t", "0", "-", "6", "-"]).stdout, "0\t0\n2\t1\n4\t2\n6\t3\n");
}

#[test]
fn keys_before_one_that_is_no_key_are_answered_before_the_error() {
    let (folder, places) = places();
    folder.write("keys.txt", "2\n7\n4\n\n6\n");
    for place in places.into_iter().filter(|place| !place.contains("-name")) {
        let of = |keys: &[&str]| folder.run(&[&["get", place], keys].concat()).stdout;
        let before = of(&["2", "7", "4"]);
        assert!(before.lines().count() >= 2, "{before}");
        let run = folder.run(&["get", place, "2", "7", "4", "x", "6"]).exits_with(2);
        run.prints(&before).complains_of("7: not found").complains_of("'x'");
        // Of the keys of standard input, those behind it are answered, too.
        let run = folder.run_piped("keys.txt", &["get", place, "-"]).exits_with(2).prints(&of(&["2", "7", "4", "6"]));
        let run = run.complains_of("7: not found").complains_of("line 4 of standard input: ''");
        run.complains_of("standard input has 1 line without a key; all others are answered");
    }
}

#[test]
fn keys_before_one_that_cannot_be_read_are_answered_before_the_error() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(3_000, false));
    let table = folder.path("t");
    folder.build("rows.csv", "t", &["--key-type", "u64", "--block-size", "512", "--no-coding"]);
    let keys: Vec<String> = (0..60).map(|i| (i * 100).to_string()).collect();
    let get: Vec<&str> = ["get", "t"].into_iter().chain(keys.iter().map(String::as_str)).collect();
    let sound = folder.run(&get).exits_with(0).stdout;
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[20_000] ^= 0xff;
    std::fs::write(&table, bytes).unwrap();
    let run = folder.run(&get).exits_with(1).complains_of("t").complains_of("damaged");
    let lines = run.stdout.lines().count();
    assert!(sound.starts_with(&run.stdout) && (5..55).contains(&lines), "{lines} lines");
    // The first that is not answered is the one that fails by itself.
    folder.run(&["get", "t", &keys[lines]]).exits_with(1).complains_of("damaged");
}

/// A command that reads keys from a pipe which stays open.
struct Conversation {
    child: Child,
    keys: ChildStdin,
    answers: Receiver<String>,
}

impl Conversation {
    fn begin(folder: &Folder, arguments: &[&str]) -> Self {
        let mut command = folder.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (keys, stdout): (_, ChildStdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, answers }
    }

    fn says(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    #[track_caller]
    fn hears(&self, expected: &str) {
        assert_eq!(self.answers.recv_timeout(LONG).as_deref(), Ok(expected));
    }
}

#[test]
fn an_answer_does_not_wait_for_further_keys() {
    let (folder, places) = places();
    for place in places.into_iter().filter(|place| place.starts_with("rows") && !place.contains("-name")) {
        let separator = if place.ends_with(".idx") { ',' } else { '\t' };
        let mut talk = Conversation::begin(&folder, &["get", place, "8", "-"]);
        if separator == ',' {
            talk.hears("id,name");
        }
        talk.hears(&format!("8{separator}4"));
        talk.says("2\n");
        talk.hears(&format!("2{separator}1"));
        // A line that has begun is no key yet.
        talk.says("7\n6\n40");
        talk.hears(&format!("6{separator}3"));
        talk.says("0\n");
        talk.hears(&format!("400{separator}200"));
        let Conversation { mut child, keys, .. } = talk;
        drop(keys);
        assert_eq!(child.wait().unwrap().code(), Some(1), "{place}");
    }
}

#[cfg(unix)]
#[test]
fn a_command_that_waits_for_keys_ends_by_a_signal() {
    let (folder, _) = places();
    let mut talk = Conversation::begin(&folder, &["get", "rows.ogive", "-"]);
    talk.says("2\n");
    talk.hears("2\t1");
    let kill = std::process::Command::new("kill").args(["-TERM", &talk.child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let ended = talk.child.wait().unwrap();
    assert!(!ended.success());
}

#[cfg(feature = "object-store")]
#[test]
fn many_keys_by_url_take_a_round_for_each_layer_and_one_for_the_data() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(300_000, false));
    for design in ["layers=1,builder=gband,lambda=4096", "layers=2,builder=gband,lambda=4096"] {
        let flags = ["--key-type", "u64", "--for", "s3", "--design", design, "--force", "--no-coding"];
        folder.build("rows.csv", "t", &flags);
        let layers = folder.run(&["explain", "t", "--json"]).json()["layers"].as_array().unwrap().len();
        let server = FileServer::of(std::fs::read(folder.path("t")).unwrap());
        let url = server.url();
        folder.run(&["get", &url, "4"]).exits_with(0).prints("2\n");
        let (opening_and_one, _) = server.take_counts();
        // Of 100 keys, about one in a hundred is not there.
        let keys: Vec<String> = (0..100_u64).map(|i| ((i * 7_919_993 % 250_000) * 2 + i / 99).to_string()).collect();
        let get = |flags: &[&str]| {
            let words = ["get", &url].into_iter().chain(keys.iter().map(String::as_str)).chain(flags.iter().copied());
            folder.run(&words.collect::<Vec<_>>()).exits_with(1)
        };
        for flags in [&[][..], &["--json"], &["--all"]] {
            let run = get(flags);
            assert_eq!(run.stdout.lines().count(), if flags.contains(&"--json") { 100 } else { 99 });
            let (rounds, requests) = server.take_counts();
            // One opens the table.
            assert!(
                rounds <= 1 + (layers - 1) + 1,
                "{rounds} rounds of {requests} requests, {layers} layers {flags:?}"
            );
            assert!(rounds <= opening_and_one && requests > 5, "{rounds} rounds of {requests} requests");
            println!("{layers} layers {flags:?}: {rounds} rounds of {requests} requests, with the opening");
        }
        let traced = get(&["--explain"]).stdout;
        assert!(traced.contains("data") && traced.contains(" reads, "), "{traced}");
        let answers = get(&["--explain", "--json"]).json_lines();
        assert!(answers.iter().all(|answer| !answer["reads"].as_array().unwrap().is_empty()));
    }
}

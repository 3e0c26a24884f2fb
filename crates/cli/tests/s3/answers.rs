//! Wrong answers about the data of an index beside Parquet files. Goal: one that is not of the file that was indexed is
//! asked for again, and then told as that; a file that has changed is told as changed. Method: a proxy before the
//! server, which spoils the answers to some requests.

use super::proxy::{Answer, Proxy};
use super::server::{BUCKET, Place};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    OtherTag,
    /// The object seems to be shorter.
    Shorter,
    /// As [`Self::Shorter`], by a line of five bytes.
    Line,
    /// There is no such object.
    Denied,
}

impl Fault {
    const ALL: [Self; 3] = [Self::OtherTag, Self::Shorter, Self::Denied];

    fn spoil(self, answer: &mut Answer) {
        match self {
            Self::OtherTag => answer.set_header("ETag", "\"0123456789abcdef0123456789abcdef\""),
            Self::Shorter => answer.cut(7),
            Self::Line => answer.cut("2,tw\n".len()),
            Self::Denied => {
                "HTTP/1.1 404 Not Found\r\nContent-Type: text/xml".clone_into(&mut answer.head);
                answer.body = b"<Error><Code>NoSuchKey</Code></Error>".to_vec();
            }
        }
    }
}

/// The faults of the next answers to GETs of one object.
#[derive(Clone, Debug, Default)]
struct Faults(Arc<Mutex<VecDeque<Option<Fault>>>>);

impl Faults {
    fn proxy(&self, place: &Place, object: &str) -> Proxy {
        let (faults, line) = (self.clone(), format!("GET /{BUCKET}/{object} "));
        Proxy::before(&place.server, move |request, answer| {
            if request.starts_with(&line) && answer.head.contains(" 20") {
                let fault = faults.0.lock().unwrap().pop_front().flatten();
                fault.into_iter().for_each(|fault| fault.spoil(answer));
            }
        })
    }

    /// Spoils the answer behind this many, and this many in all.
    fn set(&self, fault: Fault, behind: usize, count: usize) {
        let sound = std::iter::repeat_n(None, behind);
        *self.0.lock().unwrap() = sound.chain(std::iter::repeat_n(Some(fault), count)).collect();
    }

    /// Whether all of them have been met, and no more from now on.
    fn end(&self) -> bool {
        let mut faults = self.0.lock().unwrap();
        let is_met = faults.is_empty();
        faults.clear();
        is_met
    }
}

/// A Parquet file that is longer than an opening read, and the number of its rows.
fn data(place: &Place, name: &str) -> u64 {
    let rows: String =
        (0..60_000_u64).map(|i| format!("{i},{:016x}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    place.write("rows.csv", format!("id,v\n{rows}"));
    place.prints(&["build", "rows.csv", "-o", "rows.ogive", "--force"]);
    place.prints(&["export", "rows.ogive", name, "--force"]);
    60_000
}

#[test]
fn answers_about_parquet_files_that_cannot_be_right_are_asked_for_again_and_then_told() {
    let Some(place) = Place::new() else { return };
    let (name, index) = (format!("s3://{BUCKET}/spoiled/rows.parquet"), format!("s3://{BUCKET}/spoiled/rows.idx"));
    data(&place, &name);
    place.prints(&["build", &name, "--external", "--key", "id", "-o", &index]);
    let faults = Faults::default();
    let proxy = faults.proxy(&place, "spoiled/rows.parquet");
    let spoiled = |words: &[&str]| place.run_at(&proxy.endpoint(), words);
    for fault in Fault::ALL {
        for (words, found) in [(&["get", &index, "4711"][..], "4711"), (&["verify", &index], "sound")] {
            let mut behind = 0;
            loop {
                faults.set(fault, behind, 1);
                let run = spoiled(words);
                assert!(run.code == Some(0) && run.stdout.contains(found), "{fault:?} behind {behind}: {run:?}");
                behind += 1;
                if !faults.end() {
                    break;
                }
            }
            faults.set(fault, 0, 1000);
            let run = spoiled(words);
            run.complains_of(&["spoiled/rows.parquet", "answer"]);
            let is_told =
                ["modified", "has changed", "is gone", "damaged"].iter().all(|word| !run.stderr.contains(word));
            assert!(is_told && !run.stdout.contains("rows.parquet"), "{fault:?}: {run:?}");
            faults.end();
        }
    }
}

#[test]
fn an_index_is_built_and_updated_by_answers_that_are_right() {
    let Some(place) = Place::new() else { return };
    let (name, index) = (format!("s3://{BUCKET}/built/rows.parquet"), format!("s3://{BUCKET}/built/rows.idx"));
    data(&place, &name);
    let faults = Faults::default();
    let proxy = faults.proxy(&place, "built/rows.parquet");
    let build = ["build", &name, "--external", "--key", "id", "-o", &index, "--force"];
    let update = ["build", &name, "--external", "--update", "-o", &index];
    let accept = ["verify", &index, "--accept"];
    for fault in Fault::ALL {
        for (words, met) in [(&build[..], 3), (&update[..], 2), (&accept[..], 2)] {
            for behind in 0..met {
                faults.set(fault, behind, 1);
                let run = place.run_at(&proxy.endpoint(), words);
                assert_eq!(run.code, Some(0), "{fault:?} behind {behind}: {run:?}");
                assert!(behind > 0 || faults.end(), "{fault:?}: {words:?} reads the file");
                faults.end();
                let row = place.run(&["get", &index, "4711"]);
                assert!(
                    row.code == Some(0) && row.stdout.contains("4711"),
                    "{fault:?} behind {behind}: {words:?}: {row:?}"
                );
            }
        }
        faults.set(fault, 0, 1000);
        let run = place.run_at(&proxy.endpoint(), &build);
        run.complains_of(&["built/rows.parquet"]);
        assert!(["modified", "changed", "damaged"].iter().all(|word| !run.stderr.contains(word)), "{fault:?}: {run:?}");
        faults.end();
    }
}

/// Of lines of text, nothing else tells that some are missing.
#[test]
fn an_input_that_is_cut_between_two_lines_is_asked_for_again_and_then_told() {
    let Some(place) = Place::new() else { return };
    place.server.put("cut/rows.csv", "id,name\n1,one\n2,tw\n");
    let (name, faults) = (format!("s3://{BUCKET}/cut/rows.csv"), Faults::default());
    let proxy = faults.proxy(&place, "cut/rows.csv");
    let build = ["build", &name, "-o", "rows.ogive", "--force"];
    for behind in 0..2 {
        faults.set(Fault::Line, behind, 1);
        let run = place.run_at(&proxy.endpoint(), &build);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(place.prints(&["count", "rows.ogive"]).trim(), "2");
    }
    faults.set(Fault::Line, 0, 1000);
    place.run_at(&proxy.endpoint(), &build).complains_of(&["cut/rows.csv", "answer"]);
}

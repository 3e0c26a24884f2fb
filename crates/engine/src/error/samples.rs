//! An error of every kind with every advice, for the tests of each interface.

use super::{Advice, Call, Error, Setting, StoreFailure, VALUE_BYTES_MAX};
use std::io;

/// Words of the library, the command and Python that no other interface may use.
const WORDS: [(&str, &[&str]); 3] = [
    ("library", &["::", "_bytes", "`resume`", "`rebuild`", "value_reader", "`append`", "`create`"]),
    ("command", &["--", "`ogive "]),
    ("python", &["ogive.", "=True", "=False", "memory=", "key="]),
];

/// An error of each constructor, and one with each advice.
#[doc(hidden)]
pub fn samples() -> Vec<Error> {
    let io = |kind: io::ErrorKind| Error::io("read", "f", kind.into());
    let failure = Error::memory("s", 2, 1, Setting::StoreMemory);
    let mut samples = vec![
        io(io::ErrorKind::NotFound),
        io(io::ErrorKind::PermissionDenied),
        io(io::ErrorKind::TimedOut),
        Error::damaged("f", 7, "a checksum does not hold"),
        Error::input("blocks of 3 bytes are too small"),
        Error::interrupted(),
        Error::clock_ahead("s", "2024-01-01T00:00:00", "2124-01-01T00:00:00"),
        Error::clock_behind("s", "2124-01-01T00:00:00", "2024-01-01T00:00:00"),
        Error::unsupported("s3://b/f", "append to", "objects are written as a whole"),
        Error::locked("f", true),
        Error::locked("f", false),
        Error::locked_by("f", 4711),
        Error::poisoned("f"),
        Error::gone("s"),
        Error::wrong_answer("s3://b/f", "it is shorter than listed"),
        Error::object_changed("s3://b/f", "its version differs"),
        Error::changes_gone("s", 7),
        Error::no_subscriber("s", "search"),
        Error::unknown_scheme("x://b/f", "there is no such scheme"),
        Error::not_repairable("f", "its tail is lost"),
        Error::not_a_table("f", "it is empty"),
        Error::not_an_index("f", "it is empty"),
        Error::not_a_store("s", "it contains no manifest"),
        Error::other_names("f", "a link leads to it"),
        Error::log_full("f", 2, 1, "a snapshot"),
        Error::snapshot_gone("f"),
        Error::version("f", 0, 1),
        Error::version("f", 9, 1),
        Error::not_records("f", "its length is odd"),
        Error::unsorted("f", 1),
        Error::repeated("f", 1),
        Error::not_empty("f"),
        Error::key_length("f", 9, "its keys have 8 bytes"),
        Error::value_too_large("f", 2, 1),
        Error::value_too_large("f", VALUE_BYTES_MAX + 1, VALUE_BYTES_MAX),
        Error::memory("f", 2, 1, Setting::TableMemory),
        Error::join_memory("a row is long", 2, 1),
        Error::bug("f", "a count is wrong"),
        Error::changed("f", "its length differs"),
        Error::unregistered_kind("f", 9, Some("alex")),
        Error::unregistered_kind("f", 99, None),
        Error::unregistered_method("hash"),
        Error::unregistered_policy("bourbon"),
        Error::design_of_papers("rmi"),
        Error::wrong_type("f", "u64 -> u64, not u32 -> u32"),
        Error::wrong_record_type("s", "users", ["u64 -> text", "u32 -> text"], 1),
        Error::wrong_table_type("f", "u64 -> text", "u32 -> text"),
        Error::aborted("f"),
        Error::opened_read_only("s"),
        Error::stopped("s", &StoreFailure::from(&failure)),
        Error::stopped("s", &StoreFailure::from("the disk is full")),
        Error::fenced("s", true),
        Error::version_gone("s"),
        Error::conflict("s", "users", "it was dropped since the transaction began"),
        Error::conflict_of_key("s", "users", b"ann"),
        Error::other_value("s", "users", b"ann"),
        io(io::ErrorKind::TimedOut).of_unknown_outcome(),
        Error::not_unique("s", ("users", "by_email"), (b"2", b"1"), "the row 2 has the values of the row 1"),
        Error::closed("s"),
        Error::file_replaced("f", "another file has its name"),
        Error::keyspace_dropped("s", "users"),
    ];
    samples.extend(all_advice().map(|advice| Error::input("it fails").advise(advice)));
    samples
}

fn all_advice() -> impl Iterator<Item = Advice> {
    let raise = Setting::ALL.iter().flat_map(|&option| [None, Some(2)].map(|to| Advice::Raise { option, to }));
    let calls = Call::ALL.iter().map(|&call| Advice::Use(call));
    [Advice::Look("f".into()), Advice::Again].into_iter().chain(raise).chain(calls)
}

/// The words of other interfaces in a text of this one: "library", "command", "python" or "sql".
#[doc(hidden)]
pub fn words_of_others(interface: &str, text: &str) -> Vec<&'static str> {
    let others = WORDS.iter().filter(|(name, _)| *name != interface).flat_map(|(_, words)| words.iter());
    others.filter(|word| text.contains(**word)).copied().collect()
}

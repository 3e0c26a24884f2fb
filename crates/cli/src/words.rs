//! Messages of the engine in terms of the command: its options instead of methods and fields of the library.

use ogive::Error;

/// What the engine advises a program to do, and the advice for the command line.
const WORDS: [(&str, &str); 15] = [
    ("sort the input, or use the sorting writer", "sort the input first"),
    ("insert into it, or create a new index", "leave out --sorted, or create a new index"),
    ("drop old snapshots, or raise the limit of", "wait for those readers to finish; the limit of the log is"),
    ("`JoinOptions::memory_bytes`", "--memory"),
    ("`TableOptions::memory_bytes`", "--memory"),
    ("`DbOptions::memory_bytes`", "--memory"),
    ("`DbOptions::open_files`", "--open-files"),
    ("fix the cause, then call `resume`, or open the store again", "fix the cause, then run the command again"),
    (
        "check the path, or set `create` to create a store",
        "check the path; `ogive db put` and `ogive db import` create a store",
    ),
    ("read it as a stream with `value_reader`, or raise `memory_bytes`", "print it with --raw, or raise --memory"),
    ("open it with `Table::open`", "use `ogive get`, `ogive scan` and the other commands on tables"),
    ("open it with `Index::open`", "use `ogive index`"),
    ("open that index with `Index::open`", "use `ogive index` on that index"),
    ("open its folder with `Db::open`", "use `ogive db` on its folder"),
    ("remove its records with `remove_range(..)`", "remove its entries with `ogive db delete`"),
];

/// The message of an engine error, in terms of the command.
pub(crate) fn of_command(error: &Error) -> String {
    let mut message = error.to_string();
    for (programs, commands) in WORDS {
        if message.contains(programs) {
            message = message.replace(programs, commands);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors whose messages name methods or fields of the library.
    fn errors() -> [Error; 8] {
        let path = || "store".into();
        [
            Error::JoinMemoryShort { what: "a row is long".into(), needed_bytes: 2, given_bytes: 1 },
            Error::MemoryShort {
                path: path(),
                needed_bytes: 2,
                given_bytes: 1,
                option: "`TableOptions::memory_bytes`",
            },
            Error::MemoryShort { path: path(), needed_bytes: 2, given_bytes: 1, option: "`DbOptions::memory_bytes`" },
            Error::StoreReadOnly { path: path(), cause: "the disk is full".into() },
            Error::NotAStore {
                path: path(),
                detail: "it contains no manifest; check the path, or set `create` to create a store".into(),
            },
            Error::ValueTooLarge { path: path(), length: 2, limit: 1 },
            Error::Unsorted { path: path(), record: 1 },
            Error::NotEmpty { path: path() },
        ]
    }

    #[test]
    fn no_message_names_what_only_a_program_can_do() {
        for error in errors() {
            let message = of_command(&error);
            let is_plain = ["Options::", "resume", "value_reader", "set `create`", "writer", "insert into"]
                .iter()
                .all(|word| !message.contains(word));
            assert!(is_plain && message != error.to_string(), "{message}");
        }
    }
}

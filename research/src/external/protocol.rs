//! The messages: one JSON object per line in each direction.

use serde::{Deserialize, Serialize};

/// Version of the protocol that the hello of both sides states.
pub const PROTOCOL_VERSION: u64 = 1;

/// Longest line of a program, without its end. Batches are far below: a line that is longer is a runaway program.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// A request. Pairs are flat: a key, its value, the next key, ...
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// The first request: starts with an empty index.
    Hello {
        /// [`PROTOCOL_VERSION`].
        protocol: u64,
        /// Size of the blocks that the program counts, in bytes.
        block_bytes: u64,
    },
    /// Returns `numbers`, each `times` times, and does nothing else: what the pipe costs.
    Echo {
        /// Numbers such as a batch has.
        numbers: Vec<u64>,
        /// Numbers of the answer for each.
        times: u64,
    },
    /// Takes more pairs of the bulk load, in ascending order of keys, each key once.
    Load(Vec<u64>),
    /// Ends the bulk load: after it the index answers.
    Build {},
    /// Looks up keys.
    Get(Vec<u64>),
    /// Reads the first entries from each key on.
    Scan {
        /// Entries of each scan; fewer at the end of the index.
        entries: u64,
        /// Where the scans start.
        keys: Vec<u64>,
    },
    /// Inserts pairs in any order, as one commit.
    Insert(Vec<u64>),
    /// States the size of the index.
    Size {},
}

impl Request {
    /// The name in the messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Echo { .. } => "echo",
            Self::Load(_) => "load",
            Self::Build {} => "build",
            Self::Get(_) => "get",
            Self::Scan { .. } => "scan",
            Self::Insert(_) => "insert",
            Self::Size {} => "size",
        }
    }
}

/// A reply: the fields that its request asks for. Unknown fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// Why the request failed. The program is not asked anything more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Hello: the version of the program's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u64>,
    /// Hello: name of the structure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Hello: its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Hello: optional requests that the program answers, of `scan` and `insert`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// Get: the value of each key, or null. Echo: the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Option<u64>>>,
    /// Scan: the pairs of each scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scans: Option<Vec<Vec<u64>>>,
    /// Insert: number of entries by which the index grew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Size: number of entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Size: bytes of its files, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Size: bytes of memory that the index takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Nanoseconds that the program took for the work of the request, without the pipe and the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// Blocks that the request read, if the program counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_read: Option<u64>,
    /// Blocks that the request wrote, if the program counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_written: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_lines_of_the_documentation() -> serde_json::Result<()> {
        let page = include_str!("../../../docs/programs.md");
        for request in [
            Request::Hello { protocol: PROTOCOL_VERSION, block_bytes: 4096 },
            Request::Echo { numbers: vec![3, 8], times: 2 },
            Request::Load(vec![3, 4, 8, 9]),
            Request::Build {},
            Request::Get(vec![8, 5]),
            Request::Scan { entries: 100, keys: vec![3] },
            Request::Insert(vec![5, 6]),
            Request::Size {},
        ] {
            let line = serde_json::to_string(&request)?;
            assert!(page.contains(&format!("> {line}\n")), "{line}");
            assert!(line.contains(request.name()));
        }
        let replies: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("< ")).collect();
        assert_eq!(replies.len(), 8, "{replies:?}");
        for line in replies {
            let reply: Reply = serde_json::from_str(line)?;
            // A field that the page misnames would be lost.
            assert_eq!(serde_json::to_value(reply)?, serde_json::from_str::<serde_json::Value>(line)?, "{line}");
        }
        Ok(())
    }
}

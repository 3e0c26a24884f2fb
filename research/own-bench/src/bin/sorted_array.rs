//! A program as a subject of the bench: a sorted array of pairs, asked over standard input.
//!
//! It counts blocks as if the array were a file of blocks of the size that the bench gives: a binary search reads the
//! block of each pair that it compares, and an insert rewrites everything behind the first new pair.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use serde_json::{Value, json};

const PAIR_BYTES: usize = 16;

#[derive(Default)]
struct SortedArray {
    pairs: Vec<(u64, u64)>,
    pairs_a_block: usize,
    blocks_read: usize,
    blocks_written: usize,
}

fn main() -> io::Result<()> {
    let mut array = SortedArray::default();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let reply = match serde_json::from_str(&line?) {
            Ok(request) => array.reply(&request),
            Err(error) => json!({ "error": error.to_string() }),
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

impl SortedArray {
    /// The reply to a request, with the time of the work alone.
    fn reply(&mut self, request: &Value) -> Value {
        let Some((name, body)) = request.as_object().and_then(|fields| fields.iter().next()) else {
            return json!({ "error": "a request is an object with one field" });
        };
        let (plain, keys) = (numbers(body), numbers(&body["keys"]));
        (self.blocks_read, self.blocks_written) = (0, 0);
        let start = Instant::now();
        let mut reply = match name.as_str() {
            "hello" => return self.hello(body),
            "echo" => return echo(body),
            "load" => self.load(&plain),
            "build" => json!({}),
            "get" => {
                let values: Vec<Option<u64>> = plain.iter().map(|key| self.get(*key)).collect();
                json!({ "values": values })
            }
            "scan" => {
                let entries = body["entries"].as_u64().unwrap_or(0) as usize;
                let scans: Vec<Vec<u64>> = keys.iter().map(|key| self.scan(*key, entries)).collect();
                json!({ "scans": scans })
            }
            "insert" => self.insert(&plain),
            "size" => return self.size(),
            _ => return json!({ "error": format!("no request {name}") }),
        };
        reply["elapsed_ns"] = json!(start.elapsed().as_nanos() as u64);
        reply["blocks_read"] = json!(self.blocks_read);
        reply["blocks_written"] = json!(self.blocks_written);
        reply
    }

    fn hello(&mut self, body: &Value) -> Value {
        *self = Self::default();
        self.pairs_a_block = (body["block_bytes"].as_u64().unwrap_or(4096) as usize / PAIR_BYTES).max(1);
        json!({ "protocol": 1, "name": "sorted-array", "version": "1.0", "operations": ["scan", "insert"] })
    }

    fn load(&mut self, pairs: &[u64]) -> Value {
        self.pairs.extend(pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        json!({})
    }

    /// The place of the first pair whose key is not below `key`.
    fn place(&mut self, key: u64) -> usize {
        let mut blocks = BTreeSet::new();
        let (mut low, mut high) = (0, self.pairs.len());
        while low < high {
            let middle = (low + high) / 2;
            blocks.insert(middle / self.pairs_a_block);
            if self.pairs[middle].0 < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.blocks_read += blocks.len();
        low
    }

    fn get(&mut self, key: u64) -> Option<u64> {
        let place = self.place(key);
        self.pairs.get(place).filter(|pair| pair.0 == key).map(|pair| pair.1)
    }

    fn scan(&mut self, key: u64, entries: usize) -> Vec<u64> {
        let place = self.place(key);
        let end = self.pairs.len().min(place + entries);
        // The block of the place is among those of the search.
        self.blocks_read += (end.saturating_sub(1) / self.pairs_a_block).saturating_sub(place / self.pairs_a_block);
        self.pairs[place..end].iter().flat_map(|pair| [pair.0, pair.1]).collect()
    }

    /// Merges new pairs into the array.
    fn insert(&mut self, pairs: &[u64]) -> Value {
        let former = self.pairs.len();
        self.pairs.extend(pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        let least = self.pairs[former..].iter().map(|pair| pair.0).min().unwrap_or(u64::MAX);
        let first = self.pairs[..former].partition_point(|pair| pair.0 < least) / self.pairs_a_block;
        self.pairs.sort_by_key(|pair| pair.0);
        self.pairs.dedup_by_key(|pair| pair.0);
        self.blocks_read += former.div_ceil(self.pairs_a_block).saturating_sub(first);
        self.blocks_written += self.pairs.len().div_ceil(self.pairs_a_block) - first;
        json!({ "added": self.pairs.len() - former })
    }

    fn size(&self) -> Value {
        let file_bytes = self.pairs.len().div_ceil(self.pairs_a_block) * self.pairs_a_block * PAIR_BYTES;
        json!({
            "entries": self.pairs.len(),
            "file_bytes": file_bytes,
            "memory_bytes": self.pairs.capacity() * PAIR_BYTES,
        })
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

fn echo(body: &Value) -> Value {
    let times = body["times"].as_u64().unwrap_or(0) as usize;
    let values: Vec<u64> =
        numbers(&body["numbers"]).into_iter().flat_map(|number| std::iter::repeat_n(number, times)).collect();
    json!({ "values": values })
}

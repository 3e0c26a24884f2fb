//! A server of files by HTTP that counts the rounds of requests: it answers the requests that have come together when
//! no other has come for a while.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Time without another request after which those that have come are answered: far longer than requests of one round
/// come apart, on a busy machine, too.
const QUIET: Duration = Duration::from_millis(400);

/// The requests so far.
#[derive(Debug, Default)]
struct Requests {
    /// Those that wait for their answers.
    waiting: usize,
    rounds: usize,
    total: usize,
}

/// A server of one file, for the life of the process.
#[derive(Debug)]
pub(crate) struct FileServer {
    port: u16,
    requests: Arc<(Mutex<Requests>, Condvar)>,
}

impl FileServer {
    pub(crate) fn of(content: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, content): (Arc<(Mutex<Requests>, Condvar)>, _) = (Arc::default(), Arc::new(content));
        let server = Self { port, requests: Arc::clone(&requests) };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (requests, content) = (Arc::clone(&requests), Arc::clone(&content));
                std::thread::spawn(move || answer(client, &content, &requests));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/file.ogive", self.port)
    }

    /// Rounds and requests since the last call.
    pub(crate) fn take_counts(&self) -> (usize, usize) {
        let mut requests = self.requests.0.lock().unwrap();
        let counts = (requests.rounds, requests.total);
        *requests = Requests::default();
        counts
    }
}

/// Answers one request in its round.
fn answer(mut client: TcpStream, content: &[u8], requests: &(Mutex<Requests>, Condvar)) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if client.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    wait_for_round(requests);
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let range = head.split("range: bytes=").nth(1).and_then(|rest| rest.lines().next()).unwrap_or("0-");
    let (first, last) = range.split_once('-').unwrap();
    let length = content.len();
    let (start, end) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Err(_), Ok(suffix)) => (length.saturating_sub(suffix), length),
        (start, last) => (start.unwrap(), last.map_or(length, |last| (last + 1).min(length))),
    };
    let answer = format!(
        "HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\nConnection: close\r\nContent-Length: {}\r\n\
         Content-Range: bytes {start}-{}/{length}\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\n",
        end - start,
        end - 1
    );
    // A client that has gone needs no answer.
    _ = client.write_all(answer.as_bytes());
    if !head.starts_with("head ") {
        _ = client.write_all(&content[start..end]);
    }
}

fn wait_for_round((requests, changed): &(Mutex<Requests>, Condvar)) {
    let mut now = requests.lock().unwrap();
    (now.waiting, now.total) = (now.waiting + 1, now.total + 1);
    let (round, mut seen) = (now.rounds, now.total);
    changed.notify_all();
    loop {
        let (next, time) = changed.wait_timeout(now, QUIET).unwrap();
        now = next;
        if now.rounds > round {
            return;
        }
        if time.timed_out() && now.total == seen {
            (now.rounds, now.waiting) = (round + 1, 0);
            changed.notify_all();
            return;
        }
        seen = now.total;
    }
}

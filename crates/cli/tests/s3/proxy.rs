//! A server between the command and that of S3, which spoils answers.

use super::server::Server;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// An answer: its status with headers, and its body.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Replaces the value of a header.
    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        let is_other = |line: &&str| !line.to_ascii_lowercase().starts_with(&format!("{}:", name.to_ascii_lowercase()));
        let kept: Vec<&str> = self.head.lines().filter(is_other).collect();
        self.head = format!("{}\r\n{name}: {value}", kept.join("\r\n"));
    }

    /// Cuts the body, so that headers agree: the object seems to be that much shorter.
    #[cfg(feature = "parquet")]
    pub(crate) fn cut(&mut self, bytes: usize) {
        self.body.truncate(self.body.len() - bytes);
        let length = self.body.len();
        let range = self.header("Content-Range").and_then(|range| {
            let (start, total) = range.strip_prefix("bytes ")?.split_once('/')?;
            let (start, total) = (start.split('-').next()?, total.parse::<usize>().ok()? - bytes);
            Some(format!("bytes {start}-{}/{total}", start.parse::<usize>().ok()? + length - 1))
        });
        if let Some(range) = range {
            self.set_header("Content-Range", &range);
        }
    }
}

type Spoil = dyn FnMut(&str, &mut Answer) + Send;

/// A running proxy, for the life of the process.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
}

impl Proxy {
    /// A proxy before a server. `spoil` changes the answer to a request, of which it receives the head.
    pub(crate) fn before(server: &Server, spoil: impl FnMut(&str, &mut Answer) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, behind) = (listener.local_addr().unwrap().port(), server.port());
        let spoil: Arc<Mutex<Spoil>> = Arc::new(Mutex::new(spoil));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let spoil = Arc::clone(&spoil);
                std::thread::spawn(move || _ = serve(client, behind, &spoil));
            }
        });
        Self { port }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// Forwards one request.
fn serve(mut client: TcpStream, behind: u16, spoil: &Mutex<Spoil>) -> std::io::Result<()> {
    let (head, body) = message(&mut client, false)?;
    let mut server = TcpStream::connect(("127.0.0.1", behind))?;
    let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    let kept = headers.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let headers: String = kept.map(|line| format!("{line}\r\n")).collect();
    server.write_all(format!("{line}\r\nConnection: close\r\n{headers}\r\n").as_bytes())?;
    server.write_all(&body)?;
    let is_head = head.starts_with("HEAD ");
    let (answered, body) = message(&mut server, is_head)?;
    let mut answer = Answer { head: answered, body };
    spoil.lock().unwrap()(&head, &mut answer);
    if !is_head {
        let length = answer.body.len().to_string();
        answer.set_header("Content-Length", &length);
    }
    answer.set_header("Connection", "close");
    client.write_all(format!("{}\r\n\r\n", answer.head).as_bytes())?;
    client.write_all(&answer.body)
}

/// The head and the body of a request or an answer.
fn message(stream: &mut TcpStream, is_head: bool) -> std::io::Result<(String, Vec<u8>)> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? > 0 {
        head.push(byte[0]);
    }
    head.truncate(head.len().saturating_sub(4));
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = Answer { head: head.clone(), body: Vec::new() }.header("Content-Length").map_or(Ok(0), str::parse);
    let mut body = vec![0; if is_head { 0 } else { length.unwrap_or(0) }];
    stream.read_exact(&mut body)?;
    Ok((head, body))
}

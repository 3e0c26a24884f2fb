//! The running program behind two pipes, each served by a thread, so that no wait is without an end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::fault::ProgramFault;
use super::protocol::{LINE_BYTES_MAX, Reply, Request};

/// Bytes read or written at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// Time that a program has to end after its input has.
const FAREWELL: Duration = Duration::from_secs(2);
/// Time between looks at whether it has ended.
const POLL: Duration = Duration::from_millis(2);
/// Characters of a wrong line that an error quotes.
const QUOTED_CHARS: usize = 80;

/// A line of the program without its end, or why there is none.
type Line = Result<Vec<u8>, LineFault>;

enum LineFault {
    TooLong,
    Closed,
}

/// A program that was started by the shell, with all that it starts itself.
#[derive(Debug)]
pub(super) struct Pipe {
    child: Child,
    /// `None` once no more requests come.
    requests: Option<Sender<Vec<u8>>>,
    replies: Receiver<Line>,
    timeout_s: u64,
}

impl Pipe {
    /// Starts a command of the shell, which has `timeout_s` seconds for each reply.
    pub(super) fn start(command: &str, timeout_s: u64) -> Result<Self, ProgramFault> {
        let mut child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A group of its own can be ended as a whole: the shell may not be replaced by the program.
            .process_group(0)
            .spawn()
            .map_err(ProgramFault::Start)?;
        let (requests, waiting) = channel();
        // One line ahead: a program that writes without end is stopped by a full pipe.
        let (answers, replies) = sync_channel(1);
        if let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) {
            // Detached: they end with the program, and a program that cannot be ended must not hold up this one.
            thread::spawn(move || write_lines(input, &waiting));
            thread::spawn(move || read_lines(output, |line| answers.send(line).is_ok()));
        }
        Ok(Self { child, requests: Some(requests), replies, timeout_s })
    }

    /// Sends a request and waits for its reply; returns it with the nanoseconds in between.
    pub(super) fn exchange(&mut self, request: &Request) -> Result<(Reply, u64), ProgramFault> {
        let name = request.name();
        let mut line = serde_json::to_vec(request).map_err(|error| invalid(name, b"", &error))?;
        line.push(b'\n');
        let start = Instant::now();
        // The end of the program is noticed below.
        let _ = self.requests.as_ref().map(|requests| requests.send(line));
        let line = match self.replies.recv_timeout(Duration::from_secs(self.timeout_s)) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                return Err(ProgramFault::Silent { request: name, timeout_s: self.timeout_s });
            }
            Err(RecvTimeoutError::Disconnected) => Err(LineFault::Closed),
        };
        let passed_ns = start.elapsed().as_nanos() as u64;
        let line = line.map_err(|fault| match fault {
            LineFault::TooLong => ProgramFault::LongLine { request: name, bytes_max: LINE_BYTES_MAX },
            LineFault::Closed => ProgramFault::Ended { request: name, status: self.ended() },
        })?;
        let reply: Reply = serde_json::from_slice(&line).map_err(|error| invalid(name, &line, &error))?;
        match reply.error {
            Some(reason) => Err(ProgramFault::Failed { request: name, reason }),
            None => Ok((reply, passed_ns)),
        }
    }

    /// The exit status, if the program ends soon.
    fn ended(&mut self) -> Option<ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < FAREWELL {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(POLL);
        }
        None
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // The end of its input tells it to end.
        self.requests = None;
        if self.ended().is_none() {
            // Nothing can be done about a program that even this does not end.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn invalid(request: &'static str, line: &[u8], error: &serde_json::Error) -> ProgramFault {
    let line = String::from_utf8_lossy(line).chars().take(QUOTED_CHARS).collect();
    ProgramFault::Invalid { request, line, reason: error.to_string() }
}

/// Writes lines until there are no more, or the program no longer reads.
fn write_lines(mut input: ChildStdin, lines: &Receiver<Vec<u8>>) {
    while let Ok(line) = lines.recv() {
        if input.write_all(&line).is_err() {
            return;
        }
    }
}

/// Reads lines until the output is closed, a line is too long, or `take` wants no more.
fn read_lines(output: ChildStdout, take: impl Fn(Line) -> bool) {
    let mut output = BufReader::with_capacity(BUFFER_BYTES, output);
    loop {
        let mut line = Vec::new();
        let read = (&mut output).take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line);
        let has_end = line.last() == Some(&b'\n');
        if has_end {
            line.pop();
        }
        let line = match read {
            Ok(_) if has_end => Ok(line),
            Ok(_) if line.len() > LINE_BYTES_MAX => Err(LineFault::TooLong),
            // A last line without an end is cut off.
            _ => Err(LineFault::Closed),
        };
        let is_last = line.is_err();
        if !take(line) || is_last {
            return;
        }
    }
}

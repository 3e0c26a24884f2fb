//! The running program behind two pipes, each served by a thread, so that no wait is without an end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::fault::ProgramFault;
use super::protocol::{LINE_BYTES_MAX, Reply, Request};

/// Bytes read or written at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// Time that a program has to end after its input has.
const FAREWELL: Duration = Duration::from_secs(2);
/// Time between looks at whether it has ended.
const POLL: Duration = Duration::from_millis(2);
/// The same while it has a reply to give.
const LOOK: Duration = Duration::from_millis(500);
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
    is_reaped: bool,
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
        Ok(Self { child, requests: Some(requests), replies, timeout_s, is_reaped: false })
    }

    /// Sends a request and waits for its reply; returns it with the nanoseconds in between.
    pub(super) fn exchange(&mut self, request: &Request) -> Result<(Reply, u64), ProgramFault> {
        let name = request.name();
        let mut line = serde_json::to_vec(request).map_err(|error| invalid(name, b"", &error))?;
        line.push(b'\n');
        let start = Instant::now();
        // The end of the program is noticed below.
        let _ = self.requests.as_ref().map(|requests| requests.send(line));
        let line = self.next_line(name)?;
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

    /// Waits for the next line.
    fn next_line(&self, request: &'static str) -> Result<Line, ProgramFault> {
        let deadline = Instant::now() + Duration::from_secs(self.timeout_s);
        loop {
            // A program may end and leave another one that holds its output open, which is then not closed.
            let has_ended = self.has_ended();
            let left = deadline.saturating_duration_since(Instant::now());
            match self.replies.recv_timeout(left.min(LOOK)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Ok(Err(LineFault::Closed)),
                Err(RecvTimeoutError::Timeout) if has_ended => return Ok(Err(LineFault::Closed)),
                Err(RecvTimeoutError::Timeout) if left > LOOK => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(ProgramFault::Silent { request, timeout_s: self.timeout_s });
                }
            }
        }
    }

    /// Whether the program has ended. It is not reaped, so that its group keeps its number.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), options), Ok(None))
    }

    /// Waits for the end of the program for a while; returns whether it came.
    fn ends_soon(&self) -> bool {
        let start = Instant::now();
        while start.elapsed() < FAREWELL {
            if self.has_ended() {
                return true;
            }
            thread::sleep(POLL);
        }
        false
    }

    /// The exit status, if the program ends soon.
    fn ended(&mut self) -> Option<ExitStatus> {
        if self.is_reaped || !self.ends_soon() {
            return None;
        }
        self.end_group();
        self.is_reaped = true;
        self.child.wait().ok()
    }

    /// Ends what the program has started, and the program itself.
    fn end_group(&self) {
        // Nothing can be done about a program that even this does not end.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // The end of its input tells it to end.
        self.requests = None;
        // Once it is reaped, its number may be that of another group.
        if !self.is_reaped {
            self.ends_soon();
            self.end_group();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_a_program_leaves_behind_delays_no_reply_and_is_ended() -> Result<(), Box<dyn std::error::Error>> {
        /// Long after the program was found to have ended.
        const WORKS_S: u64 = 6;
        let folder = tempfile::tempdir()?;
        let written = folder.path().join("written");
        // The worker inherits the output, which its end alone would close.
        let command = format!("(sleep {WORKS_S}; touch '{}') & exit 3", written.display());
        let mut pipe = Pipe::start(&command, 600)?;
        let start = Instant::now();
        let fault = pipe.exchange(&Request::Size {});
        assert!(matches!(&fault, Err(ProgramFault::Ended { status: Some(status), .. }) if status.code() == Some(3)));
        drop(pipe);
        thread::sleep(Duration::from_secs(WORKS_S + 1).saturating_sub(start.elapsed()));
        assert!(!written.exists(), "the worker went on");
        Ok(())
    }
}

//! The command as somebody at a terminal, or a script, meets it. Method: whole runs of the built program in folders of
//! their own; what they print, how they exit, and which files they leave.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod command;

//! A stopwatch of processor time and elapsed time. Processor time hardly depends on the load of the machine.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// A running stopwatch.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    start: Instant,
    thread_s: f64,
    process_s: f64,
}

/// Time of a piece of work, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Elapsed {
    /// Elapsed time.
    pub wall_s: f64,
    /// Processor time of this thread.
    pub thread_s: f64,
    /// Processor time of all threads of the process.
    pub process_s: f64,
}

impl Stopwatch {
    /// Starts.
    pub fn start() -> Self {
        Self {
            process_s: seconds(ClockId::ProcessCPUTime),
            thread_s: seconds(ClockId::ThreadCPUTime),
            start: Instant::now(),
        }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Elapsed {
        Elapsed {
            wall_s: self.start.elapsed().as_secs_f64(),
            thread_s: seconds(ClockId::ThreadCPUTime) - self.thread_s,
            process_s: seconds(ClockId::ProcessCPUTime) - self.process_s,
        }
    }
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_thread_takes_no_time_of_the_processor_and_a_working_one_does() {
        let sleeping = Stopwatch::start();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let elapsed = sleeping.elapsed();
        // However long the thread was paused, it slept for this time.
        assert!(elapsed.wall_s >= 0.05 && elapsed.wall_s - elapsed.thread_s > 0.04, "{elapsed:?}");
        let working = Stopwatch::start();
        let mut random = crate::random::Random::new(1, "work");
        while working.elapsed().thread_s < 0.01 {
            std::hint::black_box(random.bits());
        }
        let elapsed = working.elapsed();
        assert!(elapsed.process_s >= elapsed.thread_s - 0.001, "{elapsed:?}");
    }
}

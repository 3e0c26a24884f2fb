//! A deterministic thread scheduler for tests: one thread runs at a time, and a seeded choice at every lock says which
//! is next.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Threads that run one at a time.
#[derive(Debug)]
struct Schedule {
    turn: Mutex<Turn>,
    turned: Condvar,
}

#[derive(Debug)]
struct Turn {
    running: usize,
    alive: Vec<usize>,
    random: u64,
    passes: u64,
}

thread_local! {
    static CURRENT: RefCell<Option<(Arc<Schedule>, usize)>> = const { RefCell::new(None) };
}

impl Turn {
    /// Chooses the thread that runs next; prefers the current one, so that threads make progress.
    fn choose(&mut self) {
        self.passes += 1;
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = (self.random >> 33) as usize;
        if !self.alive.is_empty() && (!drawn.is_multiple_of(3) || !self.alive.contains(&self.running)) {
            self.running = self.alive[drawn / 3 % self.alive.len()];
        }
    }
}

impl Schedule {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for(&self, thread: usize, mut turn: MutexGuard<'_, Turn>) {
        while turn.running != thread {
            turn = self.turned.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Whether this thread is scheduled.
pub(crate) fn is_scheduled() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Yields to other threads if the schedule says so; `false` without a schedule.
pub(crate) fn pass() -> bool {
    let Some((schedule, thread)) = CURRENT.with_borrow(Clone::clone) else {
        return false;
    };
    let mut turn = schedule.turn();
    turn.choose();
    schedule.turned.notify_all();
    schedule.wait_for(thread, turn);
    true
}

/// Removes a thread from the schedule when dropped, also on a panic.
struct ScheduleExit(Arc<Schedule>, usize);

impl Drop for ScheduleExit {
    fn drop(&mut self) {
        CURRENT.set(None);
        let mut turn = self.0.turn();
        turn.alive.retain(|&thread| thread != self.1);
        turn.choose();
        self.0.turned.notify_all();
    }
}

/// Runs all of `work` by the schedule of a seed; returns the number of scheduling choices.
pub(crate) fn run(seed: u64, work: Vec<Box<dyn FnOnce() + Send + '_>>) -> u64 {
    let alive: Vec<usize> = (0..work.len()).collect();
    let turn = Turn { running: seed as usize % work.len(), alive, random: seed, passes: 0 };
    let schedule = Arc::new(Schedule { turn: Mutex::new(turn), turned: Condvar::new() });
    std::thread::scope(|scope| {
        for (thread, work) in work.into_iter().enumerate() {
            let schedule = Arc::clone(&schedule);
            scope.spawn(move || {
                let leave = ScheduleExit(Arc::clone(&schedule), thread);
                schedule.wait_for(thread, schedule.turn());
                CURRENT.set(Some((schedule, thread)));
                work();
                drop(leave);
            });
        }
    });
    schedule.turn().passes
}

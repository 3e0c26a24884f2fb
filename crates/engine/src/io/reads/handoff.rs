//! A bounded hand-over between two threads: one fills items, the other takes them and gives them back empty.
//!
//! ```text
//! filler: empty() ---> fill ---> put()        end()  no more items come
//!            ^                     |
//!          empty items          full items, in order
//!            |                     v
//! taker:  give_back() <--- use <-- take()     close()  no more items are taken
//! ```
//!
//! The number of items is fixed, so a filler that is ahead waits for the taker. An error ends the exchange: the other
//! side gets it once, the taker after the items before it.

use crate::error::{Error, Result};
use crate::io::local::sync::{Condvar, Mutex};
use crate::io::profile::clock::Timer;
use std::collections::VecDeque;

/// A fixed number of items that circulate between a filler and a taker.
#[derive(Debug)]
pub(crate) struct Handoff<T> {
    state: Mutex<HandoffState<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct HandoffState<T> {
    empty: Vec<T>,
    full: VecDeque<T>,
    is_ended: bool,
    is_closed: bool,
    failure: Option<Error>,
}

impl<T> Handoff<T> {
    /// A hand-over of these items, all of them empty.
    pub(crate) fn new(empty: Vec<T>) -> Self {
        let state = HandoffState { empty, full: VecDeque::new(), is_ended: false, is_closed: false, failure: None };
        Self { state: Mutex::new(state), changed: Condvar::default() }
    }

    /// Waits until `ready` returns a value, and adds the time to `waited_us`.
    fn wait<R>(&self, waited_us: &mut f64, mut ready: impl FnMut(&mut HandoffState<T>) -> Option<R>) -> R {
        let mut state = self.state.lock();
        if let Some(found) = ready(&mut state) {
            return found;
        }
        let timer = Timer::start();
        loop {
            state = self.changed.wait(&self.state, state);
            if let Some(found) = ready(&mut state) {
                *waited_us += timer.elapsed_us();
                return found;
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut HandoffState<T>)) {
        change(&mut self.state.lock());
        self.changed.notify_all();
    }

    /// For the filler: waits for an empty item, the one given back last; `None` after [`Self::close`].
    ///
    /// # Errors
    /// The error with which the exchange was closed, once.
    pub(crate) fn empty(&self, waited_us: &mut f64) -> Result<Option<T>> {
        self.wait(waited_us, |state| match state.is_closed {
            true => Some(state.failure.take().map_or(Ok(None), Err)),
            false => state.empty.pop().map(|item| Ok(Some(item))),
        })
    }

    /// For the filler: hands over a full item.
    pub(crate) fn put(&self, item: T) {
        self.change(|state| {
            if !state.is_closed {
                state.full.push_back(item);
            }
        });
    }

    /// For the filler: no more items will come, because of an error if there is one.
    pub(crate) fn end(&self, outcome: Result<()>) {
        self.change(|state| {
            state.is_ended = true;
            state.failure = outcome.err().or(state.failure.take());
        });
    }

    /// For the taker: waits for the next full item; `None` at the end and after [`Self::close`].
    ///
    /// # Errors
    /// The error with which the exchange was ended, once.
    pub(crate) fn take(&self, waited_us: &mut f64) -> Result<Option<T>> {
        self.wait(waited_us, |state| match state.full.pop_front() {
            Some(item) => Some(Ok(Some(item))),
            None if state.is_closed => Some(Ok(None)),
            None if state.is_ended => Some(state.failure.take().map_or(Ok(None), Err)),
            None => None,
        })
    }

    /// For the taker: gives an item back.
    pub(crate) fn give_back(&self, item: T) {
        self.change(|state| state.empty.push(item));
    }

    /// For either side: drops the items that wait, because of an error if there is one; neither side waits any more.
    pub(crate) fn close(&self, outcome: Result<()>) {
        self.change(|state| {
            state.is_closed = true;
            state.full.clear();
            state.failure = outcome.err().or(state.failure.take());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_schedule;
    use super::*;
    use std::io::ErrorKind;

    fn failure() -> Error {
        Error::io("read", "file", ErrorKind::Other.into())
    }

    type Work<'a> = Box<dyn FnOnce() + Send + 'a>;

    /// Fills items with `0..count`, and ends with an error or without.
    fn fill(handoff: &Handoff<Vec<u64>>, count: u64, outcome: Result<()>) {
        for number in 0..count {
            let Some(mut item) = handoff.empty(&mut 0.0).unwrap() else { return };
            assert!(item.is_empty());
            item.push(number);
            handoff.put(item);
        }
        handoff.end(outcome);
    }

    #[test]
    fn items_arrive_once_and_in_order_whatever_the_schedule() {
        for seed in 0..300 {
            let handoff = Handoff::new(vec![Vec::new(); 1 + seed as usize % 3]);
            let fails = seed % 2 == 0;
            let filler = || fill(&handoff, 20, if fails { Err(failure()) } else { Ok(()) });
            let taker = || {
                for number in 0..20 {
                    let mut item = handoff.take(&mut 0.0).unwrap().unwrap();
                    assert_eq!(item, [number], "seed {seed}");
                    item.clear();
                    handoff.give_back(item);
                }
                assert_eq!(handoff.take(&mut 0.0).is_err(), fails, "seed {seed}");
                assert!(handoff.take(&mut 0.0).unwrap().is_none());
            };
            test_schedule::run(seed, vec![Box::new(filler) as Work<'_>, Box::new(taker)]);
        }
    }

    #[test]
    fn a_taker_that_closes_stops_the_filler_whatever_the_schedule() {
        for seed in 0..300 {
            let handoff = Handoff::new(vec![Vec::new(); 2]);
            let fails = seed % 2 == 0;
            let filler = || {
                let mut number = 0;
                let stopped = loop {
                    match handoff.empty(&mut 0.0) {
                        Ok(Some(mut item)) => {
                            item.push(number);
                            handoff.put(item);
                        }
                        stopped => break stopped,
                    }
                    number += 1;
                };
                assert_eq!(stopped.is_err(), fails, "seed {seed}");
                assert!(handoff.empty(&mut 0.0).unwrap().is_none());
            };
            let taker = || {
                for _ in 0..seed % 5 {
                    let mut item = handoff.take(&mut 0.0).unwrap().unwrap();
                    item.clear();
                    handoff.give_back(item);
                }
                handoff.close(if fails { Err(failure()) } else { Ok(()) });
            };
            test_schedule::run(seed, vec![Box::new(filler) as Work<'_>, Box::new(taker)]);
            assert!(handoff.take(&mut 0.0).unwrap().is_none());
        }
    }

    #[test]
    fn only_time_spent_waiting_is_counted() {
        let handoff = Handoff::new(vec![1]);
        let mut waited_us = 0.0;
        let item = handoff.empty(&mut waited_us).unwrap().unwrap();
        handoff.put(item);
        handoff.take(&mut waited_us).unwrap();
        assert_eq!(waited_us, 0.0);
        std::thread::scope(|scope| {
            scope.spawn(|| handoff.end(Ok(())));
            handoff.take(&mut waited_us).unwrap();
        });
    }
}

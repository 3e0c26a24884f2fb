//! The time since the machine was started: of its clocks, the only one that goes on while a program does not run, and
//! that is never set.

/// What has passed since a start of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SinceBoot {
    /// Which start of which machine; not 0.
    pub(crate) boot: u64,
    /// Milliseconds since then, also those in which the machine slept.
    pub(crate) ms: u64,
}

#[cfg(target_os = "linux")]
mod system {
    use super::SinceBoot;
    use rustix::time::{ClockId, clock_gettime};
    use std::sync::OnceLock;
    use twox_hash::XxHash3_64;

    /// Has a random number for each start.
    const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

    /// What has passed since the machine was started; `None` if the system does not tell.
    pub(in crate::io) fn since_boot() -> Option<SinceBoot> {
        static BOOT: OnceLock<Option<u64>> = OnceLock::new();
        let read = || std::fs::read(BOOT_ID).ok().map(|id| XxHash3_64::oneshot(&id).max(1));
        let boot = (*BOOT.get_or_init(read))?;
        let passed = clock_gettime(ClockId::Boottime);
        let ms = passed.tv_sec.checked_mul(1000)?.checked_add(passed.tv_nsec / 1_000_000)?;
        Some(SinceBoot { boot, ms: u64::try_from(ms).ok()? })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// What has passed since the machine was started, which this system does not tell together with which start.
    pub(in crate::io) fn since_boot() -> Option<super::SinceBoot> {
        None
    }
}

pub(super) use system::since_boot;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::since_boot;

    #[test]
    fn the_time_since_the_start_of_the_machine_goes_on() {
        let (first, second) = (since_boot().unwrap(), since_boot().unwrap());
        assert!(first.boot == second.boot && first.boot > 0 && first.ms > 0 && first.ms <= second.ms);
    }
}

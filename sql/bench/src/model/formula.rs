//! The arithmetic of the model.

use ogive::Profile;

/// Bytes of a network link, in which rates of networks are stated.
const BITS_PER_BYTE: f64 = 8.0;

/// A quantity that grows with executors, with partitions, and with pairs of both. Each executor gets a task of a stage,
/// with a part of the partitions; an exchange has a place for each pair of a task and a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Growth {
    pub(super) base: f64,
    pub(super) executors: f64,
    pub(super) partitions: f64,
    pub(super) pairs: f64,
}

impl Growth {
    /// The growth through four measured points: two numbers of partitions with each of two numbers of executors.
    /// Coefficients below zero, which are noise, become zero.
    pub(super) fn through(few: [Point; 2], many: [Point; 2]) -> Self {
        let slope = |[from, to]: [Point; 2]| (to.value - from.value) / (to.partitions - from.partitions);
        let (first, second) = (slope(few), slope(many));
        let executors = (few[0].executors, many[0].executors);
        let pairs = ((second - first) / (executors.1 - executors.0)).max(0.0);
        let partitions = (first - pairs * executors.0).max(0.0);
        let rest =
            |point: Point| point.value - partitions * point.partitions - pairs * point.executors * point.partitions;
        let per_executor = ((rest(many[0]) - rest(few[0])) / (executors.1 - executors.0)).max(0.0);
        let base = (rest(few[0]) - per_executor * executors.0).max(0.0);
        Self { base, executors: per_executor, partitions, pairs }
    }

    /// The same with the rows of a larger table: what does not depend on the cluster grows with them.
    pub(super) fn with_rows(self, factor: f64) -> Self {
        Self { base: self.base * factor, ..self }
    }

    /// `base + executors * E + partitions * P + pairs * E * P`.
    pub(super) fn at(&self, executors: f64, partitions: f64) -> f64 {
        self.base + self.executors * executors + self.partitions * partitions + self.pairs * executors * partitions
    }
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) executors: f64,
    pub(super) partitions: f64,
    pub(super) value: f64,
}

/// A line through two points: the value at zero, and the slope.
pub(super) fn line((from, low): (f64, f64), (to, high): (f64, f64)) -> (f64, f64) {
    let slope = (high - low) / (to - from);
    (low - slope * from, slope)
}

/// Reads of a storage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reads {
    pub(super) requests: f64,
    pub(super) bytes: f64,
}

impl Reads {
    pub(super) fn times(self, factor: f64) -> Self {
        Self { requests: self.requests * factor, bytes: self.bytes * factor }
    }
}

/// The machines of the model.
#[derive(Clone, Debug)]
pub(super) struct Machines {
    pub(super) executors: f64,
    pub(super) vcores: f64,
    pub(super) gbit_per_s: f64,
    pub(super) profile: Profile,
}

impl Machines {
    pub(super) fn partitions(&self) -> f64 {
        self.executors * self.vcores
    }

    pub(super) fn link_bytes_per_s(&self) -> f64 {
        self.gbit_per_s * 1e9 / BITS_PER_BYTE
    }

    /// Seconds for reads by some executors, each with these requests at once, or as many as the storage serves: the sum
    /// of T(n), divided by all requests at once; not less than one request, nor than the links of the executors need.
    pub(super) fn storage_s(&self, reads: Reads, executors: f64, at_once: f64) -> f64 {
        if reads.requests <= 0.0 {
            return 0.0;
        }
        let one_s = self.profile.time_us((reads.bytes / reads.requests) as u64) / 1e6;
        let all = executors * at_once.clamp(1.0, f64::from(self.profile.parallel()));
        (one_s * reads.requests / all).max(one_s).max(reads.bytes / (executors * self.link_bytes_per_s()))
    }

    /// Seconds in which rows change executors: all but the share that stays where it is.
    pub(super) fn exchange_s(&self, bytes: f64) -> f64 {
        bytes * (1.0 - 1.0 / self.executors) / (self.executors * self.link_bytes_per_s())
    }

    /// Seconds on the one link of the scheduler.
    pub(super) fn scheduler_s(&self, bytes: f64) -> f64 {
        bytes / self.link_bytes_per_s()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} is not {wanted}");
    }

    fn point(executors: f64, partitions: f64, value: f64) -> Point {
        Point { executors, partitions, value }
    }

    #[test]
    fn growth_is_found_again_from_four_points() {
        // 100 + 10 E + 3 P + 2 E P
        let few = [point(1.0, 4.0, 130.0), point(1.0, 16.0, 190.0)];
        let many = [point(2.0, 8.0, 176.0), point(2.0, 32.0, 344.0)];
        let growth = Growth::through(few, many);
        assert_eq!(growth, Growth { base: 100.0, executors: 10.0, partitions: 3.0, pairs: 2.0 });
        close(growth.at(64.0, 1024.0), 100.0 + 640.0 + 3072.0 + 131_072.0);
        // Rows that are exchanged do not depend on the cluster.
        close(growth.with_rows(50.0).at(2.0, 8.0), 5_000.0 + 20.0 + 24.0 + 32.0);
    }

    #[test]
    fn what_does_not_grow_stays() {
        let few = [point(1.0, 4.0, 50.0), point(1.0, 16.0, 50.0)];
        let many = [point(2.0, 8.0, 50.0), point(2.0, 32.0, 50.0)];
        close(Growth::through(few, many).at(64.0, 1024.0), 50.0);
    }

    #[test]
    fn a_line_has_a_start_and_a_slope() {
        assert_eq!(line((1.0, 130.0), (9.0, 290.0)), (110.0, 20.0));
    }

    #[test]
    fn times_are_those_of_the_narrowest_link() {
        // 10 ms and 100 MB/s, 8 at once; two executors of 4 vcores with 1 GB/s.
        let profile = Profile::affine("slow", 10_000.0, 100.0, 8).unwrap();
        let machines = Machines { executors: 2.0, vcores: 4.0, gbit_per_s: 8.0, profile };
        close(machines.partitions(), 8.0);
        // A request of 1 MB takes 20 ms; two executors have 6 at once each.
        close(machines.storage_s(Reads { requests: 1_200.0, bytes: 1.2e9 }, 2.0, 6.0), 1_200.0 * 0.02 / 12.0);
        // Not more than the storage serves, and not less than the network needs: 8 at once, 0.11 s and 10 MB a request.
        close(machines.storage_s(Reads { requests: 1_600.0, bytes: 1.6e10 }, 2.0, 20.0), 1_600.0 * 0.11 / 16.0);
        let fast = Machines { profile: Profile::affine("fast", 1.0, 10_000.0, 64).unwrap(), ..machines.clone() };
        close(fast.storage_s(Reads { requests: 1_000.0, bytes: 4e9 }, 2.0, 64.0), 2.0);
        // One request takes its time.
        close(machines.storage_s(Reads { requests: 1.0, bytes: 1e6 }, 1.0, 1.0), 0.02);
        close(machines.storage_s(Reads::default(), 1.0, 1.0), 0.0);
        // Half of the rows stay; the other half leaves by two links.
        close(machines.exchange_s(4e9), 1.0);
        close(machines.scheduler_s(5e8), 0.5);
    }
}

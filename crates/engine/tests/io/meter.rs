//! Goal: the meter counts every request, and the modelled clock charges for it.

use ogive::io::{
    MemoryStorage, Meter, ModelledClock, Profile, Purpose, ReadCounts, ReadRequest, ReadableFile, Storage, Timer,
    WriteCounts, random_u64,
};
use std::sync::Arc;

fn filled(length: usize) -> Arc<dyn Storage> {
    let storage = MemoryStorage::new();
    storage.put("a", vec![1; length]).unwrap();
    storage.put("b", vec![2; length]).unwrap();
    Arc::new(storage)
}

fn read(file: &dyn ReadableFile, purpose: Purpose, offset: u64, length: usize) {
    file.read(ReadRequest { offset, buffer: &mut vec![0; length], purpose }).unwrap();
}

#[test]
fn blocks_fetched_are_the_distinct_blocks_that_the_requests_overlap() {
    let meter = Meter::new(filled(100_000));
    let (a, b) = (meter.open("a").unwrap(), meter.open("b").unwrap());
    read(&*a, Purpose::Layer(1), 0, 100);
    read(&*a, Purpose::Layer(1), 4_000, 200); // straddles two blocks, the first already counted
    read(&*a, Purpose::Data, 4_096, 4_096); // the same block again, for another purpose
    read(&*b, Purpose::Data, 4_096, 4_097); // another file, two blocks
    read(&*b, Purpose::Data, 0, 0);
    let snapshot = meter.snapshot();
    assert_eq!(snapshot.reads, ReadCounts { requests: 5, bytes: 100 + 200 + 4_096 + 4_097, blocks: 4 });
    let layer = ReadCounts { requests: 2, bytes: 300, blocks: 2 };
    let data = ReadCounts { requests: 3, bytes: 8_193, blocks: 3 };
    assert_eq!(
        snapshot.reads_by_purpose.into_iter().collect::<Vec<_>>(),
        [(Purpose::Layer(1), layer), (Purpose::Data, data)]
    );
}

#[test]
fn a_reset_starts_the_next_operation_at_zero() {
    let meter = Meter::with_block_bytes(filled(100_000), 512).unwrap();
    let file = meter.open("a").unwrap();
    read(&*file, Purpose::Data, 512, 1024);
    assert_eq!(meter.reset().reads.blocks, 2);
    assert_eq!(meter.snapshot(), Default::default());
    read(&*file, Purpose::Data, 512, 1024);
    assert_eq!(meter.snapshot().reads.blocks, 2);
    assert!(Meter::with_block_bytes(filled(1), 0).is_err());
}

#[test]
fn reads_at_once_of_many_threads_are_all_counted() {
    let meter = Meter::new(filled(1 << 20));
    let file = meter.open("a").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let file = &file;
            scope.spawn(move || {
                let mut buffers = vec![vec![0; 100]; 64];
                let requests = buffers.iter_mut().enumerate();
                let requests = requests
                    .map(|(i, buffer)| ReadRequest {
                        offset: (thread * 64 + i as u64) * 4_096,
                        buffer,
                        purpose: Purpose::Data,
                    })
                    .collect();
                file.read_many(requests).unwrap();
            });
        }
    });
    assert_eq!(meter.snapshot().reads, ReadCounts { requests: 256, bytes: 25_600, blocks: 256 });
}

#[test]
fn failed_reads_count_nothing_and_cost_nothing() {
    let clock = ModelledClock::new(filled(10), Profile::named("hdd").unwrap());
    let meter = Meter::new(Arc::new(clock.clone()));
    let file = meter.open("a").unwrap();
    assert!(file.read(ReadRequest { offset: 5, buffer: &mut [0; 6], purpose: Purpose::Data }).is_err());
    assert_eq!(meter.snapshot(), Default::default());
    assert_eq!(clock.elapsed_us(), 0.0);
}

#[test]
fn writes_and_syncs_are_counted() {
    let meter = Meter::new(Arc::new(MemoryStorage::new()));
    let mut file = meter.create("new").unwrap();
    file.append(b"abc").unwrap();
    file.write_at(1, b"z").unwrap();
    file.sync().unwrap();
    meter.sync_directory().unwrap();
    let expected = WriteCounts { requests: 2, bytes: 4, file_syncs: 1, directory_syncs: 1 };
    assert_eq!(meter.snapshot().writes, expected);
}

#[test]
fn the_modelled_clock_charges_each_read_and_overlaps_those_asked_for_at_once() {
    let profile = Profile::affine("x", 100.0, 1.0, 4).unwrap();
    let clock = ModelledClock::new(filled(100_000), profile);
    let file = clock.open("a").unwrap();
    read(&*file, Purpose::Data, 0, 50);
    assert_eq!(clock.elapsed_us(), 150.0);
    let mut buffers = vec![vec![0; 10]; 9];
    let requests = buffers.iter_mut().map(|buffer| ReadRequest { offset: 0, buffer, purpose: Purpose::Data }).collect();
    file.read_many(requests).unwrap();
    assert_eq!(clock.reset(), 150.0 + 3.0 * 110.0);
    assert_eq!(clock.elapsed_us(), 0.0);
}

#[test]
fn the_timer_runs_forward_and_random_numbers_differ() {
    let timer = Timer::start();
    let earlier = timer.elapsed_us();
    assert!(timer.elapsed_us() >= earlier && earlier >= 0.0);
    assert!(timer.elapsed_s() < 3_600.0);
    assert_ne!(random_u64(), random_u64());
}

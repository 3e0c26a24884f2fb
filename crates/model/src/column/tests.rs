//! Columns against the numbers that they were made from.

use super::*;
use proptest::prelude::*;

/// Numbers of a shape: random, clustered, smooth, with repeats, or at the ends of the range.
fn shaped(shape: u8, count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 31)
    };
    let mut numbers: Vec<u64> = (0..count as u64)
        .map(|i| match shape % 8 {
            0 => random(),
            1 => random() % 50,
            2 => i * 1000 + random() % 100,
            3 => ((random() % 3) << 60) + random() % 1000,
            4 => u64::MAX - random() % 200,
            5 => 7,
            6 => 1 << (random() % 64),
            _ => (i * i) << 20,
        })
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The stored form of the numbers from `lead` on, and the column in it.
fn stored(numbers: &[u64], lead: usize, start_bytes: usize) -> (Vec<u8>, Column) {
    let groups: Vec<ColumnGroup> = numbers.chunks(GROUP_NUMBERS).map(ColumnGroup::fit).collect();
    let count = numbers.len() - lead;
    let mut bytes = vec![0xEE; 3];
    encode(&groups, lead, count, start_bytes, |row| numbers[lead + row], &mut bytes);
    let mut size = ColumnSize::new(lead);
    groups.iter().for_each(|group| size.push(group));
    assert_eq!(size.bytes((numbers.len() - 1) % GROUP_NUMBERS + 1, start_bytes), bytes.len() - 3);
    assert_eq!(size.is_constant(), numbers.iter().all(|&number| number == numbers[0]));
    // What follows must not be read as part of the column.
    let end = bytes.len();
    bytes.extend([0xFF; 5]);
    let column = Column::parse(&bytes, 3, lead, count, start_bytes).unwrap();
    assert_eq!(column.end(), end);
    (bytes, column)
}

proptest! {
    #[test]
    fn numbers_come_back_and_are_found(
        shape in 0_u8..8,
        count in 1_usize..700,
        lead in 0_usize..64,
        seed: u64,
        wide: bool,
        sorted: bool,
    ) {
        let lead = lead.min(count - 1);
        let mut numbers = shaped(shape, count, seed);
        if !sorted {
            let middle = count / 3;
            numbers.rotate_left(middle);
        }
        let (bytes, column) = stored(&numbers, lead, if wide { 4 } else { 2 });
        let rows = &numbers[lead..];
        for (row, &number) in rows.iter().enumerate() {
            prop_assert_eq!(column.get(&bytes, row), Some(number));
        }
        prop_assert_eq!(column.get(&bytes, rows.len()), None);
        let (from, to) = (seed as usize % rows.len(), rows.len() - (seed >> 32) as usize % rows.len());
        let mut decoded = vec![3];
        column.decode(&bytes, from..to.max(from), &mut decoded).unwrap();
        prop_assert_eq!(&decoded[1..], &rows[from..to.max(from)]);
        prop_assert!(column.is_canonical(&bytes));
        if sorted {
            let near = rows.iter().flat_map(|&number| [number.saturating_sub(1), number, number.saturating_add(1)]);
            for number in near.chain([0, u64::MAX, seed]) {
                let mut steps = 0;
                let found = column.search(&bytes, number, || steps += 1);
                prop_assert_eq!(found, Some(rows.partition_point(|&stored| stored < number)), "{}", number);
                // Those of a bisection, and two looks at the group that the lines predict.
                prop_assert!(steps <= (rows.len() + 64).ilog2() + 3, "{} steps among {} rows", steps, rows.len());
            }
        }
    }

    #[test]
    fn no_bytes_make_an_access_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
        count in 0_usize..300,
        lead in 0_usize..70,
        number: u64,
        body in 0_u32..400,
    ) {
        if let Some(stated) = bytes.get_mut(8..16) {
            // Heads that are refused at once would test nothing.
            stated[0] %= 64;
            stated[1] %= 9;
            stated[2] %= 9;
            stated[3] = 0;
            stated[4..].copy_from_slice(&body.to_le_bytes());
        }
        if let Some(column) = Column::parse(&bytes, 0, lead, count, 2) {
            for row in 0..=count {
                _ = column.get(&bytes, row);
            }
            _ = (column.lower_bound(&bytes, number), column.is_canonical(&bytes));
            _ = column.decode(&bytes, 0..count, &mut Vec::new());
        }
    }
}

#[test]
fn smooth_numbers_are_found_with_two_residuals() {
    for step in [1, 3, 1000, 1 << 40] {
        let numbers: Vec<u64> = (0..500).map(|i| 77 + i * step).collect();
        let (bytes, column) = stored(&numbers, 0, 2);
        for number in numbers.iter().flat_map(|&number| [number - 1, number, number + 1]) {
            let mut steps = 0;
            _ = column.search(&bytes, number, || steps += 1);
            assert!(steps <= 2, "{steps} residuals for {number}, in steps of {step}");
        }
    }
}

#[test]
fn smooth_numbers_take_few_bytes() {
    let bytes_per_number = |numbers: &[u64]| stored(numbers, 0, 2).0.len() as f64 / numbers.len() as f64;
    let evenly: Vec<u64> = (0..640).map(|i| i * 1_000_003).collect();
    assert!(bytes_per_number(&evenly) < 0.4, "{}", bytes_per_number(&evenly));
    let constant = vec![u64::MAX; 640];
    assert!(bytes_per_number(&constant) < 0.1);
    // Random numbers of 53 bits behind a common prefix: ten bits are common to a group, and the line saves three more.
    let random = shaped(0, 640, 5).iter().map(|number| number >> 11).collect::<Vec<_>>();
    assert!(bytes_per_number(&random) < 6.4, "{}", bytes_per_number(&random));
}

#[test]
fn a_column_decodes_as_its_specification_says() {
    let numbers = [100, 164, 244, 284, 1000];
    let group = ColumnGroup::fit(&numbers);
    let (bytes, column) = stored(&numbers, 1, 2);
    for (row, number) in (1..).zip(&numbers[1..]) {
        assert_eq!(column.get(&bytes, row - 1), Some(*number));
        assert!(group.line_at(row) <= *number && *number - group.line_at(row) < 1 << group.width());
    }
}

//! CRC-32C (Castagnoli), by a table of 256 entries: routers are small, and this crate has no dependencies.

/// The polynomial, its bits reversed.
const POLYNOMIAL: u32 = 0x82F6_3B78;

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    /// The check value of the catalogue of CRC algorithms.
    #[test]
    fn the_check_value_is_that_of_crc_32c() {
        assert_eq!(super::crc32c(b"123456789"), 0xE306_9283);
    }
}

//! Walks the integers in pages: varints and runs. Runs are counted and not decoded, since a run of a billion
//! values takes six bytes.

/// Takes an unsigned varint (seven bits per byte) from the start of `bytes`; `None` if it is incomplete or too large.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Takes the first `count` bytes from the start of `bytes`; `None` if there are fewer.
pub(super) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

/// A run in the hybrid encoding of run lengths and bit packing.
#[derive(Debug, PartialEq)]
pub(super) enum ValueRun<'a> {
    /// One value, repeated `count` times.
    Same { value: u32, count: usize },
    /// Bit-packed values, lowest bits first.
    Packed { bits: &'a [u8], count: usize },
}

/// Passes each run of `total` values of `width` bits to `each`, and returns the bytes after the last run. `None` if the
/// bytes contain fewer values, or if `each` returns `None`.
///
/// The runs have Parquet's `RLE` encoding: a run starts with a varint, whose lowest bit is the kind of the run. The
/// other bits are the number of repetitions of one value, or the number of packed values divided by 8.
pub(super) fn runs<'a>(
    mut bytes: &'a [u8],
    width: usize,
    total: usize,
    mut each: impl FnMut(ValueRun<'a>) -> Option<()>,
) -> Option<&'a [u8]> {
    let mut left = total;
    if width == 0 {
        each(ValueRun::Same { value: 0, count: left })?;
        return Some(bytes);
    }
    while left > 0 {
        let header = usize::try_from(varint(&mut bytes)?).ok()?;
        if header & 1 == 0 {
            let mut value = [0; 4];
            let stored = take(&mut bytes, width.div_ceil(8))?;
            value.get_mut(..stored.len())?.copy_from_slice(stored);
            let count = left.min(header >> 1);
            each(ValueRun::Same { value: u32::from_le_bytes(value), count })?;
            left -= count;
        } else {
            // Writers may leave out the padding of the last run.
            let claimed = (header >> 1).checked_mul(width)?;
            let present = claimed.min(bytes.len());
            let bits = take(&mut bytes, present)?;
            let count = left.min((header >> 1).checked_mul(8)?);
            if bits.len().checked_mul(8)? / width < count {
                return None;
            }
            each(ValueRun::Packed { bits, count })?;
            left -= count;
        }
    }
    Some(bytes)
}

/// Counts the ones among `total` bits in runs; `None` if the runs contain fewer bits.
pub(super) fn ones(bytes: &[u8], total: usize) -> Option<usize> {
    let mut ones = 0;
    runs(bytes, 1, total, |run| {
        ones += run.ones()?;
        Some(())
    })?;
    Some(ones)
}

impl ValueRun<'_> {
    /// Counts the ones in the run; `None` if its value is not a bit.
    fn ones(&self) -> Option<usize> {
        match *self {
            Self::Same { value, count } => (value < 2).then_some(count * value as usize),
            Self::Packed { bits, count } => {
                let (whole, rest) = (&bits[..count / 8], count % 8);
                let ones: usize = whole.iter().map(|b| b.count_ones() as usize).sum();
                let last = bits.get(count / 8).map_or(0, |b| b & ((1 << rest) - 1));
                Some(ones + last.count_ones() as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_end_within_ten_bytes() {
        let read = |mut bytes: &[u8]| varint(&mut bytes).map(|v| (v, bytes.len()));
        assert_eq!(read(&[0xac, 0x02, 9]), Some((300, 1)));
        assert_eq!(read(&[&[0xff; 9][..], &[1]].concat()), Some((u64::MAX, 0)));
        assert_eq!(read(&[&[0xff; 9][..], &[2]].concat()), None);
        assert_eq!(read(&[0x80; 11]), None);
        assert_eq!(read(&[0x80]), None);
    }

    #[test]
    fn ones_are_counted_in_repeated_and_in_packed_runs() {
        // Six ones, then five of the eight bits 0b0000_0101.
        let bytes = [12, 1, 3, 0b1110_0101];
        assert_eq!(ones(&bytes, 6), Some(6));
        assert_eq!(ones(&bytes, 11), Some(8));
        assert_eq!(ones(&bytes, 14), Some(11));
        assert_eq!(ones(&bytes, 15), None, "there are 14");
        assert_eq!(ones(&[12, 2], 6), None, "a level of two");
        assert_eq!(ones(&[0x80, 0x80, 0x80, 0x80, 0x80, 1, 1], 3), Some(3));
    }

    #[test]
    fn runs_of_indices_are_read_to_their_end() {
        let mut seen = Vec::new();
        let rest = runs(&[8, 3, 3, 0xff, 0xff, 0xff, 7], 3, 12, |run| {
            seen.push(run);
            Some(())
        });
        assert_eq!(rest, Some(&[7][..]));
        let packed = ValueRun::Packed { bits: &[0xff; 3], count: 8 };
        assert_eq!(seen, [ValueRun::Same { value: 3, count: 4 }, packed]);
        assert_eq!(runs(&[8, 3], 3, 5, |_| Some(())), None);
        assert_eq!(runs(&[5, 0xff], 3, 16, |_| Some(())), None, "two groups take six bytes");
        assert_eq!(runs(&[], 0, 5, |_| Some(())), Some(&[][..]));
    }
}

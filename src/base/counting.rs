//! Sorting by counting.

/// Turns how many things each group has into where each starts among all, and says how many there are.
pub(crate) fn to_starts(counts: &mut [u32]) -> u32 {
    let mut total = 0;
    for count in counts {
        (*count, total) = (total, total + *count);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::to_starts;

    #[test]
    fn a_group_starts_where_those_before_it_end() {
        let mut counts = [2, 0, 3];
        assert_eq!(to_starts(&mut counts), 5);
        assert_eq!(counts, [0, 2, 2]);
        assert_eq!(to_starts(&mut []), 0);
    }
}

//! Sorting by counting.

/// Turns how many things each group has into where each starts among all, and says how many there are.
pub(crate) fn to_starts(counts: &mut [u32]) -> u32 {
    let mut total = 0;
    for count in counts {
        (*count, total) = (total, total + *count);
    }
    total
}

/// Things group by group, those of one in their order, and where each group ends; `group` numbers them from 0.
pub(crate) fn by_group<T: Copy>(
    things: &[T],
    groups: usize,
    group: impl Fn(&T) -> usize,
) -> (Vec<T>, Vec<u32>) {
    let mut ends = vec![0; groups];
    things.iter().for_each(|thing| ends[group(thing)] += 1);
    to_starts(&mut ends);
    let mut grouped = things.to_vec();
    for thing in things {
        // Where a group starts is, once its things are placed, where it ends.
        let end = &mut ends[group(thing)];
        grouped[*end as usize] = *thing;
        *end += 1;
    }
    (grouped, ends)
}

#[cfg(test)]
mod tests {
    use super::{by_group, to_starts};

    #[test]
    fn a_group_starts_where_those_before_it_end() {
        let mut counts = [2, 0, 3];
        assert_eq!(to_starts(&mut counts), 5);
        assert_eq!(counts, [0, 2, 2]);
        assert_eq!(to_starts(&mut []), 0);
    }

    #[test]
    fn things_of_a_group_stay_in_their_order() {
        let (grouped, ends) = by_group(&[12, 30, 11, 35, 13], 4, |thing| thing / 10);
        assert_eq!((grouped, ends), (vec![12, 11, 13, 30, 35], vec![0, 3, 3, 5]));
    }
}

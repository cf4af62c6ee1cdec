//! What is new of a finding, and of a table's rows, in a pull request or against a baseline.

/// Whether a finding is new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Novelty {
    /// There is no baseline and no base to compare with, or they were not asked yet.
    #[default]
    Unjudged,
    /// It was not there before.
    New,
    /// It was there before, or a baseline knows it.
    Inherited,
}

impl Novelty {
    /// The novelty of a finding that was compared.
    pub fn of(new: bool) -> Self {
        if new { Self::New } else { Self::Inherited }
    }

    /// The field `new` of reports: null where nothing was compared.
    pub fn as_new(self) -> Option<bool> {
        match self {
            Self::Unjudged => None,
            Self::New => Some(true),
            Self::Inherited => Some(false),
        }
    }
}

/// Which rows of a table a pull request adds or changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RowChange {
    /// None: it leaves the table alone.
    Untouched,
    /// All of them.
    All,
    /// Those that are marked, by row; none beyond the last mark.
    Rows(Vec<bool>),
    /// Rows do not say: no pull request is judged, or all of the table may be judged otherwise than
    /// before.
    #[default]
    Unknown,
}

impl RowChange {
    /// Whether it adds or changes the row; where that is not known, it may.
    pub fn has(&self, row: usize) -> bool {
        match self {
            Self::Untouched => false,
            Self::All | Self::Unknown => true,
            Self::Rows(marked) => marked.get(row).copied().unwrap_or(false),
        }
    }

    /// Whether it adds or changes any row.
    pub fn any(&self) -> bool {
        match self {
            Self::Untouched => false,
            Self::All | Self::Unknown => true,
            Self::Rows(marked) => marked.contains(&true),
        }
    }
}

/// A half of a table's rows in a pull request: those that are new, or those that were there. All rows
/// are one half where rows do not say which are new.
#[derive(Debug, Clone, Copy)]
pub struct Half<'a> {
    /// What its rows are.
    pub novelty: Novelty,
    change: &'a RowChange,
}

impl<'a> Half<'a> {
    /// The halves of a table: new rows first.
    pub fn both(change: &'a RowChange) -> impl Iterator<Item = Self> + use<'a> {
        let halves: &[Novelty] = match change {
            RowChange::Unknown => &[Novelty::Unjudged],
            _ => &[Novelty::New, Novelty::Inherited],
        };
        halves.iter().map(move |novelty| Self { novelty: *novelty, change })
    }

    /// Whether the row is of this half.
    pub fn has(&self, row: usize) -> bool {
        match self.novelty {
            Novelty::Unjudged => true,
            Novelty::New => self.change.has(row),
            Novelty::Inherited => !self.change.has(row),
        }
    }

    /// Those of `rows` that are of this half.
    pub fn of(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().copied().filter(|row| self.has(*row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_share_no_row_and_miss_none() {
        let rows = [0, 1, 2, 3];
        let halves = |change: RowChange| -> Vec<Vec<usize>> {
            Half::both(&change).map(|half| half.of(&rows)).collect()
        };
        let marked = RowChange::Rows(vec![false, true, false]);
        assert_eq!(halves(marked), [vec![1], vec![0, 2, 3]]);
        assert_eq!(halves(RowChange::All), [rows.to_vec(), vec![]]);
        assert_eq!(halves(RowChange::Untouched), [vec![], rows.to_vec()]);
        assert_eq!(halves(RowChange::Unknown), [rows.to_vec()], "rows do not say what is new");
    }
}

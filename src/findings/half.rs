//! What a pull request brings to a table, told apart from what was there.

/// Rows of a table that a pull request adds or changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    /// All of them.
    All,
    /// Those that are marked, by row; none beyond the last mark.
    Rows(Vec<bool>),
}

impl Brought {
    /// Whether it brings the row.
    pub fn has(&self, row: usize) -> bool {
        match self {
            Self::All => true,
            Self::Rows(marked) => marked.get(row).copied().unwrap_or(false),
        }
    }

    /// Whether it brings any row.
    pub fn any(&self) -> bool {
        match self {
            Self::All => true,
            Self::Rows(marked) => marked.contains(&true),
        }
    }
}

/// A half of a table's rows, told apart in a pull request: what it brings, and what was there.
#[derive(Debug, Clone, Copy)]
pub struct Half<'a> {
    /// Whether it is the half that is new; none where all rows are told together.
    pub new: Option<bool>,
    brought: Option<&'a Brought>,
}

impl<'a> Half<'a> {
    /// The halves of a table of which a pull request brings rows; all in one elsewhere.
    pub fn both(brought: Option<&'a Brought>) -> impl Iterator<Item = Self> + use<'a> {
        let news = if brought.is_some() { &[Some(true), Some(false)][..] } else { &[None] };
        news.iter().map(move |new| Self { new: *new, brought })
    }

    /// Whether the row is of this half.
    pub fn has(&self, row: usize) -> bool {
        match (self.new, self.brought) {
            (Some(new), Some(brought)) => brought.has(row) == new,
            _ => true,
        }
    }

    /// Those of `rows` that are of this half.
    pub fn of(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().copied().filter(|row| self.has(*row)).collect()
    }
}

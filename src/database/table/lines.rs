//! The line of a text file on which each row of its table starts.

/// Converts byte positions of a text, given in ascending order, to line numbers.
pub(super) struct LineCounter<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1 }
    }

    /// Returns the line, from 1, of the record that starts at a byte. Line ends at this byte belong to the record
    /// before.
    ///
    /// The csv crate counts records and not lines, so blank lines and CRLF would shift its numbers.
    pub fn line(&mut self, byte: u64) -> u32 {
        let to = past_line_end(self.bytes, (byte as usize).min(self.bytes.len()));
        let passed = &self.bytes[self.at.min(to)..to];
        self.line += passed.iter().filter(|b| **b == b'\n').count() as u32;
        self.at = self.at.max(to);
        self.line
    }
}

/// Moves a record's position past the line break before it.
pub(super) fn past_line_end(text: &[u8], mut at: usize) -> usize {
    while at + 1 < text.len() && matches!(text[at], b'\r' | b'\n') {
        at += 1;
    }
    at
}

/// The line of each row, stored as the first row of each run of rows on successive lines.
#[derive(Debug, Default, Clone)]
pub(crate) struct RowLines(Vec<(usize, u32)>);

impl RowLines {
    /// Stores the line of each row, in the order of the rows.
    pub(super) fn of(lines: &[u32]) -> Self {
        let mut runs: Vec<(usize, u32)> = Vec::new();
        for (row, line) in lines.iter().enumerate() {
            if runs.last().is_none_or(|(first, start)| start + (row - first) as u32 != *line) {
                runs.push((row, *line));
            }
        }
        Self(runs)
    }

    /// Returns the place of a row for people: `line 4` of a text table, else `row 2`.
    pub(crate) fn place(&self, row: usize) -> String {
        self.line(row).map_or_else(|| format!("row {row}"), |line| format!("line {line}"))
    }

    /// Returns the line of a row, from 1; `None` for a table without lines.
    pub(crate) fn line(&self, row: usize) -> Option<u64> {
        let run = self.0.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        let (first, start) = self.0[run];
        Some(u64::from(start) + (row - first) as u64)
    }
}

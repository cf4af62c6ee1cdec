//! A document that is rendered as text for a terminal or as Markdown.

use textwrap::core::display_width;

use super::template::inert;
use crate::base::escape::clean;

/// A document of paragraphs, lists and tables. The texts may contain names from data; they are escaped in every
/// rendering.
#[derive(Debug)]
pub struct Document {
    /// The title of the document in Markdown; a terminal does not show it.
    title: String,
    parts: Vec<DocumentPart>,
}

#[derive(Debug)]
struct DocumentPart {
    /// The heading of the part; empty for no heading.
    heading: String,
    /// True if Markdown hides the body below the heading until a reader opens it.
    folded: bool,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Paragraph(String),
    List(Vec<ListItem>),
    Table(DocumentTable),
}

/// An item of a list, with further lines below the item.
#[derive(Debug)]
pub struct ListItem {
    pub text: String,
    pub below: Vec<String>,
}

/// A table with cells of text.
#[derive(Debug)]
pub struct DocumentTable {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The indices of the columns that contain numbers and are right-aligned.
    figures: Vec<usize>,
}

impl From<String> for ListItem {
    fn from(text: String) -> Self {
        Self { text, below: Vec::new() }
    }
}

impl DocumentTable {
    /// Creates a table with the column names `heads`. The columns with the indices `figures` are right-aligned.
    pub fn new(
        heads: &[&str],
        figures: impl Into<Vec<usize>>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { heads, figures: figures.into(), rows: rows.into_iter().collect() }
    }
}

impl Document {
    /// Creates an empty document.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), parts: Vec::new() }
    }

    fn add(&mut self, heading: &str, folded: bool, body: Body) {
        self.parts.push(DocumentPart { heading: heading.to_owned(), folded, body });
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.add("", false, Body::Paragraph(text.into()));
    }

    /// Adds a list, unless it is empty.
    pub fn list<I: Into<ListItem>>(&mut self, heading: &str, items: impl IntoIterator<Item = I>) {
        let items: Vec<ListItem> = items.into_iter().map(Into::into).collect();
        if !items.is_empty() {
            self.add(heading, false, Body::List(items));
        }
    }

    /// Adds a table, unless it has no rows.
    pub fn table(&mut self, heading: &str, table: DocumentTable) {
        if !table.rows.is_empty() {
            self.add(heading, false, Body::Table(table));
        }
    }

    /// Adds a table that Markdown hides until a reader opens it. An empty table is not added; its heading becomes a
    /// paragraph.
    pub(crate) fn folded(&mut self, heading: &str, table: DocumentTable) {
        if table.rows.is_empty() {
            self.paragraph(heading);
        } else {
            self.add(heading, true, Body::Table(table));
        }
    }

    /// Renders the document for a terminal.
    pub fn text(&self) -> String {
        let parts = self.parts.iter().map(|part| {
            let lines = part.body.lines();
            if part.heading.is_empty() {
                return lines.concat();
            }
            let lines: String = lines.iter().map(|line| format!("  {line}")).collect();
            format!("{}\n{lines}", clean(&part.heading))
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    /// Renders the document as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            out += &format!("## {}\n\n", inert(&self.title));
        }
        let parts = self.parts.iter().map(|part| {
            let (heading, body) = (inert(&part.heading), part.body.markdown());
            if part.folded {
                format!("<details><summary>{heading}</summary>\n\n{body}\n</details>\n")
            } else if heading.is_empty() {
                body
            } else {
                format!("### {heading}\n\n{body}")
            }
        });
        out + &parts.collect::<Vec<_>>().join("\n")
    }
}

impl Body {
    /// Renders the body as lines for a terminal.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::Paragraph(text) => vec![clean(text) + "\n"],
            Self::List(items) => {
                let lines = items.iter().flat_map(|item| {
                    let below = item.below.iter().map(|line| format!("  {}\n", clean(line)));
                    std::iter::once(clean(&item.text) + "\n").chain(below)
                });
                lines.collect()
            }
            Self::Table(table) => table.lines(),
        }
    }

    fn markdown(&self) -> String {
        match self {
            Self::Paragraph(text) => inert(text) + "\n",
            Self::List(items) => {
                let items = items.iter().map(|item| {
                    let below = item.below.iter().map(|line| format!("  - {}\n", inert(line)));
                    format!("- {}\n{}", inert(&item.text), below.collect::<String>())
                });
                items.collect()
            }
            Self::Table(table) => table.markdown(),
        }
    }
}

impl DocumentTable {
    fn lines(&self) -> Vec<String> {
        let rows = std::iter::once(&self.heads).chain(&self.rows);
        let rows: Vec<Vec<String>> =
            rows.map(|row| row.iter().map(|cell| clean(cell)).collect()).collect();
        let width = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| display_width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
                let space = " ".repeat(width - display_width(cell));
                if self.figures.contains(&at) {
                    format!("{space}{cell}")
                } else {
                    format!("{cell}{space}")
                }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        rows.iter().map(line).collect()
    }

    fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let cells = |row: &Vec<String>| line(row.iter().map(|cell| inert(cell)).collect());
        let align = |at: usize| if self.figures.contains(&at) { "--:" } else { "---" };
        let rule = line((0..self.heads.len()).map(|at| align(at).to_owned()).collect());
        let rows: String = self.rows.iter().map(cells).collect();
        format!("{}{rule}{rows}", cells(&self.heads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_rendered_for_terminals_and_as_markdown() {
        let mut document = Document::new("Status");
        document.paragraph("2 tables");
        let rows = [["a_b", "12"], ["x|`y`", "3"]].map(|row| row.map(str::to_owned).to_vec());
        document.table("Tables", DocumentTable::new(&["table", "rows"], [1], rows));
        document.folded("nothing moves", DocumentTable::new(&["model"], [], []));
        let below = vec!["::error::".to_owned()];
        document.list("Lost", [ListItem { text: "one\n".into(), below }]);
        let text = "2 tables\n\nTables\n  table  rows\n  a_b      12\n  x|`y`     3\n\nnothing moves\n\n\
                    Lost\n  one\\u{a}\n    \\u{3a}:error::\n";
        assert_eq!(document.text(), text);
        let markdown = "## Status\n\n2 tables\n\n### Tables\n\n| table | rows |\n| --- | --: |\n\
                        | `a_b` | 12 |\n| `x\\|'y'` | 3 |\n\nnothing moves\n\n\
                        ### Lost\n\n- `one\\u{a}`\n  - `\\u{3a}:error`::\n";
        assert_eq!(document.markdown(), markdown);
    }
}

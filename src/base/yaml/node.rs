//! A YAML document as it is written: texts before any type is chosen for them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};

/// A node of a document, with aliases replaced by the nodes that they name.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) content: Content,
    /// The resolved tag, such as `tag:yaml.org,2002:str`; `None` if there is none, or only `!`.
    pub(super) tag: Option<String>,
    /// The line, counted from 1.
    pub(super) line: usize,
    /// The number of levels below the node.
    depth: usize,
}

/// The content of a node.
#[derive(Debug)]
pub(super) enum Content {
    /// A text, and true if it is plain: neither quoted nor a block.
    Scalar(String, bool),
    List(Vec<Rc<Node>>),
    Map(Vec<(Rc<Node>, Rc<Node>)>),
}

/// The maximal depth of a node that an alias repeats.
const DEEPEST_ALIAS: usize = 255;

impl Node {
    /// Returns a plain text.
    pub(super) fn plain(text: &str) -> Self {
        Self { content: Content::Scalar(text.to_owned(), true), tag: None, line: 0, depth: 0 }
    }
}

impl Content {
    fn depth(&self) -> usize {
        let deepest = match self {
            Self::Scalar(..) => return 0,
            Self::List(items) => items.iter().map(|item| item.depth).max(),
            Self::Map(pairs) => pairs.iter().map(|(key, value)| key.depth.max(value.depth)).max(),
        };
        deepest.map_or(1, |depth| depth + 1)
    }
}

/// The nodes of a document.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The top node; `None` if the document is empty.
    pub(super) top: Option<Rc<Node>>,
    /// True if the text is not YAML.
    pub(super) is_malformed: bool,
    /// The places of quoted texts and blocks, in bytes.
    quoted: Vec<Range<usize>>,
    anchors: BTreeMap<usize, Rc<Node>>,
}

impl Document {
    /// Reads the only document of a text.
    pub(super) fn read(text: &str) -> Self {
        let mut document = Self::default();
        document.top = document.node(&mut Parser::new_from_str(text));
        document
    }

    /// Returns the line, counted from 1, of the first tab that separates tokens. Tabs in comments, quoted texts and
    /// blocks are content.
    pub(super) fn tab(&self, text: &str) -> Option<usize> {
        let (mut line, mut in_comment, mut before) = (1, false, b'\n');
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'\n' => (line, in_comment) = (line + 1, false),
                b'\r' => in_comment = false,
                b'\t' if !in_comment && !self.is_quoted(at) => return Some(line),
                b'#' if before.is_ascii_whitespace() && !self.is_quoted(at) => in_comment = true,
                _ => {}
            }
            before = byte;
        }
        None
    }

    /// Returns true if a byte is in a quoted text or a block.
    pub(super) fn is_quoted(&self, at: usize) -> bool {
        let after = self.quoted.partition_point(|place| place.start <= at);
        after > 0 && self.quoted[after - 1].contains(&at)
    }

    /// Reads the next node; `None` at the end of a list, a map or the document.
    fn node<'t>(&mut self, events: &mut Parser<'t, StrInput<'t>>) -> Option<Rc<Node>> {
        loop {
            let event = events.next()?;
            self.is_malformed |= event.is_err();
            let (event, span) = event.ok()?;
            let (content, anchor, tag) = match event {
                Event::Alias(anchor) => {
                    let node = self.anchors.get(&anchor).cloned();
                    return node.filter(|node| node.depth <= DEEPEST_ALIAS);
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let is_plain = style == ScalarStyle::Plain;
                    self.quoted.extend(span.byte_range().filter(|_| !is_plain));
                    (Content::Scalar(text.into_owned(), is_plain), anchor, tag)
                }
                Event::SequenceStart(_, anchor, tag) => {
                    let items = std::iter::from_fn(|| self.node(events)).collect();
                    (Content::List(items), anchor, tag)
                }
                Event::MappingStart(_, anchor, tag) => {
                    let pair = || Some((self.node(events)?, self.node(events)?));
                    (Content::Map(std::iter::from_fn(pair).collect()), anchor, tag)
                }
                Event::SequenceEnd | Event::MappingEnd | Event::DocumentEnd | Event::StreamEnd => {
                    return None;
                }
                _ => continue,
            };
            let tag = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()));
            let tag = tag.filter(|tag| tag != "!");
            let depth = content.depth();
            let node = Rc::new(Node { content, tag, line: span.start.line(), depth });
            if anchor != 0 {
                self.anchors.insert(anchor, node.clone());
            }
            return Some(node);
        }
    }
}

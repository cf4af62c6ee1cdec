//! A YAML document as it is written: texts before any type is chosen for them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};

/// A node of a YAML document, with aliases replaced by the nodes that they name.
#[derive(Debug, Default)]
pub(super) struct WrittenNode {
    pub(super) kind: NodeKind,
    /// The text of a scalar; empty for lists and maps.
    pub(super) text: String,
    /// For a map, its keys and values. For a list, its items, each with its index as the key, such as `[0]`.
    pub(super) children: Vec<(Rc<WrittenNode>, Rc<WrittenNode>)>,
    /// The node's YAML tag, such as `!!str`; empty if the node has no tag or only `!`.
    pub(super) tag: String,
    /// The node's line in the document, counted from 1.
    pub(super) line: usize,
    /// The number of levels below the node.
    depth: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// A scalar that is neither quoted nor a block scalar.
    #[default]
    Plain,
    /// A quoted scalar or a block scalar.
    Quoted,
    List,
    Map,
}

/// An alias to a node with more than this number of levels below it is read as null.
const DEEPEST_ALIAS: usize = 255;

impl WrittenNode {
    /// Creates a scalar without quotes, outside of any document.
    pub(super) fn plain(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// The nodes of a YAML document.
#[derive(Debug, Default)]
pub(super) struct WrittenDocument {
    /// The top node; `None` if the document is empty.
    pub(super) top: Option<Rc<WrittenNode>>,
    /// True if the text is not YAML.
    pub(super) is_malformed: bool,
    /// The byte ranges of quoted scalars and block scalars in the text.
    quoted: Vec<Range<usize>>,
    anchors: BTreeMap<usize, Rc<WrittenNode>>,
}

impl WrittenDocument {
    /// Reads a YAML text that consists of one document.
    pub(super) fn read(text: &str) -> Self {
        let mut document = Self::default();
        document.top = document.node(&mut Parser::new_from_str(text));
        document
    }

    /// Returns `text`, in which each character of a quoted or block scalar is replaced by `_`. Line ends are kept.
    pub(super) fn bare(&self, text: &str) -> String {
        let is_quoted = |at: usize| {
            let after = self.quoted.partition_point(|place| place.start <= at);
            after > 0 && self.quoted[after - 1].contains(&at)
        };
        let bare = |(at, c)| if c != '\n' && c != '\r' && is_quoted(at) { '_' } else { c };
        text.char_indices().map(bare).collect()
    }

    /// Reads the next node; `None` at the end of a list, a map or the document.
    fn node<'t>(&mut self, events: &mut Parser<'t, StrInput<'t>>) -> Option<Rc<WrittenNode>> {
        loop {
            let event = events.next()?;
            self.is_malformed |= event.is_err();
            let (event, span) = event.ok()?;
            let mut node = WrittenNode { line: span.start.line(), ..WrittenNode::default() };
            let (anchor, tag) = match event {
                Event::Alias(anchor) => {
                    let node = self.anchors.get(&anchor).cloned();
                    return Some(node.filter(|n| n.depth <= DEEPEST_ALIAS).unwrap_or_default());
                }
                Event::Scalar(text, style, anchor, tag) => {
                    node.text = text.into_owned();
                    if style != ScalarStyle::Plain {
                        node.kind = NodeKind::Quoted;
                        self.quoted.extend(span.byte_range());
                    }
                    (anchor, tag)
                }
                Event::SequenceStart(_, anchor, tag) => {
                    node.kind = NodeKind::List;
                    let keys = (0..).map(|i| Rc::new(WrittenNode::plain(format!("[{i}]"))));
                    node.children = keys.zip(std::iter::from_fn(|| self.node(events))).collect();
                    (anchor, tag)
                }
                Event::MappingStart(_, anchor, tag) => {
                    node.kind = NodeKind::Map;
                    let pair = || Some((self.node(events)?, self.node(events)?));
                    node.children = std::iter::from_fn(pair).collect();
                    (anchor, tag)
                }
                Event::SequenceEnd | Event::MappingEnd | Event::DocumentEnd | Event::StreamEnd => {
                    return None;
                }
                _ => continue,
            };
            let tag = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()));
            let tag = tag.filter(|tag| tag != "!").unwrap_or_default();
            node.tag = tag.replace("!!", "!").replacen("tag:yaml.org,2002:", "!!", 1);
            let depths = node.children.iter().map(|(key, value)| key.depth.max(value.depth) + 1);
            node.depth = depths.max().unwrap_or(0);
            let node = Rc::new(node);
            if anchor != 0 {
                self.anchors.insert(anchor, node.clone());
            }
            return Some(node);
        }
    }
}

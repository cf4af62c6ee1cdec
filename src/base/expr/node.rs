//! The syntax tree of a formula.

use std::sync::Arc;

use super::Lookup;

/// An expression or subexpression.
#[derive(Debug, Clone)]
pub(super) enum ExprNode {
    Number(f64),
    Text(Arc<str>),
    Bool(bool),
    Null,
    Column(String),
    Field(String),
    Neg(Box<ExprNode>),
    Not(Box<ExprNode>),
    Math(Math, Box<ExprNode>, Box<ExprNode>),
    Compare(Compare, Box<ExprNode>, Box<ExprNode>),
    Logic {
        and: bool,
        sides: Box<(ExprNode, ExprNode)>,
    },
    Like(Box<ExprNode>, String),
    IsNull(Box<ExprNode>),
    Case(Vec<(ExprNode, ExprNode)>, Box<ExprNode>),
    Call(Function, Vec<ExprNode>),
    Lookup(Lookup, Box<ExprNode>),
    /// A cast to a number. The operand is a text or a number.
    Cast(Box<ExprNode>),
    /// A substring (`substr`): the text, the number of characters to skip, and the maximum number of characters to
    /// keep.
    Part(Box<ExprNode>, usize, usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Math {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Compare {
    /// Returns true if the comparison holds for two numbers. A comparison with null (NaN) is false.
    #[inline]
    pub(crate) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Eq => a == b,
            Self::Ne => a != b && !a.is_nan() && !b.is_nan(),
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    Abs,
    Ceil,
    Coalesce,
    Floor,
    Greatest,
    Least,
    Log2,
    Power,
    Sqrt,
}

impl ExprNode {
    /// Calls `f` on this node and all nodes below it.
    pub(crate) fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a ExprNode)) {
        f(self);
        self.parts().into_iter().for_each(|part| part.visit(f));
    }

    /// Calls `f` on each condition of a chain of ANDs, or on this node itself if it is not an AND.
    pub(crate) fn conditions<'a>(&'a self, f: &mut dyn FnMut(&'a ExprNode)) {
        match self {
            Self::Logic { and: true, sides } => {
                sides.0.conditions(f);
                sides.1.conditions(f);
            }
            node => f(node),
        }
    }

    /// Returns the direct children of this node.
    pub(crate) fn parts(&self) -> Vec<&ExprNode> {
        match self {
            Self::Neg(a)
            | Self::Not(a)
            | Self::Like(a, _)
            | Self::IsNull(a)
            | Self::Cast(a)
            | Self::Part(a, ..)
            | Self::Lookup(_, a) => vec![a],
            Self::Math(_, a, b) | Self::Compare(_, a, b) => vec![a, b],
            Self::Logic { sides, .. } => vec![&sides.0, &sides.1],
            Self::Case(arms, otherwise) => {
                let arms = arms.iter().flat_map(|(when, then)| [when, then]);
                arms.chain([&**otherwise]).collect()
            }
            Self::Call(_, args) => args.iter().collect(),
            Self::Number(_) | Self::Text(_) | Self::Bool(_) | Self::Null => Vec::new(),
            Self::Column(_) | Self::Field(_) => Vec::new(),
        }
    }
}

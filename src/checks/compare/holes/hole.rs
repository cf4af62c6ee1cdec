//! A block of missing keys, described.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::Case;
use crate::base::words::names;
use crate::checks::compare::blocks::{self, Block, State};
use crate::checks::compare::gaps::Reference;
use crate::database::coverage::{Kind, Points};
use crate::findings::{EXAMPLES, Example};

/// Where a block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// It is made of whole slices: no condition on the grid.
    Slice,
    /// At an end of the grid: beyond it a lookup extrapolates.
    End,
    /// Inside the grid: a lookup interpolates over it.
    Inside,
}

/// Who has a block, of the systems or of the versions that are compared with.
#[derive(Debug)]
struct Share {
    what: &'static str,
    having: Vec<String>,
    of: usize,
    /// Whether one that has it is of the table's own version.
    same_version: bool,
}

/// Keys that references have and a table would not serve.
#[derive(Debug)]
pub struct Hole {
    /// Its values for people: `num_heads 8`.
    pub words: String,
    /// How many keys it has.
    pub keys: usize,
    /// The first of them.
    pub examples: Vec<Example>,
    extent: Extent,
    had_by: Vec<Share>,
    /// Its values by part, as far as the part has several.
    values: BTreeMap<String, Vec<Json>>,
}

impl Hole {
    pub(super) fn new(case: &Case<'_>, points: &Points, states: &[State], block: &Block) -> Self {
        let mut order: Vec<usize> = block.missing.clone();
        order.sort_by_cached_key(|p| {
            points.parts.iter().map(|part| part.codes[*p]).collect::<Vec<_>>()
        });
        let example = |p: &usize| {
            let had = case.found.had(*p).trailing_zeros() as usize;
            let by = case.references.get(had).map(|r| ("row of".to_owned(), r.name().into()));
            Example {
                row: u64::from(case.found.row(*p)),
                key: points.key(*p),
                values: by.into_iter().collect(),
            }
        };
        let values = |part: usize| {
            let values = block.values(points, part).into_iter();
            values.map(|v| points.parts[part].values[v as usize].json()).collect()
        };
        Self {
            words: words(points, states, block),
            keys: case.found.keys(block.missing.len()),
            examples: order.iter().take(EXAMPLES).map(example).collect(),
            extent: extent(points, states, block),
            had_by: had_by(case, block),
            values: (0..points.parts.len())
                .filter(|p| points.parts[*p].values.len() > 1)
                .map(|p| (points.parts[p].name.clone(), values(p)))
                .collect(),
        }
    }

    /// Whether at least half of the nearest systems, or of the other versions, have it. Over what is
    /// missing inside a grid a lookup interpolates: it counts where the collector's plan has it, which
    /// is one for all systems of a version.
    pub fn matters(&self) -> bool {
        let many = |s: &&Share| !s.having.is_empty() && 2 * s.having.len() >= s.of;
        let planned = |s: &Share| self.extent != Extent::Inside || s.same_version;
        self.had_by.iter().filter(many).any(planned)
    }

    /// `2 of 2 nearest systems`.
    pub fn shares(&self) -> String {
        let one = |s: &Share| {
            let end = if s.of == 1 { "" } else { "s" };
            format!("{} of {} {}{end}", s.having.len(), s.of, s.what)
        };
        self.had_by.iter().map(one).collect::<Vec<_>>().join(" and ")
    }

    /// For reports.
    pub fn json(&self) -> Json {
        json!({
            "values": self.values,
            "keys": self.keys,
            "extent": match self.extent {
                Extent::Slice => "slice",
                Extent::End => "end of the grid",
                Extent::Inside => "inside the grid",
            },
            "had_by": self.had_by.iter().flat_map(|s| &s.having).collect::<Vec<_>>(),
            "of": self.shares(),
        })
    }
}

/// Who has a block: who has half of what is missing of it.
fn had_by(case: &Case<'_>, block: &Block) -> Vec<Share> {
    let has = |i: usize| {
        let had = block.missing.iter().filter(|p| case.found.has(i, **p)).count();
        2 * had >= block.missing.len()
    };
    let share = |(systems, what): (bool, &'static str)| {
        let of =
            || case.references.iter().enumerate().filter(|(_, r)| r.system.is_some() == systems);
        let having = || of().filter(|(i, _)| has(*i)).map(|(_, r)| r);
        let same_version = having().any(|r| r.version == case.file.place.version);
        Share {
            what,
            having: having().map(Reference::name).collect(),
            of: of().count(),
            same_version,
        }
    };
    let shares = [(true, "nearest system"), (false, "other version")].map(share);
    shares.into_iter().filter(|s| s.of > 0).collect()
}

/// Whether a block is made of slices, or where in the grid it lies.
fn extent(points: &Points, states: &[State], block: &Block) -> Extent {
    let mut extent = Extent::Slice;
    for (i, (part, values)) in block.conditions.iter().enumerate() {
        if points.parts[*part].kind != Kind::Grid {
            continue;
        }
        let mut others = block.conditions.clone();
        others.remove(i);
        let codes = &points.parts[*part].codes;
        let there = (0..points.len)
            .filter(|p| states[*p] == State::There && blocks::holds(points, &others, *p))
            .map(|p| codes[p]);
        let (mut below, mut above) = (false, false);
        for code in there {
            below |= Some(&code) < values.first();
            above |= Some(&code) > values.last();
        }
        if !(below && above) {
            return Extent::End;
        }
        extent = Extent::Inside;
    }
    extent
}

/// A block's conditions for people, and what else its points have in common.
fn words(points: &Points, states: &[State], block: &Block) -> String {
    let swept = |part: usize| points.parts[part].kind == Kind::Grid;
    let condition = |(part, values): &(usize, BTreeSet<u32>)| {
        let (name, of) = (&points.parts[*part].name, &points.parts[*part].values);
        let codes: Vec<usize> = values.iter().map(|v| *v as usize).collect();
        let (first, last) = (codes[0], codes[codes.len() - 1]);
        let run = swept(*part) && codes.len() > 1 && last - first + 1 == codes.len();
        match (run, first == 0, last + 1 == of.len()) {
            (true, false, true) => format!("{name} from {} up", of[first]),
            (true, true, false) => format!("{name} up to {}", of[last]),
            (true, ..) => format!("{name} {} to {}", of[first], of[last]),
            _ => {
                let shown: Vec<String> = codes.iter().map(|v| of[*v].to_string()).collect();
                format!("{name} {}", names(shown.iter().map(String::as_str)))
            }
        }
    };
    let (grid, slices): (Vec<_>, Vec<_>) = block.conditions.iter().partition(|(p, _)| swept(*p));
    let said: Vec<String> = slices.into_iter().chain(grid).map(condition).collect();
    let conditions: BTreeSet<usize> = block.conditions.iter().map(|(p, _)| *p).collect();
    let common = |part: &usize| {
        let values = block.values(points, *part);
        let codes = &points.parts[*part].codes;
        let elsewhere = |p| states[p] == State::There && !values.contains(&codes[p]);
        !swept(*part)
            && !conditions.contains(part)
            && values.len() == 1
            && (0..points.len).any(elsewhere)
    };
    let context: Vec<String> = (0..points.parts.len())
        .filter(common)
        .map(|part| format!("{} {}", points.parts[part].name, points.cell(part, block.missing[0])))
        .collect();
    let said = said.join(", ");
    if context.is_empty() { said } else { format!("{said} with {}", context.join(", ")) }
}

//! Figures of a system, compared with those of known systems: of the same name, of the GPU that the rows name, or of
//! the same generation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::times_off;
use crate::checks::context::SystemContext;
use crate::specs::system::System;

/// The limits for comparing a system's figures with those of known systems.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownFigures {
    /// The dotted paths of the figures that are compared.
    figures: Vec<String>,
    /// A figure is reported if it differs by more than this factor from the figure of every known system of the same
    /// generation.
    factor: f64,
    /// The maximum factor, up or down, between a system's figure and the value that is known for this system or for its
    /// GPU.
    own_factor: f64,
    /// Exceptions from `own_factor`: the maximum factor of single figures, by the figure's dotted path. With a factor
    /// of 1, the figure must equal the known value.
    own_factors: BTreeMap<String, f64>,
    /// The names of figures that are rates of network cards, and a list of known network cards.
    nics: Nics,
}

/// The names of figures that are rates of network cards, and a list of known network cards.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nics {
    figures: Vec<String>,
    cards: Vec<NetworkCard>,
}

/// A network card.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NetworkCard {
    /// The card's rate in B/s.
    rate: f64,
    name: String,
}

/// A known system with which a checked system is compared.
struct KnownSystem<'a> {
    known: &'a System,
    /// The clause that precedes the known value in a message, such as `but h100_sxm is known to have`.
    says: String,
}

impl KnownFigures {
    /// Returns clauses on figures of a system that differ from known values. A system with a known name is compared
    /// with the known system of that name. Any other system is compared with known systems of the same GPU or the same
    /// generation.
    pub(crate) fn outliers(&self, system: &System, at: &SystemContext<'_>) -> Vec<String> {
        if let Some(known) = at.specs.systems.get(&system.name) {
            let says = format!("but {} is known to have", system.name);
            let reference = [KnownSystem { known, says }];
            let figures = self.figures.iter();
            return figures.filter_map(|path| self.differs(path, system, &reference)).collect();
        }
        let references: Vec<KnownSystem<'_>> = at
            .devices
            .iter()
            .flat_map(|device| {
                let alike = at.specs.systems.values().filter(|known| known.is_device(device));
                alike.map(move |known| {
                    let says = format!("but its rows are of {device}, known to have");
                    KnownSystem { known, says }
                })
            })
            .collect();
        let mut odd: Vec<String> = self.copied(system, at).into_iter().collect();
        for path in &self.figures {
            // Machines with the same GPU may have other figures outside the GPU.
            odd.extend(if path.starts_with("gpu.") && !references.is_empty() {
                self.differs(path, system, &references)
            } else {
                self.far(path, system, at)
            });
        }
        odd
    }

    /// Returns a clause if a figure differs from the known values of all `references`; `None` if it agrees with one of
    /// the references.
    fn differs(
        &self,
        path: &str,
        system: &System,
        references: &[KnownSystem<'_>],
    ) -> Option<String> {
        let value = system.figure(path).filter(|value| *value > 0.0)?;
        let factor = self.own_factors.get(path).copied().unwrap_or(self.own_factor);
        let mut first = None;
        for reference in references {
            let values = reference.known.correct_values(path);
            let Some(known) = values.first().copied().filter(|known| *known > 0.0) else {
                continue;
            };
            if values.iter().any(|known| times_off(value / known) <= factor) {
                return None;
            }
            first = first.or(Some((known, &reference.says)));
        }
        let (known, says) = first?;
        let figures = (self.with_card(path, value), self.with_card(path, known));
        Some(format!("{path} is {}, {says} {}", figures.0, figures.1))
    }

    /// Formats a figure for messages. The rate of a network card is followed by the card's name.
    fn with_card(&self, path: &str, value: f64) -> String {
        let cards = self.nics.cards.iter().filter(|_| self.nics.figures.iter().any(|f| f == path));
        let card =
            cards.min_by(|a, b| times_off(value / a.rate).total_cmp(&times_off(value / b.rate)));
        let card = card.filter(|card| times_off(value / card.rate) <= self.own_factor);
        let name = card.map(|card| format!(" ({})", card.name)).unwrap_or_default();
        plain(value) + &name
    }

    /// Returns a clause if a figure differs from that of every known system of the same generation; `None` if it agrees
    /// with one of these systems.
    fn far(&self, path: &str, system: &System, at: &SystemContext<'_>) -> Option<String> {
        let value = system.figure(path).filter(|value| *value > 0.0)?;
        let generation = system.generation()?;
        let near = at.specs.systems.values().filter(|p| p.generation() == Some(generation));
        let figure =
            |peer: &System| peer.correct_values(path).first().copied().filter(|f| *f > 0.0);
        let figures: Vec<(&str, f64)> =
            near.filter_map(|peer| Some((peer.name.as_str(), figure(peer)?))).collect();
        if figures.is_empty() || figures.iter().any(|(_, f)| times_off(value / f) <= self.factor) {
            return None;
        }
        let others: Vec<String> =
            figures.iter().map(|(name, figure)| format!("{name} {}", plain(*figure))).collect();
        Some(format!(
            "{path} is {}, but the nearest known systems have {}",
            plain(value),
            others.join(", ")
        ))
    }

    /// Returns a clause if all GPU figures of a system equal those of a known system although the system's rows name
    /// another GPU; `None` otherwise.
    fn copied(&self, system: &System, at: &SystemContext<'_>) -> Option<String> {
        const FEWEST: usize = 5;
        let figures = self.figures.iter().filter(|path| path.starts_with("gpu."));
        let given: Vec<&String> = figures.filter(|path| system.figure(path).is_some()).collect();
        let is_copy = |known: &&System| {
            given.len() >= FEWEST
                && given.iter().all(|path| system.figure(path) == known.figure(path))
        };
        let known = at.specs.systems.values().find(is_copy)?;
        let other = at.devices.iter().find(|device| !known.is_device(device))?;
        let (name, device) = (&known.name, other);
        Some(format!("every figure of the GPU is that of {name}, but its rows are of {device}"))
    }
}

/// Formats a figure for messages: small numbers in full, others in scientific notation.
pub(super) fn plain(figure: f64) -> String {
    if figure < 1e5 { figure.to_string() } else { format!("{figure:e}") }
}

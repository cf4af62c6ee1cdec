//! The latencies of a table's slices over those of its peers: the same slices of other backends and
//! versions on the same machine, and of the same version on the other systems of the generation.
//!
//! [`peers`] takes the ratios, [`deviation`] judges them, and [`culprit`] decides which of the two sides is at fault.

mod culprit;
mod deviation;
mod differences;
mod finding;
mod gaps;
mod kept;
mod peers;

pub use self::deviation::DeviationBand;
pub use self::kept::NamedPeers;
pub use self::peers::NEARBY;

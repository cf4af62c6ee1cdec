//! Curves of a table against those of other tables.
//!
//! The latency of a key over a reference's latency of the same key, r, is far smoother along an axis than
//! the latency itself, since the steps of a kernel are in both. So a point that is twice too slow stands
//! out in r though it hides in its own curve. The way there, a file each:
//!
//! 1. When a table is read, every key's latency is kept (`series::curve`, 9 bytes per row);
//!    of a judged table the points that bend, too (`series::curve`): those off the line between their neighbours by 1.3 or
//!    more, which are one or two in a hundred. All the rest cannot stand out by 1.5 in r, or nearly so.
//! 2. `references` picks up to nine other tables in independent groups: the backend's other versions on
//!    the system, its tables on other systems, and other backends on the system.
//! 3. `evidence` says what they say of a bend: how far it stands out in r.
//! 4. `recurrence` says whether the same points of another table show the same: then it is a kernel's step.
//! 5. `shapes` does the same for a whole series against the other series of its slice, and for how rough
//!    r is along the series.
//! 6. [`CurveScores`] holds this for all judged tables; the rules on outliers and on noisy slices read it.

mod evidence;
mod recurrence;
mod references;
mod scores;
mod shapes;

pub use self::evidence::Evidence;
pub use self::recurrence::stands_out_in;
pub use self::references::comparable;
pub use self::scores::{CurveScores, SpikedPoints, TableScores};
pub use self::shapes::{Roughness, ShapeScore};

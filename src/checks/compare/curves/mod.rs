//! Comparison of a table's curves with those of other tables.
//!
//! The ratio r of a key's latency to another table's latency of the same key is far smoother along an axis than the
//! latency itself, since both tables have the steps of a kernel. So a point that is twice too slow is visible in r,
//! even if it is hidden in its own curve. A deviating point is a point off the line between its neighbours.
//!
//! The steps, one file each:
//!
//! 1. When a table is read, the latency of every key is kept (`series::curve`, 9 bytes per row). Of a judged table,
//!    the deviating points are kept, too: points off the line by a factor of 1.3 or more, which are one or two in a
//!    hundred. Other points hardly ever deviate by 1.5 in r.
//! 2. `references` picks up to nine other tables in independent groups: the backend's other versions on the system,
//!    its tables on other systems, and other backends on the system.
//! 3. `evidence` computes how far a deviating point deviates in r.
//! 4. `recurrence` finds deviating points that another table has at the same key: these are a kernel's steps.
//! 5. `shapes` compares whole series with the other series of their slice, and computes how rough r is along the
//!    series.
//! 6. [`CurveScores`] holds the results for all judged tables. The rules on outliers and on noisy slices read it.

mod evidence;
mod recurrence;
mod references;
mod scores;
mod shapes;

pub(crate) use self::recurrence::is_outlier_in;
pub(crate) use self::references::comparable;
pub(crate) use self::scores::{CurveScores, DeviatingPoints, TableScores};
pub(crate) use self::shapes::{Roughness, SeriesScore};

//! Tables whose latencies do not grow with the work, far above what a launch or the operation's fastest point takes,
//! and tables that are almost all zero, where single zeros are right.

use schemars::JsonSchema;
use serde::Deserialize;

use super::odd::OddSlice;
use crate::base::stats::{least_positive, upper_median};
use crate::base::words::{Figure, count};
use crate::checks::context::RowContext;

/// Limits for tables whose latencies seem to be mostly a constant time, such as that of kernel launches.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FlatLimits {
    /// The names of the axes along which all of a row's work grows, such as `m` and `batch_size`.
    axes: Vec<String>,
    /// A series counts as flat only if its latencies stay about the same until its size has grown by at least this
    /// factor.
    work: f64,
    /// Latencies of a series count as about the same if the largest is less than this many times the smallest.
    growth: f64,
    /// A table is reported only if it has at least this many flat series.
    series: usize,
    /// A table is reported only if at least this share of its long series is flat. A series is long if its largest size
    /// is at least `work` times its smallest size.
    share: f64,
    /// A series counts as flat only if the last latency of its flat part is at least this many times the shortest
    /// latency that the machine's rates allow for this row.
    need: f64,
    /// A table is reported only if the median latency of its flat series is at least this many times the fastest
    /// latency of the same operation on the system. For a table in `kernels`, `launch_ms` replaces the fastest latency
    /// if it is shorter.
    above: f64,
    /// The tables whose rows are single kernels.
    kernels: Vec<String>,
    /// The duration of a kernel launch in ms.
    launch_ms: f64,
    /// A table is reported only if the median latency of its flat series is at least this many ms.
    least_ms: f64,
}

impl FlatLimits {
    /// Returns the rows of the flat series if many series of the table are flat from their smallest size on; `None`
    /// otherwise. `bounds` has the lower bound of each row's latency in ms, which follows from the machine's rates.
    pub(crate) fn odd(
        &self,
        rows: &RowContext<'_>,
        latency: &[f64],
        bounds: &[f64],
    ) -> Option<OddSlice> {
        let (mut long, mut flat, mut levels) = (0_usize, Vec::new(), Vec::new());
        for axis in rows.series().iter().filter(|axis| self.axes.contains(&axis.axis)) {
            for (series, sizes) in axis.iter() {
                let least = self.work * sizes[0].max(1.0);
                if sizes[sizes.len() - 1] < least {
                    continue;
                }
                long += 1;
                let run = self.run(series, latency);
                let end = run[run.len() - 1] as usize;
                if sizes[run.len() - 1] < least || latency[end] < self.need * bounds[end] {
                    continue;
                }
                levels.push(latency[end]);
                flat.extend(run.iter().map(|row| *row as usize));
            }
        }
        let (runs, level) = (levels.len(), upper_median(&mut levels));
        let are_few = runs < self.series || (runs as f64) < self.share * long as f64;
        if are_few || level < self.least_ms {
            return None;
        }
        let own = least_positive(latency)?;
        let launch = || ("a launch".to_owned(), self.launch_ms);
        let launch = self.kernels.contains(&rows.spec.name).then(launch);
        let all = [Some(("this table".to_owned(), own)), rows.fastest_of_others(), launch];
        let (what, fastest) = all.into_iter().flatten().min_by(|a, b| a.1.total_cmp(&b.1))?;
        if level < self.above * fastest {
            return None;
        }
        let served = if rows.is_reached() { "a query can ask" } else { "no query asks" };
        let says = format!(
            "{} of {} series take the same time over {} times the work and more ({:.4} ms in the median, where {what} takes {:.4} ms at least), as if something constant (launches, a synchronisation, a flush of the cache) were timed; {served} for this version",
            count(runs),
            count(long),
            count(self.work as usize),
            Figure(level),
            Figure(fastest),
        );
        Some(OddSlice { says, rows: flat })
    }

    /// Returns the flat part at the start of a series, in which latencies differ by less than the factor `growth`.
    fn run<'s>(&self, series: &'s [u32], latency: &[f64]) -> &'s [u32] {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        let is_flat = |row: &&u32| {
            let latency = latency[**row as usize];
            (least, most) = (least.min(latency), most.max(latency));
            most < self.growth * least
        };
        &series[..series.iter().take_while(is_flat).count().max(1)]
    }
}

/// Returns the rows in which the first measured column is 0; `None` if they are less than a `share` of all rows. Also
/// returns `None` if the spec allows no zeros, or allows them only under a condition.
pub(super) fn zeros(rows: &RowContext<'_>, share: f64) -> Option<OddSlice> {
    let (name, _) = rows.spec.measures().next()?;
    let rule = rows.spec.zero.get(name)?;
    if !rule.columns().is_empty() {
        return None;
    }
    let column = rows.column(name)?;
    let zeros: Vec<usize> = (0..rows.count).filter(|row| column.number(*row) == 0.0).collect();
    if (zeros.len() as f64) < share * rows.count as f64 {
        return None;
    }
    let says = format!(
        "{name} is 0 in {} of {} rows: single zeros are right here, but a table of zeros is not a measurement. If it is a difference of two times, look for a slow kernel on the side that is subtracted",
        count(zeros.len()),
        count(rows.count)
    );
    Some(OddSlice { says, rows: zeros })
}

//! Describes log ratios in words.

use crate::base::words::Figure;

/// The absolute log ratio above which a difference is written as a factor and not in percent: the log of 2.
const FACTORS: f64 = std::f64::consts::LN_2;

/// Describes a log ratio of measured to recorded times, such as `0.4 % longer` or `5.1 times shorter`.
pub(crate) fn longer(log: f64) -> String {
    let word = if log > 0.0 { "longer" } else { "shorter" };
    if log.abs() > FACTORS {
        return format!("{:.1} times {word}", Figure(log.abs().exp()));
    }
    match format!("{:.1}", Figure((log.exp() - 1.0).abs() * 100.0)).as_str() {
        "0.0" => "as long".to_owned(),
        percent => format!("{percent} % {word}"),
    }
}

/// Describes a log ratio of measured to recorded times, such as `0.4 % longer than recorded`.
pub(crate) fn against_recorded(log: f64) -> String {
    let words = longer(log);
    if words == "as long" {
        "as long as recorded".to_owned()
    } else {
        format!("{words} than recorded")
    }
}

/// Formats a log ratio as a signed percentage.
pub(crate) fn percent(log: f64) -> String {
    format!("{:+.1} %", Figure((log.exp() - 1.0) * 100.0))
}

/// Describes the size of a log ratio without its sign, such as `5.0 %` or `a factor of 5.1`.
pub(crate) fn size(log: f64) -> String {
    let factor = log.abs().exp();
    if log.abs() > FACTORS {
        return format!("a factor of {:.1}", Figure(factor));
    }
    format!("{:.1} %", Figure((factor - 1.0) * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_differences_are_written_as_factors() {
        let words = |ratio: f64| longer(ratio.ln());
        assert_eq!([1.0, 1.004, 0.96].map(words), ["as long", "0.4 % longer", "4.0 % shorter"]);
        assert_eq!([5.539, 0.1975].map(words), ["5.5 times longer", "5.1 times shorter"]);
        assert_eq!(against_recorded(30_f64.ln()), "30.0 times longer than recorded");
        assert_eq!([1.05_f64, 5.0].map(|r| size(r.ln())), ["5.0 %", "a factor of 5.0"]);
    }
}

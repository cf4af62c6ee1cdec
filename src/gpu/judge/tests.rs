use super::*;
use crate::base::error::Reason;
use crate::gpu::device::{Answer, Point};

fn limits() -> Margins {
    Margins {
        bias: 0.021,
        card: 0.017,
        card_most: 0.03,
        level: 0.03,
        elsewhere: crate::gpu::recipe::RatioPercentiles::default(),
        elsewhere_in: std::collections::BTreeMap::new(),
        excludes: 0.05,
        confidence: 0.9,
        tail_share: 0.17,
        tail_level: 0.01,
        least_points: 6,
        unmeasured: 0.1,
        constant: [0.6, 0.8],
    }
}

/// Returns a synthetic point with a recorded latency of 1 ms and a measured latency of `ratio` ms.
pub(super) fn measured(ratio: f64) -> Measured {
    let samples_ms = [0.999, 1.0, 1.001].iter().map(|f| f * ratio).collect();
    Measured {
        point: Point::synthetic(),
        answer: Ok(Answer { samples_ms, ..Answer::default() }),
        band: Some(NoiseBand {
            below_ms: None,
            pairs: 1000,
            tables: 9,
            p50: 1.008,
            p95: 1.06,
            p99: 1.13,
        }),
        host_ms: 0.0,
        card: 0.0,
    }
}

/// Returns `count` points whose ratios of measured to recorded time vary by a few percent around `level`.
fn sample(count: usize, level: f64) -> Vec<Measured> {
    let spread = |i: usize| (i as f64 / (count - 1) as f64 - 0.5) * 0.04;
    (0..count).map(|i| measured(level * spread(i).exp())).collect()
}

fn verdict(points: &[Measured]) -> Verdict {
    judge(&mut points.to_vec(), &[], &[], None, &limits())
}

#[test]
fn unbiased_samples_pass_and_biased_samples_fail() {
    for count in [20, 40] {
        for level in [0.985, 1.0, 1.015] {
            assert_eq!(verdict(&sample(count, level)).outcome, Outcome::Pass, "{level}");
        }
        for level in [0.95, 1.05] {
            let verdict = verdict(&sample(count, level));
            assert_eq!(verdict.outcome, Outcome::Fail, "{verdict:?}");
            assert!((verdict.bias - level.ln()).abs() < 1e-6);
        }
    }
}

#[test]
fn a_few_points_beyond_the_limit_pass_and_many_fail() {
    let with = |wrong: usize| {
        let mut points = sample(40, 1.0);
        // Half of the wrong points are faster and half are slower, so the median is unchanged.
        let factor = |i: usize| if i.is_multiple_of(2) { 1.3 } else { 1.0 / 1.3 };
        points[..wrong].iter_mut().enumerate().for_each(|(i, p)| *p = measured(factor(i)));
        verdict(&points)
    };
    assert_eq!(with(4).outcome, Outcome::Pass);
    let many = with(16);
    assert_eq!((many.outcome, many.beyond), (Outcome::Fail, 16));
    assert!(many.reasons[0].contains("16 of 40"), "{:?}", many.reasons);
}

#[test]
fn a_drifting_or_busy_gpu_makes_the_verdict_inconclusive() {
    let mut wrong = sample(20, 1.3);
    let drifted =
        judge(&mut wrong, &[vec![1.0, 1.0, 1.2], vec![2.0, 2.0, 2.4]], &[], None, &limits());
    assert_eq!(drifted.outcome, Outcome::Inconclusive);
    assert!(drifted.reasons[0].contains("drifted by +20.0 %"), "{:?}", drifted.reasons);
    let busy = judge(&mut wrong, &[], &["another process is on the card".into()], None, &limits());
    assert_eq!(busy.outcome, Outcome::Inconclusive);
    let mut restless = sample(20, 1.0);
    for point in &mut restless[..15] {
        point.answer = Ok(Answer { samples_ms: vec![1.0, 1.4, 2.0], ..Answer::default() });
    }
    assert_eq!(verdict(&restless).outcome, Outcome::Inconclusive);
}

#[test]
fn proxies_and_missing_points_are_not_judged() {
    let mut points = sample(20, 1.0);
    for point in &mut points[..10] {
        point.answer = Ok(Answer {
            samples_ms: vec![9.0],
            proxy: Some("another kernel".into()),
            ..Answer::default()
        });
    }
    let half = verdict(&points);
    assert_eq!((half.outcome, half.judged), (Outcome::Pass, 10));
    points.iter_mut().for_each(|p| p.answer = Err(Reason::from("out of memory")));
    let none = verdict(&points);
    assert_eq!((none.outcome, none.judged), (Outcome::Inconclusive, 0));
}

#[test]
fn a_small_or_scattered_sample_is_inconclusive() {
    assert_eq!(verdict(&sample(4, 1.0)).outcome, Outcome::Inconclusive);
    let points: Vec<Measured> =
        (0..10).map(|i| measured(((i as f64 - 4.5) * 0.03).exp())).collect();
    let wide = verdict(&points);
    assert_eq!(wide.outcome, Outcome::Inconclusive);
    assert!(wide.reasons[0].contains("take more points"), "{:?}", wide.reasons);
}

#[test]
fn a_sample_without_measurements_is_inconclusive() {
    let limits = Margins { least_points: 0, ..limits() };
    let none = judge(&mut [], &[], &[], None, &limits);
    assert_eq!((none.outcome, none.interval), (Outcome::Inconclusive, None));
    assert!(none.allowed.is_finite() && none.near.undisturbed.is_sign_positive(), "{none:?}");
}

#[test]
fn the_interval_of_a_few_equal_ratios_is_as_wide_as_that_of_reruns() {
    // Six points have the same ratio, so their own spread alone would make the median certain.
    let six = verdict(&vec![measured(1.024); 6]);
    let interval = six.interval.unwrap();
    assert!(interval.high - interval.low > 0.005, "{interval:?}");
    let mut limits = limits();
    limits.elsewhere = crate::gpu::recipe::RatioPercentiles { p50: 1.024, p95: 1.128, p99: 1.187 };
    let elsewhere = judge(&mut vec![measured(1.024); 6], &[], &[], None, &limits);
    // Computed by hand: the error is 0.926 · 2 · ln 1.024 / √6. With 0.0107 for collections it is 0.0209, and 2.1701
    // times that is the limit.
    assert!((elsewhere.allowed - 0.0454).abs() < 2e-4, "{}", elsewhere.allowed);
    assert_eq!(elsewhere.outcome, Outcome::Inconclusive, "{:?}", elsewhere.reasons);
}

#[test]
fn the_standing_of_a_point_follows_from_its_ratio() {
    let point = measured(1.2);
    assert_eq!(point.verdict(), PointVerdict::Beyond);
    assert_eq!(point.within_2_percent(), Some(false));
    let (low, high) = point.interval(0.95).unwrap();
    assert!(low < 1.2 && high > 1.2, "{low} {high}");
}

/// Returns the GPU's offset that follows from control tables with these median log ratios.
fn controls(medians: &[f64]) -> Option<Offset> {
    let middle = |m: &f64| Measured::middle(&sample(40, *m), collections(&limits()), &limits());
    let middles: Vec<Middle> = medians.iter().map(middle).collect();
    Offset::of(&middles.iter().collect::<Vec<_>>(), &limits())
}

#[test]
fn the_gpu_s_own_offset_is_estimated_despite_wrong_control_tables() {
    let card = 0.982;
    let offset = controls(&[0.985, 0.979, 0.981, 0.76, 0.75, 0.8]).unwrap();
    assert!((offset.median - 0.981f64.ln()).abs() < 1e-6, "{offset:?}");
    assert!(offset.log < -0.01 && offset.log > offset.median, "{offset:?}");
    let judged = |level: f64, offset: Option<&Offset>| {
        judge(&mut sample(20, level), &[], &[], offset, &limits())
    };
    // A table whose times are 3.5 % too short passes on a card that is 1.8 % fast, until the card's own
    // speed is known.
    let lie = card / 0.965;
    assert_ne!(judged(lie, None).outcome, Outcome::Fail);
    assert_eq!(judged(lie, Some(&offset)).outcome, Outcome::Fail);
    assert_eq!(judged(card, Some(&offset)).outcome, Outcome::Pass);
    assert!(judged(card, Some(&offset)).allowed < judged(card, None).allowed);
}

#[test]
fn too_few_control_tables_give_no_offset_and_a_large_offset_is_inconclusive() {
    assert_eq!(controls(&[0.98]), None);
    assert_eq!(controls(&[0.98, 0.8]), None);
    assert_eq!(controls(&[0.98, 0.99]).unwrap().tables, 2);
    let offset = controls(&[0.95, 0.96, 0.95]).unwrap();
    let verdict = judge(&mut sample(20, 0.9), &[], &[], Some(&offset), &limits());
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert!(
        verdict.reasons[0].contains("3 other tables are 5.0 % shorter"),
        "{:?}",
        verdict.reasons
    );
}

#[test]
fn a_slice_that_differs_is_named_in_the_reasons() {
    let mut points = sample(40, 1.0);
    points[..10].iter_mut().for_each(|p| {
        *p = measured(0.76);
        p.point.slice = "fp8".into();
    });
    let verdict = verdict(&points);
    assert_eq!(verdict.outcome, Outcome::Fail);
    let why = verdict.reasons.last().unwrap();
    assert!(why.starts_with("1 of 2 slices differ, fp8 most: 24.0 % shorter"), "{why}");
    assert!(verdict.slices.iter().any(|s| s.slice.is_empty() && !s.differs));
}

#[test]
fn points_bound_by_the_host_are_not_judged() {
    let mut points = sample(20, 1.0);
    points[..12].iter_mut().for_each(|p| {
        *p = measured(5.0);
        p.host_ms = 1.1;
    });
    assert_eq!(points[0].verdict(), PointVerdict::HostBound);
    let verdict = verdict(&points);
    assert_eq!((verdict.outcome, verdict.judged), (Outcome::Pass, 8));
}

#[test]
fn a_slice_without_measurements_does_not_pass() {
    let mut points = sample(20, 1.0);
    points[..10].iter_mut().for_each(|p| p.point.slice = "prefill".into());
    let rows = [(String::new(), 812), ("prefill".to_owned(), 8282)].into();
    assert_eq!(unmeasured(&points, &rows, 0.1), None);
    points[..9].iter_mut().for_each(|p| p.answer = Err(Reason::from("no module\nat line 3")));
    assert_eq!(unmeasured(&points, &rows, 0.1), None);
    points[9].answer = Err(Reason::from("another error"));
    let why = unmeasured(&points, &rows, 0.1).unwrap();
    assert_eq!(why, "no point of prefill could be measured (8,282 of 9,094 rows): no module");
    assert_eq!(unmeasured(&points, &rows, 0.92), None);
    let mut verdict = verdict(&points);
    assert_eq!(verdict.outcome, Outcome::Pass);
    verdict.add_uncovered(None);
    assert_eq!(verdict.outcome, Outcome::Pass);
    verdict.add_uncovered(Some(why));
    assert_eq!((verdict.outcome, verdict.reasons.len()), (Outcome::Inconclusive, 1));
}

#[test]
fn a_nearly_constant_difference_is_a_reason_of_the_verdict() {
    // The recorded times are from 0.1 to 1.8 ms.
    let with = |ms: &dyn Fn(usize, f64) -> f64| {
        let point = |i: usize| {
            let mut point = measured(1.0);
            point.point.recorded_ms = 0.1 * 1.16_f64.powi(i as i32);
            let answer = vec![ms(i, point.point.recorded_ms)];
            point.answer = Ok(Answer { samples_ms: answer, ..Answer::default() });
            point
        };
        verdict(&(0..20).map(point).collect::<Vec<_>>())
    };
    let constant = with(&|i, ms| ms - 0.027 + (i % 5) as f64 * 0.002);
    assert_eq!(constant.outcome, Outcome::Fail);
    let why = constant.reasons.last().unwrap();
    assert!(why.starts_with("the difference is nearly constant, -25 to -21 µs"), "{why}");
    let proportional = with(&|i, ms| ms * (0.8 + (i % 5) as f64 * 0.01));
    assert_eq!(proportional.outcome, Outcome::Fail);
    assert!(!proportional.reasons.iter().any(|r| r.contains("constant")), "{proportional:?}");
}

#[test]
fn a_table_with_unsteady_times_is_not_a_control_table() {
    let mut points = sample(20, 1.0);
    let of = |points: &[Measured], controls: &[Vec<f64>]| control(points, controls, &limits());
    assert!(of(&points, &[vec![1.0, 1.0, 1.01]]).is_some());
    assert_eq!(of(&points, &[vec![1.0, 1.0, 0.74]]).map(|m| m.bias), None);
    for point in &mut points[..12] {
        point.answer = Ok(Answer { samples_ms: vec![1.0, 1.4, 2.0], ..Answer::default() });
    }
    assert_eq!(of(&points, &[]).map(|m| m.bias), None);
    assert_eq!(of(&points[12..], &[]).map(|m| m.bias > 0.0), Some(true));
}

//! Tests the behaviour of runners with shell scripts.

use rustix::process::{Pid, test_kill_process};

use super::*;

const HELLO: &str = r#"read l; echo '{"device": "mock"}'; "#;

fn point() -> Point {
    Point {
        path: "a/gemm_perf.parquet".into(),
        key: vec![("m".into(), 1.into())],
        ..Point::synthetic()
    }
}

fn start(command: &str) -> Result<Process> {
    Process::start(Program::Command(command.to_owned()), Duration::from_secs(2), |_| {})
}

fn runner(script: &str) -> Process {
    let command = format!("{HELLO}{script}");
    start(&command).unwrap()
}

fn ask(script: &str) -> Result<Answer, MeasureError> {
    let mut process = runner(script);
    assert_eq!(process.about().name, "mock");
    process.measure(&point())
}

#[test]
fn a_request_is_answered_by_one_line() {
    let answer = ask(r#"read l; echo '{"id": 0, "samples_ms": [1.5, 2], "power_w": 300}'"#);
    let answer = answer.unwrap();
    assert_eq!((answer.samples_ms, answer.power_w), (vec![1.5, 2.0], Some(300.0)));
    let fault = ask(r#"read l; echo '{"id": 0, "error": "out of memory"}'"#);
    assert!(matches!(fault, Err(MeasureError::Point(why)) if why.to_string() == "out of memory"));
}

#[test]
fn every_failure_of_a_command_is_an_error_of_one_line() {
    for (script, why) in [
        (r#"read l; echo '{"id": 0, "samples": []}'"#, "not a measurement"),
        (
            r#"read l; echo '{"id": 9, "samples_ms": [1]}'"#,
            "answered request 9 instead of request 0",
        ),
        (r#"read l; echo '{"id": 0, "samples_ms": [-1]}'"#, "not positive times"),
        ("read l; cat /dev/zero", "too long"),
    ] {
        match ask(script) {
            Err(MeasureError::Device(e)) => assert!(e.message.contains(why), "{script}: {e}"),
            other => panic!("{script}: {other:?}"),
        }
    }
    // The processes that a command started end with it.
    let started = tempfile::NamedTempFile::new().unwrap();
    let path = started.path().display();
    let _ = ask(&format!("read l; sleep 60 & echo $! > {path}; echo '{{\"id\": 7}}'; wait"));
    let pid: i32 = std::fs::read_to_string(started.path()).unwrap().trim().parse().unwrap();
    let gone = |_| {
        std::thread::sleep(Duration::from_millis(50));
        // A process that has ended but is not waited for yet counts as ended.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains(") Z ") || Pid::from_raw(pid).is_none_or(|p| test_kill_process(p).is_err())
    };
    assert!((0..40).any(gone), "{pid} lives");
    let none = start("exit 1").err().unwrap();
    assert!(none.message.contains("exit 1"), "{none}");
}

#[test]
fn output_that_is_not_a_reply_is_skipped_and_noted() {
    let mut process =
        runner(r#"read l; echo loading; echo '[1]'; echo '{"id": 0, "samples_ms": [1]}'"#);
    assert_eq!(process.measure(&point()).unwrap().samples_ms, [1.0]);
    let notes = process.notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("2 lines"), "{notes:?}");
    let command = format!("echo WARNING; {HELLO}");
    let process = start(&command).unwrap();
    assert_eq!(process.about().name, "mock");
}

#[test]
fn a_command_that_exits_is_restarted_once_per_point() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen").display().to_string();
    // The command ends at its first request, and answers after a restart.
    let once = format!(
        r#"read l; if [ ! -e {seen} ]; then touch {seen}; exit 3; fi; echo '{{"id": 1, "samples_ms": [1]}}'"#
    );
    let mut process = runner(&once);
    assert_eq!(process.measure(&point()).unwrap().samples_ms, [1.0]);
    assert_eq!(process.notes(), ["the runner was started again 1 time"]);

    // A command that always ends loses its points. After three of them, the run stops.
    let mut process = runner("exit 3");
    for _ in 0..2 {
        match process.measure(&point()) {
            Err(MeasureError::Point(why)) => assert!(why.to_string().contains("ended"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    match process.measure(&point()) {
        Err(MeasureError::Device(e)) => {
            assert!(e.message.contains("the last of 3 failed points"), "{e}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(process.notes(), ["the runner was started again 5 times"]);
}

#[test]
fn a_slow_point_is_abandoned_unless_the_command_sends_signs_of_life() {
    let mut process = runner("sleep 60");
    let start = Instant::now();
    match process.measure(&point()) {
        Err(MeasureError::Point(why)) => assert!(why.to_string().contains("within 2 s"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() < Duration::from_secs(10));
    let alive = r#"echo '{"id": 0, "alive": "compiling"}'; sleep 1.2; "#;
    let answer = format!(r#"read l; {alive}{alive}echo '{{"id": 0, "samples_ms": [1]}}'"#);
    assert_eq!(ask(&answer).unwrap().samples_ms, [1.0]);
}

//! Fuzzing without instrumentation, on any toolchain: `mutate TARGET SECONDS [SEED]` mutates the target's
//! seeds and files of `corpus/TARGET`, and leaves an input that panics in `artifacts/TARGET`. One that ends the
//! process, or never ends, is the file `last` there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use perfdb_gate::base::random::Random;
use perfdb_gate_fuzz::TARGETS;
use perfdb_gate_fuzz::forge::forge;

/// What texts are made of, and numbers that are near an edge.
const PIECES: [&[u8]; 24] = [
    b"\0",
    b"\xff",
    b"\n",
    b"\r\n",
    b",",
    b"\"",
    b"'",
    b": ",
    b"- ",
    b"[",
    b"{",
    b"&a ",
    b"*a",
    b"!!",
    b"NaN",
    b"-1",
    b"1e400",
    b"9223372036854775808",
    b"::error::",
    b"##[",
    b"\xe2\x80\xae",
    b"</script>",
    b"((((((((",
    b"PAR1",
];

fn mutate(random: &mut Random, input: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let rest = input.len() - at;
        match random.below(9) {
            0 if rest > 0 => input[at] ^= 1 << random.below(8),
            1 if rest > 0 => input[at] = random.below(256) as u8,
            2 if rest > 0 => drop(input.drain(at..at + 1 + random.below(rest.min(64)))),
            3 => input.truncate(at),
            4 => {
                let piece = PIECES[random.below(PIECES.len())];
                input.splice(at..at, piece.iter().copied());
            }
            5 if rest > 0 => {
                let copy = input[at..at + 1 + random.below(rest.min(256))].to_vec();
                let to = random.below(input.len() + 1);
                input.splice(to..to, copy);
            }
            6 => {
                let other = &others[random.below(others.len())];
                let from = random.below(other.len() + 1);
                let end = from + random.below((other.len() - from).min(128) + 1);
                input.splice(at..at, other[from..end].iter().copied());
            }
            // The end of a Parquet file is its footer: most of what can go wrong stands there.
            7 if input.len() > 8 => {
                let last = input.len() - 1 - random.below(input.len().min(2048));
                input[last] = random.below(256) as u8;
            }
            _ if rest > 0 => {
                let end = at + rest.min(1 + random.below(8));
                let byte = if random.below(2) == 0 { 0 } else { 0xff };
                input[at..end].fill(byte);
            }
            _ => {}
        }
    }
    input.truncate(1 << 20);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let usage = "mutate TARGET SECONDS [SEED]";
    let target =
        TARGETS.iter().find(|t| Some(t.0) == args.get(1).map(String::as_str)).expect(usage);
    let seconds: u64 = args.get(2).and_then(|s| s.parse().ok()).expect(usage);
    let mut random = Random::new(args.get(3).and_then(|s| s.parse().ok()).unwrap_or(1));
    let (name, run, seeds) = target;
    let mut corpus = seeds();
    for item in std::fs::read_dir(format!("corpus/{name}")).into_iter().flatten().flatten() {
        corpus.extend(std::fs::read(item.path()));
    }
    let folder = format!("artifacts/{name}");
    std::fs::create_dir_all(&folder).expect("a folder");
    let last = format!("{folder}/last");
    let (start, mut runs, mut crashes) = (Instant::now(), 0u64, 0);
    let mut slowest = Duration::ZERO;
    // A fault that all inputs meet is told a few times.
    while start.elapsed() < Duration::from_secs(seconds) && crashes < 10 {
        let mut input = corpus[random.below(corpus.len())].clone();
        // Most files of Parquet that are changed at random end at their first check.
        let forged = *name == "parquet" && random.below(5) > 0;
        if forged {
            forge(&mut random, &mut input);
        } else {
            mutate(&mut random, &mut input, &corpus);
        }
        runs += 1;
        std::fs::write(&last, &input).expect("a file");
        let begun = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| run(&input))).is_err() {
            crashes += 1;
            let path = format!("{folder}/crash-{runs}");
            std::fs::write(&path, &input).expect("a file");
            println!("{name}: {path} panics");
        }
        slowest = slowest.max(begun.elapsed());
    }
    let _ = std::fs::remove_file(last);
    let (seconds, slowest) = (start.elapsed().as_secs(), slowest.as_millis());
    println!(
        "{name}: {runs} executions in {seconds} s, {crashes} crashes, the slowest {slowest} ms"
    );
}

//! The functions that fuzzers feed, fed for a moment: with the seeds of the fuzzers, and with what a seeded generator makes of them.

#[path = "../../../../fuzz/src/targets.rs"]
#[allow(unreachable_pub, reason = "the fuzzers are another crate")]
mod targets;

use fastrand::Rng;

use crate::process::root;

/// What the formats are made of.
const PIECES: [&[u8]; 24] = [
    b",",
    b";",
    b"=",
    b"\"",
    b"\\",
    b"[",
    b"]",
    b":",
    b"%",
    b"\n",
    b"\r\n",
    b" ",
    b"/../",
    b"for=",
    b"unknown",
    b"10.0.0.2",
    b"[fd00::1]:80",
    b"PROXY TCP6 ",
    b"\r\n\r\n\0\r\nQUIT\n",
    b"q=0.",
    b"-",
    b"9007199254740992",
    b"{}",
    b"\xff\0",
];

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = root().join("fuzz/seeds").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|_| panic!("{target} has no seeds"));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn mutated(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut data = seeds[rng.usize(..seeds.len())].clone();
    for _ in 0..rng.usize(1..8) {
        let at = rng.usize(..=data.len());
        let to = rng.usize(at..=data.len());
        match rng.u8(..6) {
            0 => drop(data.drain(at..to)),
            1 => drop(data.splice(at..at, PIECES[rng.usize(..PIECES.len())].iter().copied())),
            2 => data.insert(at, rng.u8(..)),
            3 => data[at..to].iter_mut().take(1).for_each(|byte| *byte ^= 1 << rng.u8(..8)),
            4 => {
                let piece = data[at..to].repeat(rng.usize(1..4));
                data.splice(at..at, piece);
            }
            _ => {
                let other = &seeds[rng.usize(..seeds.len())];
                data.truncate(at);
                data.extend_from_slice(&other[rng.usize(..=other.len())..]);
            }
        }
        data.truncate(4_096);
    }
    data
}

#[test]
fn every_parser_stands_a_moment_of_fuzzing() {
    let mut names: Vec<String> = std::fs::read_dir(root().join("fuzz/fuzz_targets"))
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    let mut known = targets::ALL.map(|(name, _)| name);
    known.sort_unstable();
    assert_eq!(names, known, "every target is run by fuzzers and here");
    for (name, target) in targets::ALL {
        let (seeds, mut rng) = (seeds(name), Rng::with_seed(0xC0_FF_EE));
        seeds.iter().for_each(|seed| target(seed));
        let rounds = if name == "policy" { 400 } else { 8_000 };
        for round in 0..rounds {
            let data = mutated(&seeds, &mut rng);
            let run = std::panic::catch_unwind(|| target(&data));
            assert!(run.is_ok(), "{name}, round {round}: {:?}", data.escape_ascii().to_string());
        }
    }
}

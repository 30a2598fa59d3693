//! Where everything goes. Lengths are tenths of a pixel.

use cupo_core::{Algorithm, Limit};

use super::scene::{END, Event, PHASES, Scene, WINDOW};
use super::svg::{Anchor, Svg};

const WIDTH: u64 = 8_800;
const LEFT: u64 = 1_000;
/// The row of arrivals, and what a row of slots below it takes.
const ARRIVALS: u64 = 740;
const SLOTS: u64 = 300;
/// The chart of the balance: its top (in a picture without slots) and one unit of it.
const BALANCE: u64 = 940;
const BALANCE_UNIT: u64 = 160;
/// The chart of what passed.
const PASSED: u64 = 2_000;
const PASSED_UNIT: u64 = 80;
const PASSED_MOST: u64 = 10;

// Okabe and Ito's green, vermilion and blue: told apart by people who do not see red and green alike, and by shape too.
const ADMITTED: &str = r##"fill="#009e73""##;
const DENIED: &str = r##"fill="#ffffff" stroke="#d55e00" stroke-width="1.8""##;
const LINE: &str = r##"fill="none" stroke="#0072b2" stroke-width="2""##;
const INK: &str = r##"fill="#1f2328""##;
const FAINT: &str = r##"fill="#57606a""##;
const GRID: &str = r##"stroke="#d0d7de" stroke-width="1""##;
const EDGE: &str = r##"stroke="#57606a" stroke-width="1" stroke-dasharray="4 3""##;

fn x(at: u64) -> u64 {
    LEFT + at * 19 / 100
}

/// The picture of what `limit` says to the arrivals.
pub(crate) fn draw(title: &str, limit: &Limit) -> String {
    let scene = Scene::play(limit);
    let shapes = limit.algorithm() == Algorithm::LeakyBucket;
    let down = if shapes { SLOTS } else { 0 };
    let height = PASSED + PASSED_UNIT * PASSED_MOST + 300 + down;

    let mut svg = Svg::new(WIDTH, height, title, &describe(&scene, shapes));
    svg.rect((5, 5), (WIDTH - 10, height - 10), r##"rx="6" fill="#ffffff" stroke="#d0d7de""##);
    head(&mut svg, title, &scene, shapes);
    if matches!(limit.algorithm(), Algorithm::FixedWindow | Algorithm::SlidingWindowCounter) {
        windows(&mut svg);
    }
    arrivals(&mut svg, &scene.events);
    if shapes {
        slots(&mut svg, &scene.events);
    }
    balance(&mut svg, limit, &scene, BALANCE + down);
    passed(&mut svg, limit, &scene, PASSED + down, shapes);
    svg.finish()
}

fn describe(scene: &Scene, shapes: bool) -> String {
    let phases: Vec<String> = PHASES
        .iter()
        .enumerate()
        .map(|(i, phase)| format!("{}, {} of {} admitted", phase.name, scene.admitted(i), phase.count))
        .collect();
    let verb = if shapes { "are released" } else { "pass" };
    format!("Arrivals: {}. At most {} {verb} in any 10 s.", phases.join("; "), scene.most_passed())
}

fn head(svg: &mut Svg, title: &str, scene: &Scene, shapes: bool) {
    let style = format!(r#"font-size="15" font-weight="600" {INK}"#);
    svg.text((160, 270), Anchor::Start, &style, title);
    let mut right = WIDTH - 200;
    let mut legend = |svg: &mut Svg, word: &str, width: u64, mark: fn(&mut Svg, (u64, u64))| {
        right -= width;
        mark(svg, (right, 225));
        svg.text((right + 90, 267), Anchor::Start, INK, word);
    };
    legend(svg, "denied", 560, |svg, at| svg.circle(at, 40, DENIED));
    if shapes {
        legend(svg, "released", 780, |svg, at| svg.diamond(at, 48, ADMITTED));
    }
    legend(svg, "admitted", 800, |svg, at| svg.circle(at, 44, ADMITTED));

    for (i, phase) in PHASES.iter().enumerate() {
        let last = phase.first + phase.every * (phase.count - 1);
        let text = format!("{}: {} of {}", phase.name, scene.admitted(i), phase.count);
        svg.text((x(phase.first.midpoint(last)), 540), Anchor::Middle, INK, &text);
        svg.polyline(
            &[(x(phase.first), 640), (x(phase.first), 600), (x(last), 600), (x(last), 640)],
            &format!(r#"fill="none" {GRID}"#),
        );
    }
}

/// Every second window shaded, and the edges.
fn windows(svg: &mut Svg) {
    let (top, bottom) = (BALANCE, PASSED + PASSED_UNIT * PASSED_MOST);
    for start in (0..END).step_by(20_000) {
        svg.rect((x(start + WINDOW), top), (x(WINDOW) - LEFT, bottom - top), r##"fill="#eef2f6""##);
    }
    for edge in (WINDOW..END).step_by(10_000) {
        svg.line((x(edge), 640), (x(edge), bottom), EDGE);
    }
}

fn row(svg: &mut Svg, y: u64, words: &[&str]) {
    for (i, word) in (0..).zip(words) {
        svg.text((160, y + 150 * i), Anchor::Start, FAINT, word);
    }
}

fn arrivals(svg: &mut Svg, events: &[Event]) {
    row(svg, ARRIVALS + 42, &["arrivals"]);
    for event in events {
        if event.admitted {
            svg.circle((x(event.at), ARRIVALS), 44, ADMITTED);
        } else {
            svg.circle((x(event.at), ARRIVALS), 40, DENIED);
        }
    }
}

/// The slots that admitted requests are held for.
fn slots(svg: &mut Svg, events: &[Event]) {
    row(svg, ARRIVALS + SLOTS + 42, &["slots"]);
    let (from, to) = (ARRIVALS + 50, ARRIVALS + SLOTS - 40);
    for event in events.iter().filter(|e| e.admitted) {
        // A slot beyond the picture: its line ends at the margin.
        let end = event.released.min(END);
        let part = (to - from) * (end - event.at) / (event.released - event.at).max(1);
        let to = if end == event.released { to } else { from + part };
        svg.line((x(event.at), from), (x(end), to), r##"stroke="#009e73" stroke-width="1" opacity="0.6""##);
    }
    for event in events.iter().filter(|e| e.admitted && e.released < END) {
        svg.diamond((x(event.released), ARRIVALS + SLOTS), 48, ADMITTED);
    }
}

fn balance(svg: &mut Svg, limit: &Limit, scene: &Scene, top: u64) {
    row(svg, top + 440, &["remaining"]);
    let y = |units: u64| top + (limit.quota() - units) * BALANCE_UNIT;
    axis(svg, limit.quota(), 1, &y);
    svg.polyline(&steps(&scene.balance, &y), &format!(r#"{LINE} stroke-linejoin="round""#));
}

fn passed(svg: &mut Svg, limit: &Limit, scene: &Scene, top: u64, shapes: bool) {
    row(svg, top + 270, &[if shapes { "released in" } else { "passed in" }, "the last", "10 s"]);
    let y = |units: u64| top + (PASSED_MOST - units) * PASSED_UNIT;
    axis(svg, PASSED_MOST, limit.quota(), &y);
    let changes = scene.passed();
    let area = |svg: &mut Svg, least: u64, style: &str| {
        let clamped: Vec<(u64, u64)> = changes.iter().map(|&(at, n)| (at, n.max(least))).collect();
        let mut points = steps(&clamped, &y);
        points.extend([(x(END), y(least)), (x(0), y(least))]);
        svg.polygon(&points, style);
    };
    area(svg, 0, r##"fill="#0072b2" fill-opacity="0.25""##);
    if scene.most_passed() > limit.quota() {
        area(svg, limit.quota(), r##"fill="#d55e00" fill-opacity="0.75""##);
    }
    svg.polyline(&steps(&changes, &y), r##"fill="none" stroke="#1f2328" stroke-width="1""##);
    svg.line((x(0), y(limit.quota())), (x(END), y(limit.quota())), EDGE);
    let most = scene.most_passed();
    let peak = changes.iter().find(|&&(_, n)| n == most).map_or(0, |&(at, _)| at);
    svg.text((x(peak) + 40, y(2)), Anchor::Start, INK, &format!("at most {most}"));
    for at in (0..=END).step_by(5_000) {
        svg.text((x(at), y(0) + 180), Anchor::Middle, FAINT, &format!("{} s", at / 1_000));
    }
}

/// Lines and numbers of a chart, from 0 to `most`.
fn axis(svg: &mut Svg, most: u64, every: u64, y: &impl Fn(u64) -> u64) {
    for units in (0..=most).filter(|units| units % every == 0) {
        svg.line((LEFT, y(units)), (x(END), y(units)), GRID);
        svg.text((LEFT - 80, y(units) + 42), Anchor::End, FAINT, &units.to_string());
    }
}

/// A step line through the changes of a number, up to the picture's end.
fn steps(changes: &[(u64, u64)], y: &impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
    let mut points: Vec<(u64, u64)> = Vec::new();
    for &(at, units) in changes {
        if let Some(&(_, before)) = points.last() {
            points.push((x(at), before));
        }
        points.push((x(at), y(units)));
    }
    if let Some(&(_, last)) = points.last() {
        points.push((x(END), last));
    }
    points
}

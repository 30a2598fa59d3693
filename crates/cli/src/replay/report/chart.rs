//! Charts as SVG, drawn in whole tenths of a pixel.

use std::fmt::Write as _;
use std::time::Duration;

use super::axis;
use super::balance::Balance;
use super::series::Series;
use super::timeline::Timeline;
use super::units::{count, full, span};
use crate::page::Page;

const LEFT: u64 = 560;
const RIGHT: u64 = 120;
const TOP: u64 = 120;
const INNER: u64 = 1_700;
const BOTTOM: u64 = 260;

/// Characters of a name in a tip, of which there are many.
const TIP: usize = 32;

/// Where a chart lies: its stretches of time, its width, and the number at its top.
pub(super) struct Frame<'a> {
    timeline: &'a Timeline,
    width: u64,
    marks: Vec<u64>,
}

/// The shape of a path. Only numbers get into it.
#[derive(Default)]
struct Shape(String);

impl Shape {
    fn rectangle(&mut self, (left, right): (u64, u64), (top, bottom): (u64, u64)) {
        let _ = write!(self.0, "M{left} {bottom}V{top}H{right}V{bottom}z");
    }

    fn point(&mut self, x: u64, y: u64) {
        let _ = write!(self.0, "{}{x} {y}", if self.0.is_empty() { 'M' } else { 'L' });
    }

    fn draw(&self, class: &'static str, page: &mut Page) {
        if !self.0.is_empty() {
            page.raw("<path class=\"").raw(class).raw("\" d=\"").text(&self.0).raw("\"/>");
        }
    }
}

impl<'a> Frame<'a> {
    /// Over the stretches of the timeline, as high as this number.
    pub(super) fn new(timeline: &'a Timeline, wide: bool, highest: u64) -> Self {
        let width = if wide { 10_400 } else { 5_600 };
        Self { timeline, width, marks: axis::numbers(highest.max(1)) }
    }

    fn stretches(&self) -> u64 {
        u64::try_from(self.timeline.cells().len()).unwrap_or(1).max(1)
    }

    fn x(&self, part: u64, of: u64) -> u64 {
        let inner = u128::from(self.width.saturating_sub(LEFT + RIGHT));
        let x = inner.saturating_mul(u128::from(part)).checked_div(u128::from(of)).unwrap_or(0);
        u64::try_from(x).unwrap_or(0).saturating_add(LEFT)
    }

    fn y(&self, value: u64) -> u64 {
        let top = u128::from(self.marks.last().copied().unwrap_or(1).max(1));
        let height = u128::from(INNER).saturating_mul(u128::from(value)) / top;
        (TOP + INNER).saturating_sub(u64::try_from(height).unwrap_or(INNER).min(INNER))
    }

    /// Left and right of a bar, with some air between bars where there are few.
    fn bar(&self, number: u64) -> (u64, u64) {
        let (left, right) =
            (self.x(number, self.stretches()), self.x(number.saturating_add(1), self.stretches()));
        let air = if right.saturating_sub(left) > 60 { 15 } else { 0 };
        (left, right.saturating_sub(air))
    }

    fn open(&self, about: &str, page: &mut Page) {
        page.raw("<svg role=\"img\" viewBox=\"0 0 ").text(self.width).raw(" ").text(TOP + INNER + BOTTOM);
        page.raw("\" aria-label=\"").text(about).raw("\"><g class=\"grid\">");
        for mark in &self.marks {
            let y = self.y(*mark);
            page.raw("<path d=\"M").text(LEFT).raw(" ").text(y).raw("H").text(self.width - RIGHT).raw("\"/>");
            page.raw("<text class=\"end\" x=\"").text(LEFT - 60).raw("\" y=\"").text(y + 35).raw("\">");
            page.text(count(*mark)).raw("</text>");
        }
        let (from, length) = (self.timeline.start(), self.timeline.width().saturating_mul(self.stretches()));
        let most = if self.width > 8_000 { 9 } else { 4 };
        for (at, label) in axis::times(from, from.saturating_add(length), most) {
            let x = self.x(at.saturating_sub(from), length);
            page.raw("<path d=\"M").text(x).raw(" ").text(TOP + INNER).raw("v40\"/>");
            // The last one does not reach over the edge.
            let class = if x.saturating_add(350) > self.width { "end" } else { "middle" };
            page.raw("<text class=\"")
                .raw(class)
                .raw("\" x=\"")
                .text(x)
                .raw("\" y=\"")
                .text(TOP + INNER + 180)
                .raw("\">");
            page.text(label).raw("</text>");
        }
        page.raw("</g>");
    }

    /// Bars that stand on each other, the first at the bottom.
    pub(super) fn stacked(&self, about: &str, stack: &[Series], page: &mut Page) {
        self.open(about, page);
        let mut bases = vec![0_u64; self.timeline.cells().len()];
        for series in stack {
            let mut shape = Shape::default();
            for ((number, base), value) in (0..).zip(&mut bases).zip(&series.values) {
                if *value > 0 {
                    let bottom = self.y(*base);
                    *base = base.saturating_add(*value);
                    // However little it is, it is seen.
                    shape.rectangle(self.bar(number), (self.y(*base).min(bottom.saturating_sub(8)), bottom));
                }
            }
            shape.draw(series.class, page);
        }
        self.tell(stack, page);
        page.raw("</svg>");
    }

    /// What each stretch is, for whoever points at it.
    fn tell(&self, stack: &[Series], page: &mut Page) {
        for number in 0..self.stretches() {
            let at = usize::try_from(number).unwrap_or(usize::MAX);
            let values = || stack.iter().filter_map(|series| Some((&series.name, *series.values.get(at)?)));
            if values().all(|(_, value)| value == 0) {
                continue;
            }
            let (left, right) = self.bar(number);
            page.raw("<rect class=\"tip\" x=\"").text(left).raw("\" y=\"").text(TOP);
            page.raw("\" width=\"")
                .text(right.saturating_sub(left))
                .raw("\" height=\"")
                .text(INNER)
                .raw("\"><title>");
            page.text(full(
                self.timeline.start().saturating_add(number.saturating_mul(self.timeline.width())),
            ));
            for (name, value) in values().filter(|(_, value)| *value > 0) {
                page.raw("\n").text(count(value)).raw(" ").text(format_args!("{name:.TIP$}"));
            }
            page.raw("</title></rect>");
        }
    }

    /// Lines that go over each other.
    pub(super) fn lines(&self, about: &str, lines: &[Series], page: &mut Page) {
        self.open(about, page);
        for (series, class) in lines.iter().zip(LINES) {
            let mut shape = Shape::default();
            for (number, value) in (0..).zip(&series.values) {
                let (left, right) =
                    (self.x(number, self.stretches()), self.x(number.saturating_add(1), self.stretches()));
                shape.point(left, self.y(*value));
                shape.point(right, self.y(*value));
            }
            shape.draw(class, page);
        }
        page.raw("</svg>");
    }

    /// What a key had left in each policy: from the least to the most of each stretch, and where it ended; above it, where it was
    /// denied.
    pub(super) fn balances(
        &self,
        about: &str,
        balances: &[(&'static str, &'static str, Vec<Balance>)],
        page: &mut Page,
    ) {
        self.open(about, page);
        let (mut denied, row) = (Shape::default(), TOP.saturating_sub(90));
        for (band, line, values) in balances {
            let (mut bands, mut ends) = (Shape::default(), Shape::default());
            for (number, balance) in (0..).zip(values).filter(|(_, balance)| balance.asked > 0) {
                let (left, right) = self.bar(number);
                bands.rectangle(
                    (left, right),
                    (self.y(balance.most).saturating_sub(6), self.y(balance.least)),
                );
                ends.point(left.midpoint(right), self.y(balance.last));
                if balance.denied > 0 {
                    denied.rectangle((left, right.max(left.saturating_add(15))), (row, row + 60));
                }
            }
            bands.draw(band, page);
            ends.draw(line, page);
        }
        denied.draw("no", page);
        page.raw("</svg>");
    }

    /// How long a bar is.
    pub(super) fn stretch(&self) -> String {
        span(Duration::from_micros(self.timeline.width()))
    }
}

/// Colours of lines, in the order of those of areas.
pub(super) const LINES: [&str; 8] = ["l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7"];

/// Colours of bands, in the same order.
pub(super) const BANDS: [&str; 8] =
    ["c0 band", "c1 band", "c2 band", "c3 band", "c4 band", "c5 band", "c6 band", "c7 band"];

//! The little of SVG that the pictures need. Coordinates are tenths of a pixel.

/// An SVG that is being written.
pub(super) struct Svg(String);

/// How a text is set.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// A picture of `width` by `height`, with what a screen reader says about it.
    pub(super) fn new(width: u64, height: u64, title: &str, description: &str) -> Self {
        let (w, h) = (px(width), px(height));
        let mut svg = Self(String::new());
        svg.line_of(&format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" aria-labelledby="title desc" font-family="system-ui, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', sans-serif" font-size="12">"#
        ));
        svg.line_of(&format!(r#"<title id="title">{title}</title>"#));
        svg.line_of(&format!(r#"<desc id="desc">{description}</desc>"#));
        svg
    }

    fn line_of(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    pub(super) fn rect(&mut self, (x, y): (u64, u64), (width, height): (u64, u64), style: &str) {
        self.line_of(&format!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" {style}/>"#,
            px(x),
            px(y),
            px(width),
            px(height)
        ));
    }

    pub(super) fn line(&mut self, (x1, y1): (u64, u64), (x2, y2): (u64, u64), style: &str) {
        self.line_of(&format!(
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}" {style}/>"#,
            px(x1),
            px(y1),
            px(x2),
            px(y2)
        ));
    }

    pub(super) fn circle(&mut self, (x, y): (u64, u64), radius: u64, style: &str) {
        self.line_of(&format!(r#"<circle cx="{}" cy="{}" r="{}" {style}/>"#, px(x), px(y), px(radius)));
    }

    /// A square on its corner.
    pub(super) fn diamond(&mut self, (x, y): (u64, u64), radius: u64, style: &str) {
        let corners = [(x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius)];
        self.polygon(&corners, style);
    }

    pub(super) fn polygon(&mut self, points: &[(u64, u64)], style: &str) {
        self.line_of(&format!(r#"<polygon points="{}" {style}/>"#, list(points)));
    }

    pub(super) fn polyline(&mut self, points: &[(u64, u64)], style: &str) {
        self.line_of(&format!(r#"<polyline points="{}" {style}/>"#, list(points)));
    }

    pub(super) fn text(&mut self, (x, y): (u64, u64), anchor: Anchor, style: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.line_of(&format!(
            r#"<text x="{}" y="{}" text-anchor="{anchor}" {style}>{text}</text>"#,
            px(x),
            px(y)
        ));
    }

    pub(super) fn finish(mut self) -> String {
        self.line_of("</svg>");
        self.0
    }
}

fn list(points: &[(u64, u64)]) -> String {
    points.iter().map(|&(x, y)| format!("{},{}", px(x), px(y))).collect::<Vec<_>>().join(" ")
}

fn px(tenths: u64) -> String {
    match (tenths / 10, tenths % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenth) => format!("{whole}.{tenth}"),
    }
}

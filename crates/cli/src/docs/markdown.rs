//! The page as Markdown (GitHub's, for its tables).

use std::fmt::Write as _;

use super::block::{Block, Line, Span, Table};

/// A page of these blocks.
pub(super) fn render(title: &str, blocks: &[Block]) -> String {
    let mut out = format!("# {}\n", escaped(title));
    for block in blocks {
        out.push('\n');
        // Writing to a string does not fail.
        let _ = match block {
            Block::Section { title, .. } => writeln!(out, "## {}", escaped(title)),
            Block::Heading(title) => writeln!(out, "### {}", escaped(title)),
            Block::Paragraph(line) => writeln!(out, "{}", inline(line, false)),
            Block::List(lines) => {
                lines.iter().try_for_each(|line| writeln!(out, "- {}", inline(line, false)))
            }
            Block::Table(table) => self::table(table, &mut out),
            Block::Code { language, text, .. } => {
                let fence = "`".repeat(longest_run(text, '`').max(2).saturating_add(1));
                writeln!(out, "{fence}{language}\n{}\n{fence}", shown(text.trim_end(), true))
            }
        };
    }
    out
}

fn table(table: &Table, out: &mut String) -> std::fmt::Result {
    let row = |cells: &[Line]| {
        let cells: Vec<String> = cells.iter().map(|cell| inline(cell, true)).collect();
        format!("| {} |", cells.join(" | "))
    };
    writeln!(out, "{}\n|{}", row(&table.head), "---|".repeat(table.head.len()))?;
    table.rows.iter().try_for_each(|cells| writeln!(out, "{}", row(cells)))
}

fn inline(line: &Line, in_table: bool) -> String {
    line.iter()
        .map(|span| match span {
            Span::Text(text) => escaped(text),
            Span::Strong(text) => format!("**{}**", escaped(text)),
            Span::Code(text) => code(text, in_table),
        })
        .collect()
}

/// In as many backticks as the text needs.
fn code(text: &str, in_table: bool) -> String {
    let text = shown(text, false);
    let ticks = "`".repeat(longest_run(&text, '`').saturating_add(1));
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    let text = if in_table { text.replace('|', "\\|") } else { text };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

/// Text that says nothing but itself.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in shown(text, false).chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '#' | '~' | '!') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Without control characters, and without those that turn the direction of what follows.
fn shown(text: &str, with_lines: bool) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let sound =
        |c: char| if (c.is_control() && !(with_lines && c == '\n')) || turns(c) { '\u{fffd}' } else { c };
    text.chars().map(sound).collect()
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Block, Span, render};

    #[test]
    fn nothing_breaks_out() {
        let text = |text: &str| Span::Text(text.to_owned());
        let blocks = [
            Block::Paragraph(vec![text("<b>*a*_[x](y)|`\u{202e}\n# b"), Span::Code("``a`".to_owned())]),
            Block::Code { language: "http", label: "", text: "```\n<script>\u{0}\n".to_owned() },
        ];
        assert_eq!(
            render("T", &blocks),
            "# T\n\n\\<b\\>\\*a\\*\\_\\[x\\](y)\\|\\`\u{fffd}\u{fffd}\\# b``` ``a` ```\n\n````http\n```\n<script>\u{fffd}\n````\n"
        );
    }
}

//! The page for a browser: no script, no network, one style sheet that is known by its hash.

use super::block::{Block, Line, Span, Table};
use super::text::Texts;
use crate::page::Page;

const STYLE: &str = include_str!("style.css");

/// What the page may do: look as this style sheet says, and nothing else.
const POLICY: &str = concat!(
    "<meta charset=\"utf-8\">\n",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src '",
    "sha256-hGpU+8YrxwE/B5ONBGxiyuvC4/2M6RRiOt5S/M7Hl6s=",
    "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>"
);

/// A page of these blocks: what stands before the first section is its header, and the last block its footer.
pub(super) fn render(texts: &'static Texts, blocks: &[Block]) -> String {
    let mut page = Page::default();
    page.raw("<!doctype html>\n<html lang=\"").raw(texts.tag).raw("\"><head>").raw(POLICY);
    page.text(texts.title).raw("</title>\n<style>").raw(STYLE).raw("</style></head>\n<body>\n<header><h1>");
    page.text(texts.title).raw("</h1>\n");
    let (footer, blocks) = blocks.split_last().map_or((None, blocks), |(last, blocks)| (Some(last), blocks));
    let is_section = |block: &Block| matches!(block, Block::Section { .. });
    let first = blocks.iter().position(is_section).unwrap_or(blocks.len());
    let (before, sections) = blocks.split_at_checked(first).unwrap_or((blocks, &[]));
    before.iter().for_each(|each| block(each, &mut page));
    page.raw("</header>\n");
    contents(texts, sections, &mut page);
    page.raw("<main>\n");
    let mut open = false;
    for each in sections {
        if is_section(each) {
            page.raw(if open { "</section>\n" } else { "" });
            open = true;
        }
        block(each, &mut page);
    }
    page.raw(if open { "</section>\n</main>\n<footer>" } else { "</main>\n<footer>" });
    footer.into_iter().for_each(|each| block(each, &mut page));
    page.raw("</footer>\n</body></html>\n");
    page.into_text()
}

fn contents(texts: &'static Texts, sections: &[Block], page: &mut Page) {
    if sections.is_empty() {
        return;
    }
    page.raw("<nav aria-label=\"").text(texts.contents).raw("\"><ul>");
    for block in sections {
        if let Block::Section { id, title } = block {
            page.raw("<li><a href=\"#").raw(id).raw("\">").text(title).raw("</a></li>");
        }
    }
    page.raw("</ul></nav>\n");
}

fn block(block: &Block, page: &mut Page) {
    match block {
        Block::Section { id, title } => {
            page.raw("<section aria-labelledby=\"").raw(id).raw("\"><h2 id=\"").raw(id).raw("\">");
            page.text(title).raw("</h2>\n");
        }
        Block::Heading(title) => {
            page.raw("<h3>").text(title).raw("</h3>\n");
        }
        Block::Paragraph(line) => {
            page.raw("<p>");
            inline(line, page);
            page.raw("</p>\n");
        }
        Block::List(lines) => {
            page.raw("<ul>");
            for line in lines {
                page.raw("<li>");
                inline(line, page);
                page.raw("</li>");
            }
            page.raw("</ul>\n");
        }
        Block::Table(each) => table(each, page),
        // What is wider than the screen is scrolled, by keyboard too.
        Block::Code { language, label, text } => {
            // Programs keep their lines, bodies have none.
            let wraps = matches!(*language, "http" | "json");
            page.raw(if wraps { "<pre class=\"wrap\"" } else { "<pre" })
                .raw(" tabindex=\"0\" role=\"region\" aria-label=\"")
                .text(label)
                .raw("\"><code>");
            for line in text.trim_end().split('\n') {
                page.text(line).raw("\n");
            }
            page.raw("</code></pre>\n");
        }
    }
}

fn table(table: &Table, page: &mut Page) {
    page.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").text(table.label);
    page.raw("\"><table><thead><tr>");
    for cell in &table.head {
        page.raw("<th scope=\"col\">");
        inline(cell, page);
        page.raw("</th>");
    }
    page.raw("</tr></thead><tbody>");
    for row in &table.rows {
        page.raw("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let (open, close) = if index == 0 { ("<th scope=\"row\">", "</th>") } else { ("<td>", "</td>") };
            page.raw(open);
            inline(cell, page);
            page.raw(close);
        }
        page.raw("</tr>");
    }
    page.raw("</tbody></table></div>\n");
}

fn inline(line: &Line, page: &mut Page) {
    for span in line {
        match span {
            Span::Text(text) => page.text(text),
            Span::Code(text) => page.raw("<code>").text(text).raw("</code>"),
            Span::Strong(text) => page.raw("<strong>").text(text).raw("</strong>"),
        };
    }
}

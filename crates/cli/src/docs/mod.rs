//! `cupo docs`: what a policy says, for those who use the API.

mod block;
mod client;
mod example;
mod html;
mod limits;
mod markdown;
mod sections;
mod text;

use cupo_config::Config;

use crate::args::{DocsArgs, PageFormat, PageLanguage};
use crate::failure::Failure;
use crate::output;
use crate::presentation;
use sections::Subject;
use text::{ENGLISH, SPANISH, Texts};

pub(crate) fn run(args: &DocsArgs) -> Result<(), Failure> {
    // Single callers are nobody else's business.
    let config = cupo_config::load_without_callers(&args.config)?;
    let texts = match args.lang {
        PageLanguage::En => &ENGLISH,
        PageLanguage::Es => &SPANISH,
    };
    let page = page(&config, texts, args)?;
    output::write(args.output.as_deref(), &page)
}

fn page(config: &Config, texts: &'static Texts, args: &DocsArgs) -> Result<String, Failure> {
    let presentation = presentation::of(config)?;
    let blocks = Subject::new(config, &presentation, texts, &args.base_url).page();
    Ok(match args.format {
        PageFormat::Markdown => markdown::render(texts.title, &blocks),
        PageFormat::Html => html::render(texts, &blocks),
    })
}

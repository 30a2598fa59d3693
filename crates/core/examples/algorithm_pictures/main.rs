//! Draws the pictures of `docs/algorithms/img` from decisions of the five algorithms.
//!
//! `cargo run -p cupo-core --example algorithm_pictures`

mod pictures;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms/img");
    std::fs::create_dir_all(&folder)?;
    for (title, limit) in pictures::limits().map_err(std::io::Error::other)? {
        let name = format!("{}.svg", limit.algorithm());
        std::fs::write(folder.join(name), pictures::draw(&title, &limit))?;
    }
    Ok(())
}

//! SVG → PNG, with the font of the binary.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::base::error::{Error, Result};

/// Pixels of the image for each of the chart, for screens of high density.
const SCALE: f32 = 2.0;

/// The image of a chart that [`super::svg`] drew.
///
/// # Errors
///
/// When it is no such SVG, which is a fault of this program.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(notosans::REGULAR_TTF.to_vec());
        fonts.set_sans_serif_family("Noto Sans");
        Arc::new(fonts)
    });
    let failed = |why: String| Error::new(format!("cannot draw a chart: {why}"), "");
    let options = Options { fontdb: fonts.clone(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(e.to_string()))?;
    let size = tree.size();
    let (width, height) = ((size.width() * SCALE) as u32, (size.height() * SCALE) as u32);
    let mut image = Pixmap::new(width, height).ok_or_else(|| failed("it has no size".into()))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut image.as_mut());
    image.encode_png().map_err(|e| failed(e.to_string()))
}

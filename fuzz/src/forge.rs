//! Parquet files that lie: taken apart, changed in what a decoder believes, and put together again. Bytes changed
//! at random seldom get past the first length; these do.

use std::sync::LazyLock;

use perfdb_gate::base::random::Random;
use polars_parquet_format::{
    CompressionCodec, DataPageHeaderV2, Encoding, FieldRepetitionType, PageType, Type,
};

use crate::layout::{File, Page, statistics};

/// Numbers that are near an edge of what is stored, or of what memory holds.
const EDGES: [i64; 16] = [
    -1,
    0,
    1,
    2,
    63,
    65,
    127,
    255,
    4096,
    65_537,
    11_000_000,
    1 << 28,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 40,
    i64::MAX,
];

/// Changes a file, if it is one, in a place or a few: the fewer, the farther into the decoder it comes.
pub fn forge(random: &mut Random, input: &mut Vec<u8>) {
    let Some(mut file) = File::read(input) else { return };
    for _ in 0..[1, 1, 1, 2, 4][random.below(5)] {
        change(random, &mut file);
    }
    let lie = random.below(8) == 0;
    *input = file.write_with(|footer| {
        let columns: Vec<_> = footer.row_groups.iter_mut().flat_map(|g| &mut g.columns).collect();
        let at = random.below(columns.len().max(1));
        let Some(meta) = columns.into_iter().nth(at).and_then(|c| c.meta_data.as_mut()) else {
            return;
        };
        if lie {
            let edge = edge(random);
            match random.below(5) {
                0 => meta.data_page_offset = edge,
                1 => meta.dictionary_page_offset = Some(edge),
                2 => meta.total_compressed_size = edge,
                3 => meta.num_values = edge,
                _ => meta.total_compressed_size += random.below(9) as i64 - 4,
            }
        }
    });
}

fn edge(random: &mut Random) -> i64 {
    EDGES[random.below(EDGES.len())]
}

fn small(random: &mut Random) -> i32 {
    edge(random) as i32
}

fn change(random: &mut Random, file: &mut File) {
    match random.below(12) {
        0..=7 => {
            let chunk = random.below(file.chunks.len().max(1));
            let Some(pages) = file.chunks.get_mut(chunk) else { return };
            let at = random.below(pages.len().max(1));
            match random.below(12) {
                0 if pages.len() > 1 => drop(pages.remove(at)),
                1 if !pages.is_empty() => pages.insert(at, pages[at].clone()),
                2 if pages.len() > 1 => pages.swap(0, at),
                _ => pages.get_mut(at).into_iter().for_each(|page| change_page(random, page)),
            }
        }
        8 => columns(random, file),
        9 => schema(random, file),
        10 => rows(random, file),
        _ => arrow_schema(random, file),
    }
}

fn change_page(random: &mut Random, page: &mut Page) {
    let header = &mut page.header;
    match random.below(10) {
        0 => header.uncompressed_page_size = small(random),
        1 => header.compressed_page_size = small(random),
        2 => values(random, page),
        3 => encoding(random, page),
        4 => kind(random, page),
        5 => {
            let statistics = Some(statistics(vec![0xff; random.below(400_000)]));
            match (&mut header.data_page_header, &mut header.data_page_header_v2) {
                (Some(v1), _) => v1.statistics = statistics,
                (_, Some(v2)) => v2.statistics = statistics,
                _ => {}
            }
        }
        6 => {
            let body = forged(random);
            let levels = random.below(page.body.len().min(12) + 1);
            page.set([&page.body[..levels], &body].concat());
        }
        _ => body(random, page),
    }
}

fn values(random: &mut Random, page: &mut Page) {
    let number = small(random);
    let header = &mut page.header;
    if let Some(header) = &mut header.data_page_header {
        header.num_values = number;
    }
    if let Some(header) = &mut header.dictionary_page_header {
        header.num_values = number;
    }
    if let Some(header) = &mut header.data_page_header_v2 {
        match random.below(6) {
            0 => header.num_values = number,
            1 => header.num_nulls = number,
            2 => header.num_rows = number,
            3 => header.definition_levels_byte_length = number,
            4 => header.repetition_levels_byte_length = number,
            _ => header.is_compressed = [None, Some(true), Some(false)][random.below(3)],
        }
    }
}

fn encoding(random: &mut Random, page: &mut Page) {
    let encoding = Encoding(random.below(11) as i32);
    let header = &mut page.header;
    if let Some(header) = &mut header.data_page_header {
        match random.below(4) {
            0 => header.definition_level_encoding = encoding,
            _ => header.encoding = encoding,
        }
    }
    if let Some(header) = &mut header.data_page_header_v2 {
        header.encoding = encoding;
    }
    if let Some(header) = &mut header.dictionary_page_header {
        header.encoding = encoding;
    }
}

/// Another kind of page; a page of version 1 as one of version 2.
fn kind(random: &mut Random, page: &mut Page) {
    let header = &mut page.header;
    match header.data_page_header.take() {
        Some(v1) if random.below(2) == 0 => {
            header.type_ = PageType::DATA_PAGE_V2;
            header.data_page_header_v2 = Some(DataPageHeaderV2 {
                num_values: v1.num_values,
                num_nulls: 0,
                num_rows: v1.num_values,
                encoding: v1.encoding,
                definition_levels_byte_length: random.below(12) as i32,
                repetition_levels_byte_length: 0,
                is_compressed: Some(random.below(2) == 0),
                statistics: None,
            });
        }
        v1 => {
            header.data_page_header = v1;
            header.type_ = PageType(random.below(5) as i32);
        }
    }
}

/// The beginning of what an encoding stores, with numbers of any size.
fn forged(random: &mut Random) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..1 + random.below(8) {
        match random.below(4) {
            0 => body.extend(small(random).to_le_bytes()),
            1 => body.push(random.below(256) as u8),
            2 => body.extend([0x80, 1, 4]),
            _ => varint(&mut body, edge(random) as u64),
        }
    }
    body.extend(vec![random.below(256) as u8; random.below(64)]);
    body
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn body(random: &mut Random, page: &mut Page) {
    let mut body = page.body.clone();
    let at = random.below(body.len() + 1);
    match random.below(6) {
        0 => body.truncate(at),
        1 => body.insert(at, random.below(256) as u8),
        2 => {
            let number = small(random).to_le_bytes();
            body.splice(at..(at + 4).min(page.body.len()), number);
        }
        3 => {
            let mut number = Vec::new();
            varint(&mut number, edge(random) as u64);
            body.splice(at..(at + 1).min(page.body.len()), number);
        }
        // Where levels and widths stand.
        4 => body.iter_mut().take(12).nth(random.below(12)).into_iter().for_each(|b| {
            *b = random.below(256) as u8;
        }),
        _ => body.get_mut(at).into_iter().for_each(|b| *b = random.below(256) as u8),
    }
    if page.header.compressed_page_size == page.header.uncompressed_page_size {
        page.set(body);
    } else {
        page.header.compressed_page_size = body.len() as i32;
        page.body = body;
    }
}

fn columns(random: &mut Random, file: &mut File) {
    let columns = file.footer.row_groups.iter_mut().flat_map(|group| &mut group.columns);
    let columns: Vec<_> = columns.filter_map(|column| column.meta_data.as_mut()).collect();
    let at = random.below(columns.len().max(1));
    let Some(meta) = columns.into_iter().nth(at) else { return };
    match random.below(4) {
        0 => meta.codec = CompressionCodec(random.below(9) as i32),
        1 => meta.num_values = edge(random),
        2 => meta.type_ = Type(random.below(9) as i32),
        _ => meta.path_in_schema.push("x".into()),
    }
}

fn schema(random: &mut Random, file: &mut File) {
    let at = random.below(file.footer.schema.len().max(1));
    let other = file.footer.schema.get(random.below(at + 1)).cloned();
    let Some(element) = file.footer.schema.get_mut(at) else { return };
    match random.below(7) {
        0 => element.num_children = Some(small(random)),
        1 => element.repetition_type = Some(FieldRepetitionType(random.below(4) as i32)),
        2 => {
            let type_ = Type(random.below(9) as i32);
            element.type_ = Some(type_);
            let columns = file.footer.row_groups.iter_mut().flat_map(|group| &mut group.columns);
            let meta = columns.filter_map(|c| c.meta_data.as_mut()).nth(at.saturating_sub(1));
            meta.into_iter().for_each(|meta| meta.type_ = type_);
        }
        3 => element.type_length = Some(small(random)),
        4 => element.logical_type = other.and_then(|other| other.logical_type),
        5 => element.name = "x".repeat(random.below(2000)),
        _ => file.footer.schema.extend(other),
    }
}

fn rows(random: &mut Random, file: &mut File) {
    let edge = edge(random);
    let groups = &mut file.footer.row_groups;
    match random.below(4) {
        0 => file.footer.num_rows = edge,
        1 => groups.iter_mut().for_each(|group| group.num_rows = edge),
        // All that states the rows says the same.
        2 => {
            file.footer.num_rows = edge;
            for group in groups {
                group.num_rows = edge;
                let metas = group.columns.iter_mut().filter_map(|column| column.meta_data.as_mut());
                metas.for_each(|meta| meta.num_values = edge);
            }
            let pages = file.chunks.iter_mut().flatten();
            for header in pages.filter_map(|page| page.header.data_page_header.as_mut()) {
                header.num_values = edge as i32;
            }
        }
        _ => groups.extend(groups.last().cloned()),
    }
}

fn arrow_schema(random: &mut Random, file: &mut File) {
    use base64::Engine as _;
    let base64 = &base64::engine::general_purpose::STANDARD;
    let pairs = file.footer.key_value_metadata.iter_mut().flatten();
    for pair in pairs.filter(|pair| pair.key == "ARROW:schema") {
        let Some(mut bytes) = pair.value.as_ref().and_then(|value| base64.decode(value).ok())
        else {
            continue;
        };
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len().max(1));
            let Some(byte) = bytes.get_mut(at) else { continue };
            match random.below(3) {
                0 => *byte = random.below(256) as u8,
                1 => *byte = byte.wrapping_add(4),
                _ => *byte = byte.wrapping_sub(4),
            }
        }
        pair.value = Some(base64.encode(bytes));
    }
}

/// Files of other writers, small and synthetic, uncompressed and in every codec and encoding that is read.
pub static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/it/fixtures/parquet");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "parquet"))
        .collect();
    paths.sort();
    paths.into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
});

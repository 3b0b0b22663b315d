//! Every wrong file is refused with its place.

use std::fs;
use std::path::Path;

use gate::model::baseline::{FILE_MAX_BYTES, LINE_MAX_BYTES, parse, parse_bytes};

use crate::sources::root;

fn files(folder: &Path, extension: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    found
}

#[test]
fn each_wrong_file_has_its_place_and_its_sentence() {
    let folder = root().join("tests/data/baseline/wrong");
    let mut wrong = Vec::new();
    let files = files(&folder, "txt");
    for path in &files {
        let expected = fs::read_to_string(path.with_extension("expected")).unwrap();
        match parse_bytes(&fs::read(path).unwrap(), "baselines/gfx942.txt") {
            Ok(_) => wrong.push(format!("{}: was read", path.display())),
            Err(fault) => {
                let found = fault.to_string();
                let (place, what) = expected.trim().split_once(": ").unwrap();
                if !found.starts_with(&format!("baselines/{place}: ")) || !found.contains(what) || found.contains('\n') {
                    wrong.push(format!("{}:\n  wanted {expected}  found  {found}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files.len() >= 50, "only {} wrong files", files.len());
}

#[test]
fn lines_and_files_have_limits() {
    let head = "gate-baseline 1\narch gfx942\n";
    let long = format!("{head}# {}\n", "x".repeat(LINE_MAX_BYTES - 1));
    let fault = parse(&long, "gfx942.txt").unwrap_err();
    assert_eq!((fault.line, fault.column), (3, 1));
    assert!(fault.what.contains("65537 bytes, at most 65536"), "{fault}");
    assert!(parse(&format!("{head}# {}\n", "x".repeat(LINE_MAX_BYTES - 2)), "gfx942.txt").is_ok());
    let line = format!("# {}\n", "x".repeat(60_000));
    let large = head.to_owned() + &line.repeat(FILE_MAX_BYTES / line.len() + 1);
    let fault = parse(&large, "gfx942.txt").unwrap_err();
    assert_eq!((fault.line, fault.column), (1, 1));
    assert!(fault.what.contains("at most 67108864 are read"), "{fault}");
}

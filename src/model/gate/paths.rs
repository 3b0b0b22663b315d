//! Paths and patterns that stay inside a tree.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Refuses a path that is absolute, empty or leaves the folder that it is relative to.
pub(super) fn inside(path: &str) -> Result<(), String> {
    let advice = "give a path relative to the tree, without ..";
    if path.trim().is_empty() {
        Err(format!("is empty: {advice}"))
    } else if path.starts_with('/') {
        Err(format!("{path:?} is absolute: {advice}"))
    } else if climbs(path) {
        Err(format!("{path:?} leaves the tree: {advice}"))
    } else if path.chars().any(char::is_control) {
        Err(format!("{path:?} holds a control character: {advice}"))
    } else {
        Ok(())
    }
}

/// Whether a component of a path is `..`.
pub(super) fn climbs(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Refuses what [`matches`] could not read.
pub(super) fn check_pattern(pattern: &str) -> Result<(), String> {
    inside(pattern)?;
    if pattern.starts_with('!') {
        return Err(format!("{pattern:?}: a pattern cannot exclude: list what is wanted"));
    }
    if pattern.contains("{tree}") {
        return Err(format!(
            "{pattern:?}: patterns are relative to the tree already: leave {{tree}} out"
        ));
    }
    compile(&[pattern.to_owned()]).map(drop)
}

/// Which of the paths (relative, with `/`) any of the patterns names: `*` and `?` stay within one folder, `**` crosses folders, and a
/// pattern that names a folder names everything below it.
///
/// # Errors
/// When a pattern does not compile, which a parsed gate file has ruled out.
pub fn matches<'p>(patterns: &[String], paths: &[&'p str]) -> Result<Vec<&'p str>, String> {
    let set = compile(patterns)?;
    Ok(paths.iter().copied().filter(|path| set.is_match(path)).collect())
}

fn compile(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let named = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
        for glob in [named.to_owned(), format!("{named}/**")] {
            let compiled = GlobBuilder::new(&glob)
                .literal_separator(true)
                .build()
                .map_err(|error| format!("{pattern:?} is no pattern: {}; write for example \"src/**\"", error.kind()))?;
            set.add(compiled);
        }
    }
    set.build()
        .map_err(|error| format!("the patterns do not fit together: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'p>(patterns: &[&str], paths: &[&'p str]) -> Vec<&'p str> {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        matches(&patterns, paths).unwrap()
    }

    #[test]
    fn patterns_match_as_git_reads_them() {
        let paths = [
            "src/a.rs",
            "src/deep/b.rs",
            "src2/a.rs",
            "kernels/k.hip",
            "README.md",
            "docs/src/a.rs",
        ];
        assert_eq!(named(&["src/**"], &paths), ["src/a.rs", "src/deep/b.rs"]);
        assert_eq!(named(&["src/*.rs"], &paths), ["src/a.rs"]);
        assert_eq!(named(&["**/a.rs"], &paths), ["src/a.rs", "src2/a.rs", "docs/src/a.rs"]);
        assert_eq!(named(&["*.md", "kernels/**"], &paths), ["kernels/k.hip", "README.md"]);
        assert_eq!(named(&["src/**/*.rs"], &paths), ["src/a.rs", "src/deep/b.rs"]);
        assert_eq!(named(&["*.rs"], &paths), Vec::<&str>::new(), "a star stays within a folder");
        for folder in ["src", "src/", "./src", "s?c"] {
            assert_eq!(named(&[folder], &paths), ["src/a.rs", "src/deep/b.rs"], "{folder}");
        }
        assert_eq!(named(&["{src2,kernels}/*"], &paths), ["src2/a.rs", "kernels/k.hip"]);
        assert_eq!(named(&[], &paths), Vec::<&str>::new());
    }

    #[test]
    fn paths_stay_inside() {
        for path in ["a", "a/b", "./a", "a..b/c", "...", "a/.hidden"] {
            assert_eq!(inside(path), Ok(()), "{path}");
        }
        for (path, word) in [
            ("/a", "absolute"),
            ("../a", "leaves"),
            ("a/../b", "leaves"),
            (" ", "empty"),
            ("a\nb", "control"),
        ] {
            assert!(inside(path).unwrap_err().contains(word), "{path}");
        }
        for (pattern, word) in [
            ("src/[", "no pattern"),
            ("!src", "exclude"),
            ("{tree}/src", "leave {tree} out"),
            ("a{b", "no pattern"),
        ] {
            let error = check_pattern(pattern).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{pattern}: {error}");
        }
    }
}

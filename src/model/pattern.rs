//! Patterns of paths below the top of a tree, as in git: `*` stays within a folder, `**` crosses folders.

use globset::{GlobBuilder, GlobMatcher};

/// Characters that make a part of a pattern more than a name.
const WILD: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A list of patterns, any of which may match.
#[derive(Debug, Clone)]
pub struct Patterns(Vec<(String, GlobMatcher)>);

impl Patterns {
    /// Reads patterns.
    ///
    /// # Errors
    /// Names the first that leaves the tree or is none.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        let read = |pattern: &String| {
            if pattern.split('/').any(|part| matches!(part, "" | "." | "..")) {
                return Err(format!(
                    "{pattern:?}: a pattern is a path below the top of the tree, without . or .."
                ));
            }
            let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
            let glob = glob.map_err(|error| format!("{pattern:?}: {}", error.kind()))?;
            Ok((pattern.clone(), glob.compile_matcher()))
        };
        patterns.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a path matches.
    pub fn matches(&self, path: &str) -> bool {
        self.0.iter().any(|(_, matcher)| matcher.is_match(path))
    }

    /// The first pattern that none of the paths matches.
    pub fn first_unmatched<'a>(&self, paths: impl Iterator<Item = &'a str> + Clone) -> Option<&str> {
        let unmatched = self.0.iter().find(|(_, matcher)| !paths.clone().any(|path| matcher.is_match(path)));
        unmatched.map(|(pattern, _)| pattern.as_str())
    }

    /// Whether a path below this folder could match: true where in doubt.
    pub fn may_hold(&self, folder: &str) -> bool {
        self.0.iter().any(|(pattern, _)| {
            let mut wanted = pattern.split('/');
            for part in folder.split('/') {
                match wanted.next() {
                    None => return false,
                    // From here on the pattern may name anything.
                    Some(wanted) if wanted.contains(WILD) => return true,
                    Some(wanted) if wanted != part => return false,
                    Some(_) => {}
                }
            }
            wanted.next().is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(patterns: &[&str]) -> Result<Patterns, String> {
        Patterns::new(&patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn stars_keep_to_folders_as_in_git() {
        for (pattern, path, matches) in [
            ("build/bin/*", "build/bin/x", true),
            ("build/bin/*", "build/bin/y/x", false),
            ("src/**", "src/a/b.c", true),
            ("src/**", "src", false),
            ("**/*.so", "a.so", true),
            ("**/*.so", "a/b/c.so", true),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("*.c", "a/b.c", false),
            ("lib[0-9]", "lib7", true),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
        ] {
            assert_eq!(patterns(&[pattern]).expect(pattern).matches(path), matches, "{pattern} {path}");
        }
    }

    #[test]
    fn what_leaves_the_tree_is_no_pattern() {
        for pattern in ["/etc/*", "../x", "a/../../b", "", "a//b", "./a", "a/", "[", "a{b"] {
            assert!(patterns(&[pattern]).is_err(), "{pattern:?}");
        }
    }

    #[test]
    fn a_folder_is_left_out_only_where_nothing_in_it_can_match() {
        let both = patterns(&["build/bin/*", "lib/**/x"]).expect("sound");
        for (folder, may) in [
            ("build", true),
            ("build/bin", true),
            ("build/obj", false),
            ("lib/a/b", true),
            ("src", false),
        ] {
            assert_eq!(both.may_hold(folder), may, "{folder}");
        }
        assert!(!patterns(&["a/b"]).expect("sound").may_hold("a/b"), "a file is no folder");
        assert_eq!(both.first_unmatched(["build/bin/x"].into_iter()), Some("lib/**/x"));
    }
}

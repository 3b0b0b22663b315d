//! Sections of a gate file, read key by key: whatever is wrong is noted with its place, and reading goes on.

use std::cell::RefCell;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Fault;
use super::fault::{instead, place, position};
use super::file::Known;
use super::{keys, value};

/// Beyond this many faults nothing more is noted.
const NOTED_MAX: usize = 1_000;
/// Longest list or table of a file.
const ENTRIES_MAX: usize = 1_000;
/// Most sections `[[metric]]`, `[[fixture]]` or `[[rule]]`.
const SECTIONS_MAX: usize = 200;

/// A value of the file with its place in bytes.
pub(super) type Value<'d> = Spanned<DeValue<'d>>;

/// One placeholder in a word.
#[derive(Debug, Clone)]
pub(super) struct Use {
    /// Where the word stands.
    pub at: usize,
    /// The key that it belongs to, with its section.
    pub key: String,
    /// `model`
    pub placeholder: &'static str,
}

/// One reading of one file.
pub(super) struct Reading<'t> {
    text: &'t str,
    file: &'t str,
    /// The words that the file may use.
    pub known: &'t Known<'t>,
    faults: RefCell<Vec<(usize, String)>>,
    /// Placeholders that are seen, as far as they speak of every fixture.
    pub uses: RefCell<Vec<Use>>,
}

impl<'t> Reading<'t> {
    pub fn new(text: &'t str, file: &'t str, known: &'t Known<'t>) -> Self {
        Self {
            text,
            file,
            known,
            faults: RefCell::default(),
            uses: RefCell::default(),
        }
    }

    /// Notes what is wrong at a byte offset.
    pub fn fault(&self, at: usize, what: impl Into<String>) {
        let mut faults = self.faults.borrow_mut();
        if faults.len() < NOTED_MAX {
            faults.push((at, what.into()));
        }
    }

    /// Whether so many faults were noted that looking for more is idle.
    fn is_full(&self) -> bool {
        self.faults.borrow().len() >= NOTED_MAX
    }

    /// `gates/perf.toml:41`
    pub fn place_of(&self, at: usize) -> String {
        format!("{}:{}", self.file, position(self.text, at).0)
    }

    /// Everything that was noted, in order.
    pub fn into_faults(self) -> Vec<Fault> {
        place(self.text, self.file, self.faults.into_inner())
    }
}

/// One section; an absent one reads as empty.
#[derive(Clone, Copy)]
pub(super) struct Table<'d> {
    /// Its path in the table of keys: `arms.a`, empty for the root.
    pub path: &'static str,
    /// Where it begins.
    pub at: usize,
    entries: Option<&'d DeTable<'d>>,
    /// The file that it belongs to.
    pub reading: &'d Reading<'d>,
}

impl<'d> Table<'d> {
    /// Opens a section: names that it may not hold are noted.
    pub fn open(entries: &'d DeTable<'d>, path: &'static str, at: usize, reading: &'d Reading<'d>) -> Self {
        let names = keys::names(path);
        for key in entries.keys().filter(|key| !names.contains(&key.get_ref().as_ref())) {
            if reading.is_full() {
                break;
            }
            let name = key.get_ref().as_ref();
            let place = if path.is_empty() {
                "at the top of the file".to_owned()
            } else {
                format!("in [{path}]")
            };
            let known = instead(name, &names);
            let elsewhere = keys::home(name).filter(|home| *home != path && known.starts_with("known"));
            let advice = elsewhere.map_or(known, |home| format!("it belongs in [{home}]"));
            reading.fault(key.span().start, format!("unknown key {name:?} {place}: {advice}"));
        }
        Self {
            path,
            at,
            entries: Some(entries),
            reading,
        }
    }

    /// `plan.max_session`
    pub fn name_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// Notes what is wrong with a key at a byte offset.
    pub fn fault(&self, at: usize, key: &str, why: &str) {
        self.reading.fault(at, format!("{}: {why}", self.name_of(key)));
    }

    /// Whether the section stands in the file.
    pub fn stands(&self) -> bool {
        self.entries.is_some()
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&'d Value<'d>> {
        self.entries?.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// Where a key stands.
    pub fn place(&self, key: &str) -> Option<usize> {
        self.entries?
            .keys()
            .find(|name| name.get_ref() == key)
            .map(|name| name.span().start)
    }

    /// The value of a key, as `read` sees it; what it refuses is noted at the value.
    pub fn read<T>(&self, key: &str, read: impl Fn(&DeValue<'_>) -> Result<T, String>) -> Option<T> {
        let value = self.value(key)?;
        read(value.get_ref()).map_err(|why| self.fault(value.span().start, key, &why)).ok()
    }

    /// As [`Table::read`], and an absent key is noted at the section's head.
    pub fn need<T>(&self, key: &str, read: impl Fn(&DeValue<'_>) -> Result<T, String>) -> Option<T> {
        if self.value(key).is_none() {
            let takes = keys::all().find(|known| known.path == self.name_of(key));
            let takes = takes.map_or("a value", |known| known.takes);
            self.fault(self.at, key, &format!("is missing: give {takes}"));
        }
        self.read(key, read)
    }

    /// The items of a list, each with its place; one that `read` refuses is noted at the item and left out.
    pub fn list<T>(&self, key: &str, wants: &str, read: impl Fn(&DeValue<'_>) -> Result<T, String>) -> Vec<(usize, T)> {
        let items = self.items(key, wants).unwrap_or_default().iter();
        let good = items.filter_map(|item| {
            let at = item.span().start;
            read(item.get_ref())
                .map(|good| (at, good))
                .map_err(|why| self.fault(at, key, &why))
                .ok()
        });
        good.collect()
    }

    /// The raw items of a list.
    pub fn items(&self, key: &str, wants: &str) -> Option<&'d [Value<'d>]> {
        let value = self.value(key)?;
        let at = value.span().start;
        let Some(items) = value.get_ref().as_array() else {
            self.fault(at, key, &value::mismatch(value.get_ref(), wants));
            return None;
        };
        if items.len() > ENTRIES_MAX {
            self.fault(at, key, &format!("{} items: at most {ENTRIES_MAX} are read", items.len()));
            return None;
        }
        Some(items)
    }

    /// The entries of a table whose names are free.
    pub fn free(&self, key: &str, wants: &str) -> Option<&'d DeTable<'d>> {
        let value = self.value(key)?;
        let at = value.span().start;
        let Some(entries) = value.get_ref().as_table() else {
            self.fault(at, key, &value::mismatch(value.get_ref(), wants));
            return None;
        };
        if entries.len() > ENTRIES_MAX {
            self.fault(at, key, &format!("{} entries: at most {ENTRIES_MAX} are read", entries.len()));
            return None;
        }
        Some(entries)
    }

    /// The section below this one; `path` is its whole path.
    pub fn section(&self, key: &str, path: &'static str) -> Self {
        let absent = Self {
            path,
            at: self.at,
            entries: None,
            reading: self.reading,
        };
        let Some(value) = self.value(key) else { return absent };
        match value.get_ref().as_table() {
            Some(entries) => Self::open(entries, path, value.span().start, self.reading),
            None => {
                let wants = format!("a section [{path}]");
                self.fault(value.span().start, key, &value::mismatch(value.get_ref(), &wants));
                absent
            }
        }
    }

    /// Every section `[[path]]` below the root.
    pub fn sections(&self, path: &'static str) -> Vec<Self> {
        let wants = format!("sections [[{path}]]");
        let Some(items) = self.items(path, &wants) else { return Vec::new() };
        if let Some(beyond) = items.get(SECTIONS_MAX) {
            self.fault(
                beyond.span().start,
                path,
                &format!("{} sections [[{path}]]: at most {SECTIONS_MAX} are read", items.len()),
            );
            return Vec::new();
        }
        let open = |item: &'d Value<'d>| match item.get_ref().as_table() {
            Some(entries) => Some(Self::open(entries, path, item.span().start, self.reading)),
            None => {
                self.fault(item.span().start, path, &value::mismatch(item.get_ref(), &wants));
                None
            }
        };
        items.iter().filter_map(open).collect()
    }
}

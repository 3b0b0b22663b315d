//! The reader: every line is understood or refused with its place. Its counterpart is [`super::write`].

use std::collections::HashMap;

use super::field::{Fields, Wrong, number};
use super::{BandLine, Baseline, FILE_MAX_BYTES, Fault, LINE_MAX_BYTES, Row, SampleLine, Says, VERSION, arch_of_file, is_arch, is_date};
use crate::model::metric::Better;
use crate::model::unit::Unit;

/// Reads a baseline from the bytes of a file.
///
/// # Errors
/// As [`parse`]; also where the bytes are no text.
pub fn parse_bytes(bytes: &[u8], file: &str) -> Result<Baseline, Fault> {
    decode(bytes, file).and_then(|text| parse(text, file))
}

/// The bytes as text, or the place at which they are none.
pub(in crate::model) fn decode<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, Fault> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let before = String::from_utf8_lossy(good);
        let line = before.matches('\n').count() + 1;
        let start = before.rsplit('\n').next().unwrap_or_default();
        Fault::new(file, line, start, start.len(), "not UTF-8 text".to_owned())
    })
}

/// Reads a baseline. `file` is its path; its name without `.txt` must be the architecture.
///
/// # Errors
/// The first place that is wrong.
pub fn parse(text: &str, file: &str) -> Result<Baseline, Fault> {
    if text.len() > FILE_MAX_BYTES {
        let what = format!("{} bytes, at most {FILE_MAX_BYTES} are read", text.len());
        return Err(Fault::new(file, 1, text, 0, what));
    }
    let mut reader = Reader {
        arch: None,
        seen: HashMap::new(),
        rows: Vec::new(),
    };
    let mut lines: Vec<&str> = text.split('\n').collect();
    let last = lines.pop().unwrap_or_default();
    for (index, line) in lines.iter().enumerate() {
        reader
            .line(index + 1, line, file)
            .map_err(|(byte, what)| Fault::new(file, index + 1, line, byte, what))?;
    }
    let end = lines.len() + 1;
    if !last.is_empty() {
        let what = "the last line has no end: the file is cut short, or lacks its final line feed".to_owned();
        return Err(Fault::new(file, end, last, last.len(), what));
    }
    match reader.arch {
        _ if lines.is_empty() => Err(Fault::new(file, 1, "", 0, format!("empty: {}", first_line()))),
        None => Err(Fault::new(
            file,
            end,
            "",
            0,
            format!("the line {:?} is missing", expected_arch(file)),
        )),
        Some(arch) => Ok(Baseline { arch, rows: reader.rows }),
    }
}

/// Reads one line of a file on its own: what the writer is checked with.
pub(super) fn row(text: &str) -> Result<Says, String> {
    characters(text).and_then(|()| says(text)).map_err(|(_, what)| what)
}

fn first_line() -> String {
    format!("the first line must be \"gate-baseline {VERSION}\"")
}

fn expected_arch(file: &str) -> String {
    format!("arch {}", arch_of_file(file))
}

struct Reader {
    arch: Option<String>,
    /// What may stand only once, with the line on which it stands.
    seen: HashMap<String, usize>,
    rows: Vec<Row>,
}

impl Reader {
    fn line(&mut self, number: usize, text: &str, file: &str) -> Result<(), Wrong> {
        characters(text)?;
        let says = match text.split_ascii_whitespace().next() {
            _ if number == 1 => version(text)?,
            Some("arch") => self.arch_line(text, file)?,
            Some("sample" | "band") if self.arch.is_none() => {
                return Err((0, format!("the line {:?} must come first", expected_arch(file))));
            }
            _ => says(text)?,
        };
        if let Some(key) = key(&says)
            && let Some(before) = self.seen.insert(key, number)
        {
            return Err((0, format!("duplicate: line {before} is of the same fixture, metric and session")));
        }
        self.rows.push(Row {
            text: text.to_owned(),
            says,
        });
        Ok(())
    }

    fn arch_line(&mut self, text: &str, file: &str) -> Result<Says, Wrong> {
        if self.arch.is_some() {
            return Err((0, "a second arch line: a file speaks of one architecture".to_owned()));
        }
        let mut fields = Fields::of(text);
        fields.word("arch")?;
        let (at, arch) = fields.word("the architecture")?;
        if !is_arch(arch) {
            return Err((at, format!("{arch:?} is no architecture such as gfx942 or cpu-x86_64")));
        }
        if arch != arch_of_file(file) {
            return Err((at, format!("{arch:?} is not the file's name: {:?} is expected", arch_of_file(file))));
        }
        fields.end()?;
        self.arch = Some(arch.to_owned());
        Ok(Says::Nothing)
    }
}

/// Refuses what could hide or break a line.
pub(in crate::model) fn characters(text: &str) -> Result<(), Wrong> {
    if text.len() > LINE_MAX_BYTES {
        let what = format!("a line of {} bytes, at most {LINE_MAX_BYTES} are read", text.len());
        return Err((0, what));
    }
    if text.starts_with('\u{feff}') {
        return Err((0, "a byte order mark: save the file as UTF-8 without one".to_owned()));
    }
    let control = |byte: u8| (byte < 0x20 && byte != b'\t') || byte == 0x7f;
    let Some(at) = text.bytes().position(control) else { return Ok(()) };
    let what = match text.as_bytes().get(at) {
        Some(b'\r') => "a carriage return: lines end with a line feed alone",
        Some(0) => "a NUL byte: this is no text file",
        _ => "a control character",
    };
    Err((at, what.to_owned()))
}

fn version(text: &str) -> Result<Says, Wrong> {
    let mut fields = Fields::of(text);
    let expected = |at| (at, first_line());
    let (at, word) = fields.word("gate-baseline").map_err(|_| expected(0))?;
    if word != "gate-baseline" {
        return Err(expected(at));
    }
    let (at, version) = fields.word("the version").map_err(|_| expected(text.len()))?;
    match version.parse::<u32>() {
        Ok(VERSION) => fields.end().map(|()| Says::Nothing),
        Ok(newer) if newer > VERSION => Err((at, format!("written in version {newer}, this gate knows {VERSION}: update gate"))),
        _ => Err(expected(at)),
    }
}

fn says(text: &str) -> Result<Says, Wrong> {
    let mut fields = Fields::of(text);
    match fields.next() {
        None => Ok(Says::Nothing),
        Some((_, word)) if word.starts_with('#') => Ok(Says::Nothing),
        Some((_, "sample")) => sample(fields).map(Says::Sample),
        Some((_, "band")) => band(fields).map(Says::Band),
        Some((at, word)) => Err((at, format!("{word:?} begins no line: known are sample, band and #"))),
    }
}

fn sample(mut fields: Fields<'_>) -> Result<SampleLine, Wrong> {
    let fixture = fields.name("the fixture")?;
    let metric = fields.metric()?;
    let (at, word) = fields.word("the unit")?;
    let unit = Unit::parse(word).map_err(|why| (at, why))?;
    let better = match fields.word("the direction")? {
        (_, "higher") => Better::Higher,
        (_, "lower") => Better::Lower,
        (at, other) => return Err((at, format!("direction {other:?}: want higher or lower (which is better)"))),
    };
    let (at, date) = fields.word("the date")?;
    if !is_date(date) {
        return Err((at, format!("{date:?} is no day such as 2026-11-30")));
    }
    let (identity_at, identity) = fields.digest("the identity", 8)?;
    let (record_at, record) = fields.digest("the record", 12)?;
    let mut values = Vec::new();
    while let Some((at, word)) = fields.next_unless_extra() {
        values.push(number(word, unit).map_err(|what| (at, what))?);
    }
    if values.is_empty() {
        return Err((fields.text.len(), "no samples: at least one number is expected".to_owned()));
    }
    let extras = fields.extras()?;
    let line = SampleLine {
        fixture,
        metric,
        unit,
        better,
        date: date.to_owned(),
        identity,
        record,
        values,
        extras,
    };
    match (line.is_historical(), &line.identity, &line.record) {
        (true, Some(_), _) => Err((identity_at, "a historical line has no identity: write -".to_owned())),
        (false, None, _) => Err((identity_at, "- stands only with status=historical".to_owned())),
        (false, _, None) => Err((record_at, "- stands only with status=historical".to_owned())),
        _ => Ok(line),
    }
}

fn band(mut fields: Fields<'_>) -> Result<BandLine, Wrong> {
    let fixture = fields.name("the fixture")?;
    let metric = fields.metric()?;
    let percent = Unit::parse("%").map_err(|why| (0, why))?;
    let mut size = |what: &str| {
        let (at, word) = fields.word(what)?;
        let value = number(word, percent).map_err(|what| (at, what))?;
        Ok((at, value))
    };
    let (sd_at, sd_pct) = size("the standard deviation in percent")?;
    let (_, low) = size("the lower end of its interval")?;
    let (_, high) = size("the upper end of its interval")?;
    if !(low..=high).contains(&sd_pct) {
        return Err((sd_at, format!("{sd_pct} is not between {low} and {high}")));
    }
    let df = fields.count("the degrees of freedom")?;
    let sessions = fields.count("the sessions")?;
    let mut digest = |what: &str, digits: usize| match fields.digest(what, digits)? {
        (_, Some(digest)) => Ok(digest),
        (at, None) => Err((at, format!("{what} of a band cannot be -"))),
    };
    let identity = digest("the identity", 8)?;
    let record = digest("the record", 12)?;
    if let Some((at, word)) = fields.next_unless_extra() {
        return Err((at, format!("{word:?} is one field too many")));
    }
    let extras = fields.extras()?;
    Ok(BandLine {
        fixture,
        metric,
        sd_pct,
        low,
        high,
        df,
        sessions,
        identity,
        record,
        extras,
    })
}

/// What makes a line the only one of its kind.
fn key(says: &Says) -> Option<String> {
    match says {
        Says::Nothing => None,
        Says::Band(line) => Some(format!("band\0{}\0{}\0{}", line.fixture, line.metric, line.identity)),
        Says::Sample(line) => {
            let session = line.record.clone().unwrap_or_else(|| {
                let said = ["stat", "source"].map(|key| line.extra(key).unwrap_or_default());
                format!("{}\0{}", line.date, said.join("\0"))
            });
            Some(format!("sample\0{}\0{}\0{session}", line.fixture, line.metric))
        }
    }
}

//! Tables in text: comma-separated values with quotes, and Markdown.

use super::json::Json;
use crate::model::quantity::{names_no_finite_number, split_number};
use crate::model::report::Refused;

/// A table: its column names, and its rows with their lines, from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows, each as wide as the head, with its line in the text.
    pub rows: Vec<(usize, Vec<String>)>,
    /// The line after the last one of the table, from 1.
    pub end: usize,
}

impl Table {
    /// The rows as name and cell.
    pub fn records(&self) -> impl Iterator<Item = Vec<(String, Json)>> {
        let record = |(_, cells): &(usize, Vec<String>)| {
            let named = self.head.iter().zip(cells);
            named.map(|(name, cell)| (name.clone(), cell_value(cell))).collect()
        };
        self.rows.iter().map(record)
    }
}

/// A cell as a value: nothing, a whole number, a number, a word for none, or text.
pub fn cell_value(cell: &str) -> Json {
    let cell = cell.trim();
    if cell.is_empty() {
        return Json::Null;
    }
    if let Ok(whole) = cell.parse::<i64>() {
        return Json::Whole(whole.into());
    }
    match split_number(cell) {
        Some((number, "")) => match number.parse::<f64>() {
            Ok(value) if value.is_finite() => Json::Number(value),
            _ => Json::NotFinite(cell.to_owned()),
        },
        _ if names_no_finite_number(cell) => Json::NotFinite(cell.to_owned()),
        _ => Json::Text(cell.to_owned()),
    }
}

/// Reads comma-separated values from a line of the text on, until a line that holds nothing. `first_line` counts from 1.
///
/// # Errors
/// When a quote is not closed, or a row is not as wide as the head.
pub fn csv(text: &str, first_line: usize) -> Result<Table, Refused> {
    let mut table = Table::default();
    let mut line = first_line;
    let mut rest = text;
    while !rest.is_empty() {
        let (cells, taken) = csv_row(rest).ok_or_else(|| Refused(format!("line {line}: a quote is not closed: the file is truncated")))?;
        let (gone, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        if gone.trim().is_empty() {
            break;
        }
        if table.head.is_empty() {
            table.head = cells.iter().map(|cell| cell.trim().to_owned()).collect();
        } else if cells.len() == table.head.len() {
            table.rows.push((line, cells));
        } else {
            return Err(Refused(format!(
                "line {line} has {} values where the head names {}",
                cells.len(),
                table.head.len()
            )));
        }
        line += gone.matches('\n').count() + usize::from(!gone.ends_with('\n'));
        rest = after;
    }
    table.end = line;
    Ok(table)
}

/// One row, and the bytes it takes with its line end; none where a quote is not closed.
fn csv_row(text: &str) -> Option<(Vec<String>, usize)> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let cell = cells.last_mut()?;
        match c {
            '"' if quoted && characters.peek().is_some_and(|(_, next)| *next == '"') => {
                cell.push('"');
                characters.next();
            }
            '"' if quoted || cell.trim().is_empty() => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            '\n' if !quoted => return Some((cells, at + 1)),
            '\r' if !quoted => {}
            c => cell.push(c),
        }
    }
    (!quoted).then_some((cells, text.len()))
}

/// The Markdown tables of a text.
///
/// # Errors
/// When a row is not closed, or not as wide as its head.
pub fn markdown(text: &str) -> Result<Vec<Table>, Refused> {
    let mut tables: Vec<Table> = Vec::new();
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())).peekable();
    while let Some((_, line)) = lines.next() {
        let Some(head) = cells(line) else { continue };
        if !lines.peek().is_some_and(|(_, next)| is_rule(next)) {
            continue;
        }
        lines.next();
        let mut table = Table { head, ..Table::default() };
        while let Some((number, line)) = lines.next_if(|(_, line)| line.starts_with('|')) {
            let row = cells(line).ok_or_else(|| Refused(format!("line {number}: the row of the table is not closed: it is truncated")))?;
            if row.len() != table.head.len() {
                return Err(Refused(format!(
                    "line {number} has {} cells where the head names {}",
                    row.len(),
                    table.head.len()
                )));
            }
            table.rows.push((number, row));
        }
        table.end = lines.peek().map_or(usize::MAX, |(number, _)| *number);
        tables.push(table);
    }
    Ok(tables)
}

/// The cells of a row that begins and ends with a bar.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

fn is_rule(line: &str) -> bool {
    line.starts_with('|') && line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_cells_hold_commas_quotes_and_lines() {
        let table = csv("a,b\r\n\"x, \"\"y\"\"\",\"1\n2\"\r\n3,\r\n\r\nnext,table\r\n", 1).unwrap();
        assert_eq!(table.head, ["a", "b"]);
        assert_eq!(
            table.rows,
            [
                (2, vec!["x, \"y\"".to_owned(), "1\n2".to_owned()]),
                (4, vec!["3".to_owned(), String::new()])
            ]
        );
        assert_eq!(table.end, 5);
        assert_eq!(csv("a,b\n1\n", 7).unwrap_err().0, "line 8 has 1 values where the head names 2");
        assert_eq!(
            csv("a,b\n1,\"2", 1).unwrap_err().0,
            "line 2: a quote is not closed: the file is truncated"
        );
    }

    #[test]
    fn markdown_tables_stand_between_other_lines() {
        let tables = markdown("init\n| a | b |\n| --- | ---: |\n| x | 1.5 ± 0.1 |\n\nbuild: 1\n").unwrap();
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].rows, [(4, vec!["x".to_owned(), "1.5 ± 0.1".to_owned()])]);
        assert_eq!(tables[0].end, 5);
        assert!(markdown("| a |\n|---|\n| x").unwrap_err().0.contains("truncated"));
        assert!(
            markdown("| a | b |\n|---|---|\n| x |\n")
                .unwrap_err()
                .0
                .contains("1 cells where the head names 2")
        );
        assert!(markdown("| no rule |\n| x |\n").unwrap().is_empty());
    }

    #[test]
    fn cells_are_numbers_where_they_are_numbers() {
        for (cell, value) in [
            ("512", Json::Whole(512)),
            ("1.5", Json::Number(1.5)),
            ("nan", Json::NotFinite("nan".to_owned())),
            ("1e999", Json::NotFinite("1e999".to_owned())),
            ("1,000", Json::Text("1,000".to_owned())),
            (" ", Json::Null),
        ] {
            assert_eq!(cell_value(cell), value);
        }
    }
}

use gate::judge::crossover::{Block, worse};
use gate::model::metric::{Better, Scale};
use gate::model::plan::Orientation;
use serde_json::Value;

/// One case, or a part of it, with typed access.
pub struct Case<'a> {
    pub name: String,
    pub value: &'a Value,
}

impl Case<'_> {
    pub fn expected(&self) -> Case<'_> {
        Case {
            name: self.name.clone(),
            value: &self.value["expected"],
        }
    }

    pub fn number(&self, key: &str) -> f64 {
        self.value[key].as_f64().unwrap_or_else(|| panic!("{}: no number {key}", self.name))
    }

    pub fn size(&self, key: &str) -> usize {
        usize::try_from(self.value[key].as_u64().unwrap()).unwrap()
    }

    pub fn text(&self, key: &str) -> &str {
        self.value[key].as_str().unwrap_or_else(|| panic!("{}: no text {key}", self.name))
    }

    pub fn numbers(&self, key: &str) -> Vec<f64> {
        self.value[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    pub fn same(&self, key: &str, found: Option<f64>) {
        self.within(key, found, 1e-9);
    }

    /// The same to a relative `tolerance` or 1e-11; an absent or null number must be absent here too.
    pub fn within(&self, key: &str, found: Option<f64>, tolerance: f64) {
        let expected = self.value[key].as_f64();
        let close = match (expected, found) {
            (Some(e), Some(f)) => (f - e).abs() <= (tolerance * e.abs()).max(1e-11),
            (None, None) => true,
            _ => false,
        };
        assert!(close, "{}: {key}: {found:?} found, {expected:?} expected", self.name);
    }

    pub fn same_list(&self, key: &str, found: &[f64]) {
        let expected = self.numbers(key);
        assert_eq!(expected.len(), found.len(), "{}: {key}: {found:?} against {expected:?}", self.name);
        for (e, f) in expected.iter().zip(found) {
            let close = (f - e).abs() <= (1e-9 * e.abs()).max(1e-11);
            assert!(close, "{}: {key}: {found:?} found, {expected:?} expected", self.name);
        }
    }

    pub fn better(&self) -> Better {
        match self.value["direction"].as_str() {
            Some("higher") => Better::Higher,
            _ => Better::Lower,
        }
    }

    pub fn scale(&self) -> Scale {
        match self.value["scale"].as_str() {
            Some("abs") => Scale::Abs,
            _ => Scale::Pct,
        }
    }

    pub fn blocks(&self) -> Vec<Block> {
        let y: Vec<f64> = self
            .numbers("samples")
            .into_iter()
            .map(|v| worse(v, self.scale(), self.better()).unwrap())
            .collect();
        let orders = self.text("order").as_bytes().chunks(4);
        let block = |(slots, y): (&[u8], &[f64])| Block {
            orientation: if slots == b"ABBA" { Orientation::Abba } else { Orientation::Baab },
            y: y.try_into().unwrap(),
        };
        orders.zip(y.chunks(4)).map(block).collect()
    }
}

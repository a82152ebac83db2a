//! Attribute values made and read. A stored item comes from outside: nothing in it is believed unread.

use std::collections::HashMap;
use std::fmt::Display;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::money::Amount;
use expiry_core::time::Timestamp;

/// A row of a table.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// A stored item that is not what this program writes. Nothing is decided on it, and nothing is written over it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// An attribute is missing.
    #[error("the attribute {0} is missing")]
    Missing(String),
    /// An attribute is of another type, or out of range.
    #[error("the attribute {attribute} is not {expected}")]
    Unexpected {
        /// Its path.
        attribute: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A status that this version of the program does not know: such an order is not writable by it (DESIGN §6).
    #[error("the attribute {attribute} has the unknown value {value:?}")]
    Unknown {
        /// Its path.
        attribute: String,
        /// What stands there.
        value: String,
    },
}

pub(crate) fn text(value: impl Display) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

pub(crate) fn number(value: impl Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub(crate) fn millis(at: Timestamp) -> AttributeValue {
    number(at.as_millis())
}

pub(crate) fn bytes(value: &[u8]) -> AttributeValue {
    AttributeValue::B(Blob::new(value))
}

pub(crate) fn boolean(value: bool) -> AttributeValue {
    AttributeValue::Bool(value)
}

pub(crate) fn set_of_text(values: impl Iterator<Item = String>) -> AttributeValue {
    AttributeValue::Ss(values.collect())
}

/// Reads the attributes of one map, naming what it does not find.
pub(crate) struct Reader<'a> {
    map: &'a HashMap<String, AttributeValue>,
    path: String,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(map: &'a HashMap<String, AttributeValue>) -> Reader<'a> {
        Reader { map, path: String::new() }
    }

    fn name(&self, attribute: &str) -> String {
        format!("{}{attribute}", self.path)
    }

    pub(crate) fn unexpected(&self, attribute: &str, expected: &'static str) -> DecodeError {
        DecodeError::Unexpected { attribute: self.name(attribute), expected }
    }

    pub(crate) fn unknown(&self, attribute: &str, value: &str) -> DecodeError {
        DecodeError::Unknown { attribute: self.name(attribute), value: value.to_owned() }
    }

    pub(crate) fn required<T>(&self, attribute: &str, found: Option<T>) -> Result<T, DecodeError> {
        found.ok_or_else(|| DecodeError::Missing(self.name(attribute)))
    }

    pub(crate) fn text(&self, attribute: &str) -> Result<Option<&'a str>, DecodeError> {
        match self.map.get(attribute) {
            None => Ok(None),
            Some(AttributeValue::S(value)) => Ok(Some(value)),
            Some(_) => Err(self.unexpected(attribute, "a string")),
        }
    }

    /// Reads text through `parse`, which knows what is valid.
    pub(crate) fn parsed<T>(
        &self,
        attribute: &str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, DecodeError> {
        match self.text(attribute)? {
            None => Ok(None),
            Some(value) => parse(value).map(Some).ok_or_else(|| self.unexpected(attribute, expected)),
        }
    }

    /// Reads text that is one of a closed list.
    pub(crate) fn code<T>(
        &self,
        attribute: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, DecodeError> {
        match self.text(attribute)? {
            None => Ok(None),
            Some(value) => parse(value).map(Some).ok_or_else(|| self.unknown(attribute, value)),
        }
    }

    pub(crate) fn number(&self, attribute: &str) -> Result<Option<u64>, DecodeError> {
        match self.map.get(attribute) {
            None => Ok(None),
            Some(AttributeValue::N(value)) => match value.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(self.unexpected(attribute, "a whole number from 0 on")),
            },
            Some(_) => Err(self.unexpected(attribute, "a number")),
        }
    }

    pub(crate) fn small<T: TryFrom<u64>>(&self, attribute: &str) -> Result<Option<T>, DecodeError> {
        match self.number(attribute)? {
            None => Ok(None),
            Some(value) => {
                T::try_from(value).map(Some).map_err(|_| self.unexpected(attribute, "a number of its range"))
            }
        }
    }

    pub(crate) fn millis(&self, attribute: &str) -> Result<Option<Timestamp>, DecodeError> {
        match self.number(attribute)? {
            None => Ok(None),
            Some(value) => i64::try_from(value)
                .ok()
                .and_then(Timestamp::from_millis)
                .map(Some)
                .ok_or_else(|| self.unexpected(attribute, "a time")),
        }
    }

    pub(crate) fn amount(&self, attribute: &str) -> Result<Option<Amount>, DecodeError> {
        match self.number(attribute)? {
            None => Ok(None),
            Some(value) => Amount::new(value).map(Some).ok_or_else(|| self.unexpected(attribute, "an amount")),
        }
    }

    pub(crate) fn boolean(&self, attribute: &str) -> Result<bool, DecodeError> {
        match self.map.get(attribute) {
            None => Ok(false),
            Some(AttributeValue::Bool(value)) => Ok(*value),
            Some(_) => Err(self.unexpected(attribute, "true or false")),
        }
    }

    pub(crate) fn bytes(&self, attribute: &str) -> Result<Option<&'a [u8]>, DecodeError> {
        match self.map.get(attribute) {
            None => Ok(None),
            Some(AttributeValue::B(value)) => Ok(Some(value.as_ref())),
            Some(_) => Err(self.unexpected(attribute, "binary")),
        }
    }

    pub(crate) fn set_of_text(&self, attribute: &str) -> Result<&'a [String], DecodeError> {
        match self.map.get(attribute) {
            None => Ok(&[]),
            Some(AttributeValue::Ss(values)) => Ok(values),
            Some(_) => Err(self.unexpected(attribute, "a set of strings")),
        }
    }

    pub(crate) fn map(&self, attribute: &str) -> Result<Option<Reader<'a>>, DecodeError> {
        match self.map.get(attribute) {
            None => Ok(None),
            Some(AttributeValue::M(map)) => Ok(Some(Reader { map, path: format!("{}{attribute}.", self.path) })),
            Some(_) => Err(self.unexpected(attribute, "a map")),
        }
    }

    pub(crate) fn list(&self, attribute: &str) -> Result<Vec<Reader<'a>>, DecodeError> {
        let values = match self.map.get(attribute) {
            None => return Ok(Vec::new()),
            Some(AttributeValue::L(values)) => values,
            Some(_) => return Err(self.unexpected(attribute, "a list")),
        };
        let element = |(index, value): (usize, &'a AttributeValue)| match value.as_m() {
            Ok(map) => Ok(Reader { map, path: format!("{}{attribute}[{index}].", self.path) }),
            Err(_) => Err(self.unexpected(attribute, "a list of maps")),
        };
        values.iter().enumerate().map(element).collect()
    }
}

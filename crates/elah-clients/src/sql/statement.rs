//! A statement with its parameters, and the parts that an error may quote.

use std::sync::Arc;

use super::value::Param;

/// A statement to send.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub(super) sql: Arc<str>,
    pub(super) params: Arc<[Param]>,
}

impl Statement {
    pub(super) fn new(sql: String, params: Vec<Param>) -> Self {
        Statement { sql: sql.into(), params: params.into() }
    }

    /// A server's message without the parameters that it quotes.
    pub(super) fn redacted(&self, mut message: String) -> String {
        for text in self.params.iter().filter_map(shown) {
            for quote in ['\'', '"'] {
                message = message.replace(&format!("{quote}{text}{quote}"), "?");
            }
        }
        message
    }
}

/// A server's notation of a parameter that may be secret.
fn shown(param: &Param) -> Option<String> {
    match param {
        Param::Text(text) | Param::Decimal(text) | Param::Json(text) => Some(text.clone()),
        Param::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        Param::Int(number) => Some(number.to_string()),
        Param::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_out_of_messages() {
        let statement = Statement::new("SELECT ?".to_owned(), vec![Param::Text("hunter2".to_owned()), Param::Int(7)]);
        let message = "invalid input syntax for type integer: \"hunter2\", or '7' in column 7".to_owned();
        assert_eq!(statement.redacted(message), "invalid input syntax for type integer: ?, or ? in column 7");
    }
}

//! A statement with its parameters, and the parts that an error may quote.

use std::sync::Arc;

use super::value::Param;

/// What MySQL and MariaDB show of a longer text in a message.
const SHOWN_BYTES: usize = 125;

/// What is kept of a message that quotes parameters. PostgreSQL quotes the whole of an array.
const MESSAGE_BYTES_MAX: usize = 1024;

/// Characters by which such a text is known. They have fewer bytes than are shown.
const BEGINNING_CHARS: usize = 30;

const QUOTES: [char; 2] = ['\'', '"'];

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

    /// The statement as it is prepared, before the server knows parameters: what a message quotes then is a name.
    pub(super) fn unbound(&self) -> Statement {
        Statement { sql: Arc::clone(&self.sql), params: Arc::new([]) }
    }

    /// A server's message without the parameters that it quotes.
    pub(super) fn redacted(&self, mut message: String) -> String {
        if message.len() > MESSAGE_BYTES_MAX
            && !self.params.is_empty()
            && let Some(quoted) = message.find(QUOTES)
        {
            message.truncate(quoted);
            message.push('?');
        }
        let mut texts = Vec::new();
        self.params.iter().for_each(|param| shown(param, &mut texts));
        for text in texts {
            let is_long = text.len() > SHOWN_BYTES;
            if !is_long && !message.contains(&text) {
                continue;
            }
            for quote in QUOTES {
                message = message.replace(&format!("{quote}{text}{quote}"), "?");
                // A server shows a long text as 'beginning...'.
                let beginning: String = std::iter::once(quote).chain(text.chars().take(BEGINNING_CHARS)).collect();
                let end = format!("...{quote}");
                if let (Some(from), Some(to)) = (message.find(&beginning), message.rfind(&end))
                    && is_long
                    && from < to
                {
                    message.replace_range(from..to + end.len(), "?");
                }
            }
        }
        message
    }
}

/// A server's notation of a parameter that may be secret.
fn shown(param: &Param, texts: &mut Vec<String>) {
    match param {
        Param::Text(text) | Param::Decimal(text) | Param::Json(text) => texts.push(text.clone()),
        Param::Bytes(bytes) => texts.extend(String::from_utf8(bytes.clone())),
        Param::Int(number) => texts.push(number.to_string()),
        Param::Float(number) => texts.push(number.to_string()),
        Param::Array(elements) => elements.iter().for_each(|element| shown(element, texts)),
        _ => {}
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

    // Each element was sought in a message that had all of them: the loop stood still for seconds.
    #[test]
    fn a_long_message_ends_where_it_begins_to_quote() {
        let elements: Vec<Param> = (0..20_000).map(Param::Int).collect();
        let quoted: Vec<String> = (0..20_000).map(|element| element.to_string()).collect();
        let statement = Statement::new("SELECT ?".to_owned(), vec![Param::Array(elements)]);
        let message = format!("invalid input syntax for type integer: \"{{{}}}\"", quoted.join(","));
        assert_eq!(statement.redacted(message), "invalid input syntax for type integer: ?");
    }

    #[test]
    fn elements_and_shortened_texts_are_taken_out_too() {
        let long = "hunter2 ".repeat(30);
        let array = Param::Array(vec![Param::Array(vec![Param::Text("hunter2".to_owned())])]);
        let statement = Statement::new("SELECT ?, ?".to_owned(), vec![array, Param::Text(long.clone())]);
        let message = format!("Incorrect value: '{}...' for column 'id', or \"hunter2\"", &long[..125]);
        assert_eq!(statement.redacted(message), "Incorrect value: ? for column 'id', or ?");
    }
}

//! The conversion of `?` into PostgreSQL's `$1`, `$2`, ... outside of literals, quoted names and comments. `??` is the operator
//! `?`. A statement without a lone `?` stays unchanged, so `$1` works too.

/// The statement with PostgreSQL's placeholders.
pub(super) fn numbered(sql: &str) -> String {
    let mut scanner = Scanner { sql: sql.as_bytes(), at: 0 };
    let mut numbered = String::with_capacity(sql.len() + 8);
    let mut copied = 0;
    let mut count = 0;
    while let Some(mark) = scanner.next_mark() {
        numbered.push_str(&sql[copied..mark]);
        if sql.as_bytes().get(mark + 1) == Some(&b'?') {
            numbered.push('?');
            scanner.at += 1;
        } else {
            count += 1;
            numbered.push_str(&format!("${count}"));
        }
        copied = scanner.at;
    }
    numbered.push_str(&sql[copied..]);
    numbered
}

struct Scanner<'s> {
    sql: &'s [u8],
    at: usize,
}

impl Scanner<'_> {
    /// The position of the next `?`; the scanner moves past it.
    fn next_mark(&mut self) -> Option<usize> {
        while let Some(&byte) = self.sql.get(self.at) {
            let start = self.at;
            self.at += 1;
            match byte {
                b'?' => return Some(start),
                b'\'' => self.skip_quoted(b'\'', self.has_escapes(start)),
                b'"' => self.skip_quoted(b'"', false),
                b'-' if self.is_next(b'-') => self.skip_past(b"\n"),
                b'/' if self.is_next(b'*') => self.skip_comment(),
                b'$' if !self.is_in_name(start) => self.skip_dollar_quoted(start),
                _ => {}
            }
        }
        None
    }

    fn is_next(&self, byte: u8) -> bool {
        self.sql.get(self.at) == Some(&byte)
    }

    /// True when the byte before `start` belongs to a name or a number.
    fn is_in_name(&self, start: usize) -> bool {
        start > 0 && (self.sql[start - 1].is_ascii_alphanumeric() || self.sql[start - 1] == b'_' || self.sql[start - 1] >= 0x80)
    }

    /// `E'...'` has backslash escapes.
    fn has_escapes(&self, quote: usize) -> bool {
        quote > 0 && matches!(self.sql[quote - 1], b'e' | b'E') && !self.is_in_name(quote - 1)
    }

    /// A doubled quote ends one literal and begins the next, which has the same effect.
    fn skip_quoted(&mut self, quote: u8, has_escapes: bool) {
        while let Some(&byte) = self.sql.get(self.at) {
            self.at += if has_escapes && byte == b'\\' { 2 } else { 1 };
            if byte == quote {
                if has_escapes && self.is_next(quote) {
                    self.at += 1;
                    continue;
                }
                return;
            }
        }
    }

    fn skip_past(&mut self, end: &[u8]) {
        let rest = &self.sql[self.at.min(self.sql.len())..];
        self.at += rest.windows(end.len()).position(|window| window == end).map_or(rest.len(), |found| found + end.len());
    }

    fn skip_comment(&mut self) {
        self.at = self.sql.len() - after_comment(&self.sql[self.at + 1..]).len();
    }

    /// `$$ ... $$` and `$tag$ ... $tag$`; `$1` is neither.
    fn skip_dollar_quoted(&mut self, start: usize) {
        let tag = self.sql[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80)
            .count();
        let end = self.at + tag;
        if self.sql.get(end) != Some(&b'$') || self.sql[self.at..end].first().is_some_and(u8::is_ascii_digit) {
            return;
        }
        self.at = end + 1;
        let sql = self.sql;
        self.skip_past(&sql[start..=end]);
    }
}

/// The text after a comment of which `/*` has been read. Comments nest.
pub(super) fn after_comment(mut text: &[u8]) -> &[u8] {
    let mut depth = 1;
    while depth > 0 && !text.is_empty() {
        (depth, text) = match text {
            [b'/', b'*', rest @ ..] => (depth + 1, rest),
            [b'*', b'/', rest @ ..] => (depth - 1, rest),
            _ => (depth, &text[1..]),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_numbered_outside_of_literals_names_and_comments() {
        for (sql, expected) in [
            ("SELECT ?, ?", "SELECT $1, $2"),
            ("SELECT $1 + $2", "SELECT $1 + $2"),
            ("SELECT '?', ?", "SELECT '?', $1"),
            ("SELECT 'it''s ?', ?", "SELECT 'it''s ?', $1"),
            (r"SELECT 'back\', ?", r"SELECT 'back\', $1"),
            (r"SELECT E'it\'s ?', ?", r"SELECT E'it\'s ?', $1"),
            (r"SELECT E'it''s \' ?', ?", r"SELECT E'it''s \' ?', $1"),
            (r#"SELECT "a?b", ?"#, r#"SELECT "a?b", $1"#),
            ("SELECT ? -- why?\n, ?", "SELECT $1 -- why?\n, $2"),
            ("SELECT ? /* a? /* b? */ c? */, ?", "SELECT $1 /* a? /* b? */ c? */, $2"),
            ("SELECT $$ ? $$, $tag$ ? $$ ? $tag$, ?", "SELECT $$ ? $$, $tag$ ? $$ ? $tag$, $1"),
            ("SELECT a$b$ ? , ?", "SELECT a$b$ $1 , $2"),
            ("SELECT data ?? 'key', ?", "SELECT data ? 'key', $1"),
            ("SELECT 'ü?', ?", "SELECT 'ü?', $1"),
            ("SELECT 'open ?", "SELECT 'open ?"),
            ("SELECT /* open ?", "SELECT /* open ?"),
            ("SELECT $open$ ?", "SELECT $open$ ?"),
            (r"SELECT E'open \", r"SELECT E'open \"),
            ("?", "$1"),
            ("", ""),
        ] {
            assert_eq!(numbered(sql), expected);
        }
    }
}

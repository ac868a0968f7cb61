//! The statements that the client does not run: those that begin or end a transaction, and copies. A server runs one statement at a
//! time, so its first words decide.

use super::placeholders::after_comment;

/// True for BEGIN, COMMIT, ROLLBACK and their like; false for savepoints, and for the end of a prepared transaction, which belongs to
/// no connection.
pub(super) fn begins_or_ends_transaction(sql: &str) -> bool {
    let mut words = Words(sql.as_bytes());
    let first = words.take();
    let is = |word: Option<&[u8]>, known: &[&str]| {
        word.is_some_and(|word| known.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes())))
    };
    if !is(first, &["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "PREPARE", "XA"]) {
        return false;
    }
    let mut second = words.take();
    if is(first, &["START", "PREPARE"]) {
        return is(second, &["TRANSACTION"]);
    }
    if is(first, &["XA"]) {
        return is(second, &["START", "BEGIN"]);
    }
    if is(second, &["WORK", "TRANSACTION"]) {
        second = words.take();
    }
    // MariaDB's block of statements is BEGIN NOT ATOMIC.
    !is(second, &["TO", "PREPARED", "NOT"])
}

/// True for PostgreSQL's COPY from or to the client.
pub(super) fn copies_with_client(sql: &str) -> bool {
    let mut words = Words(sql.as_bytes());
    if !words.take().is_some_and(|word| word.eq_ignore_ascii_case(b"COPY")) {
        return false;
    }
    // Each second part is quoted: a file, a program or a name.
    let unquoted = sql.split(['\'', '"']).step_by(2);
    let mut words = unquoted.flat_map(|part| part.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    words.any(|word| word.eq_ignore_ascii_case("STDIN") || word.eq_ignore_ascii_case("STDOUT"))
}

/// The words at the beginning, without comments, up to other characters.
struct Words<'s>(&'s [u8]);

impl<'s> Words<'s> {
    fn take(&mut self) -> Option<&'s [u8]> {
        self.skip_blanks();
        let len = self.0.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = self.0.split_at(len);
        self.0 = rest;
        (len > 0).then_some(word)
    }

    fn skip_blanks(&mut self) {
        loop {
            self.0 = match self.0 {
                [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | b';', rest @ ..] => rest,
                [b'#', rest @ ..] | [b'-', b'-', rest @ ..] => after_line(rest),
                [b'/', b'*', rest @ ..] => after_comment(rest),
                _ => return,
            }
        }
    }
}

fn after_line(text: &[u8]) -> &[u8] {
    let len = text.iter().take_while(|byte| !matches!(byte, b'\n' | b'\r')).count();
    &text[len..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_begins_or_ends_a_transaction_is_known() {
        for sql in [
            "BEGIN",
            "begin;",
            " ;\n\tBegin Work",
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "START TRANSACTION READ ONLY",
            "START/**/TRANSACTION",
            "COMMIT",
            "COMMIT AND CHAIN",
            "END",
            "ROLLBACK",
            "rollback transaction",
            "ABORT",
            "PREPARE TRANSACTION 'a'",
            "XA START 'a'",
            "-- why\rCOMMIT",
            "# why\nCOMMIT",
            "/* a /* b */ c */ COMMIT -- d",
        ] {
            assert!(begins_or_ends_transaction(sql), "{sql}");
        }
    }

    #[test]
    fn a_copy_from_or_to_the_client_is_known() {
        for sql in ["COPY t FROM STDIN", "/* a */ copy t (a, b) from stdin with (format csv)", "COPY (SELECT 1) TO STDOUT;"] {
            assert!(copies_with_client(sql), "{sql}");
        }
        for sql in ["COPY t FROM '/tmp/stdin'", "COPY \"stdin\" TO PROGRAM 'cat > stdout'", "SELECT stdin FROM copy", "COPY"] {
            assert!(!copies_with_client(sql), "{sql}");
        }
    }

    #[test]
    fn other_statements_are_let_through() {
        for sql in [
            "",
            ";",
            "SELECT 1",
            "beginning",
            "BEGIN NOT ATOMIC SELECT 1; END",
            "START REPLICA",
            "SAVEPOINT a",
            "ROLLBACK TO a",
            "ROLLBACK WORK TO SAVEPOINT a",
            "RELEASE SAVEPOINT a",
            "COMMIT PREPARED 'a'",
            "ROLLBACK PREPARED 'a'",
            "PREPARE a FROM 'SELECT 1'",
            "XA RECOVER",
            "/* BEGIN",
            "-- BEGIN",
            "(SELECT 1)",
            "ünicode",
        ] {
            assert!(!begins_or_ends_transaction(sql), "{sql}");
        }
    }
}

//! The statements that begin or end a transaction. A server runs one statement at a time, so its first words decide.

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

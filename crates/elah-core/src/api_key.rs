//! The key that a client sends in a header to show who it is, of which only the digest is known. What the Ruby class of this name does, for
//! requests that Ruby does not see.

use sha2::{Digest, Sha256};

use crate::request::RequestView;

const BEARER: &[u8] = b"Bearer ";

/// The SHA-256 digest of a key.
#[derive(Clone)]
pub struct ApiKey([u8; 32]);

impl ApiKey {
    pub fn of_digest(digest: [u8; 32]) -> Self {
        ApiKey(digest)
    }

    /// Whether the key came with a request, as `X-Api-Key: KEY` or, where there is no such header, `Authorization: Bearer KEY`.
    pub fn admits(&self, request: &RequestView<'_>) -> bool {
        match (request.header("x-api-key"), request.header("authorization")) {
            (Some(key), _) => self.matches(&key),
            (None, Some(value)) => bearer(&value).is_some_and(|key| self.matches(key)),
            (None, None) => false,
        }
    }

    /// Takes the same time for every wrong key of a length.
    fn matches(&self, offered: &[u8]) -> bool {
        let difference =
            Sha256::digest(offered).iter().zip(self.0).fold(0, |difference, (one, other)| difference | (one ^ other));
        std::hint::black_box(difference) == 0
    }
}

/// The key in the value of an Authorization header: one word behind `Bearer`, in whatever case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(BEARER.len())?;
    let key = rest.trim_ascii();
    let is_one_word = !key.is_empty() && !key.iter().any(u8::is_ascii_whitespace);
    (scheme.eq_ignore_ascii_case(BEARER) && is_one_word).then_some(key)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::{ApiKey, bearer};

    #[test]
    fn only_the_key_itself_matches() {
        let key = ApiKey::of_digest(Sha256::digest(b"secret").into());
        assert!(key.matches(b"secret"));
        for other in [&b""[..], b"secre", b"secret ", b"Secret", b"secret2"] {
            assert!(!key.matches(other));
        }
    }

    #[test]
    fn a_key_is_one_word_behind_bearer() {
        assert_eq!(bearer(b"Bearer secret"), Some(&b"secret"[..]));
        assert_eq!(bearer(b"bEARER   secret \t"), Some(&b"secret"[..]));
        for other in
            [&b""[..], b"Bearer", b"Bearer ", b"Bearer   ", b"Bearer a b", b"Basic secret", b"Bearersecret", b" Bearer secret"]
        {
            assert_eq!(bearer(other), None);
        }
    }
}

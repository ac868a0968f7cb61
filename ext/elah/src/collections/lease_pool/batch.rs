//! Many leases with one call.

use elah_lease_pool::{Lease, write_leases};
use magnus::{Error, RArray, RHash, RString, Ruby, TryConvert};

use super::{Core, structs, text, wanted};
use crate::ruby::receiver::Receiver;
use crate::ruby::utf8;

impl Core {
    /// A lease, or nil, for each of the requests, which are Hashes with `session`, `item` and `data`.
    pub(super) fn lease_all(ruby: &Ruby, core: Receiver<Self>, now: i64, requests: RArray) -> Result<RArray, Error> {
        let leases = core.lend_all(ruby, now, requests)?;
        let all = ruby.ary_new_capa(leases.len());
        for lease in leases {
            match lease {
                Some(lease) => all.push(structs::lease(ruby, &lease)?)?,
                None => all.push(())?,
            }
        }
        Ok(all)
    }

    pub(super) fn lease_all_json(ruby: &Ruby, core: Receiver<Self>, now: i64, requests: RArray) -> Result<RString, Error> {
        let leases = core.lend_all(ruby, now, requests)?;
        let mut text = Vec::new();
        write_leases(leases.into_iter(), &mut text);
        utf8::new_string(&text, text.is_ascii())
    }

    /// All requests are read and checked before the first one changes anything.
    fn lend_all(&self, ruby: &Ruby, now: i64, requests: RArray) -> Result<Vec<Option<Lease<'static>>>, Error> {
        let nothing = ruby.str_from_slice(b"");
        let names = [ruby.to_symbol("session"), ruby.to_symbol("item"), ruby.to_symbol("data")];
        let mut read = Vec::with_capacity(requests.len());
        // An Array keeps the Strings alive, because Ruby does not look for them in `read`.
        let kept = ruby.ary_new();
        for at in 0..requests.len() {
            let request: RHash = requests.entry(at as isize)?;
            let [session, item, data] = names.map(|name| request.get(name));
            let session = session.map_or(Ok(None), |session| text(ruby, session))?;
            let item = item.map_or(Ok(None), |item| wanted(ruby, item))?;
            let data = data.map_or(Ok(nothing), RString::try_convert)?;
            self.check(ruby, session, item, data)?;
            session.map_or(Ok(()), |session| kept.push(session))?;
            kept.push(data)?;
            read.push((session, item, data));
        }
        let leases = read.into_iter().map(|(session, item, data)| self.lend(ruby, now, session, item, data)).collect();
        std::hint::black_box(kept);
        leases
    }
}

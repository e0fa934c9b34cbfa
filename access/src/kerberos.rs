//! Kerberos over HTTP (SPNEGO, RFC 4559): verifies the ticket by which a client authenticates to this service.
//!
//! The input is the token of a header `Authorization: Negotiate`, and the keys of the service. The result is the
//! client's principal and the proof that authenticates this server to the client; or the reason of a refusal. The
//! checks that RFC 4120 requires of a server (3.2.3) are made here; formats and ciphers are those of `picky-krb`. The
//! KDC is not contacted.

use crate::keytab::{Key, Keytab};
use picky_asn1::date::GeneralizedTime;
use picky_asn1::wrapper::{
    BitStringAsn1, ExplicitContextTag0, ExplicitContextTag1, ExplicitContextTag2,
    ExplicitContextTag3, GeneralizedTimeAsn1, IntegerAsn1, ObjectIdentifierAsn1, OctetStringAsn1,
    Optional,
};
use picky_asn1_der::Asn1RawDer;
use picky_krb::constants::gss_api::{ACCEPT_COMPLETE, AP_REP_TOKEN_ID, AP_REQ_TOKEN_ID};
use picky_krb::constants::key_usages::{AP_REP_ENC, AP_REQ_AUTHENTICATOR, TICKET_REP};
use picky_krb::constants::types::AP_REP_MSG_TYPE;
use picky_krb::crypto::CipherSuite;
use picky_krb::data_types::{
    Authenticator, AuthenticatorInner, EncApRepPart, EncApRepPartInner, EncTicketPart,
    EncTicketPartInner, EncryptedData, KerberosStringAsn1, PrincipalName,
};
use picky_krb::gss_api::{
    ApplicationTag0, GssApiNegInit, KrbMessage, MechType, NegTokenTarg, NegTokenTarg1,
};
use picky_krb::messages::{ApRep, ApRepInner, ApReq};
use ring::digest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Maximum difference between the clocks of a client and this server, in milliseconds.
const SKEW_MS: i64 = 300_000;
/// The OID of the mechanism, and the one that Microsoft's clients use.
const KERBEROS: &str = "1.2.840.113554.1.2.2";
const KERBEROS_OF_MICROSOFT: &str = "1.2.840.48018.1.2.2";
/// Bits of ticket flags and of request options.
const INVALID: usize = 7;
const WANTS_PROOF: usize = 2;
/// Number of remembered requests above which expired ones are removed.
const REMEMBERED: usize = 1_000;

/// Verifies tickets.
#[derive(Debug)]
pub struct Acceptor {
    keytab: RwLock<Arc<Keytab>>,
    /// Hashes of accepted requests, each with the time until which it could be replayed.
    seen: Mutex<HashMap<Vec<u8>, i64>>,
}

/// An authenticated client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The short name, by Hadoop's rule `DEFAULT`: the part before `/` and `@`.
    pub user: String,
    /// The full principal.
    pub principal: String,
    /// The token for the client.
    pub token: Vec<u8>,
}

/// A parsed authentication request.
struct Asks {
    request: ApReq,
    /// The mechanism that is confirmed to SPNEGO as chosen.
    negotiated: Option<MechType>,
}

fn unreadable(_: impl Sized) -> String {
    "the token cannot be read".to_owned()
}

fn mechanism(name: &str) -> Result<ObjectIdentifierAsn1, String> {
    name.to_owned().try_into().map(ObjectIdentifierAsn1).map_err(unreadable)
}

impl Asks {
    fn read(token: &[u8]) -> Result<Asks, String> {
        if token.starts_with(b"NTLMSSP") {
            return Err("the client speaks NTLM: it has no ticket for this service".to_owned());
        }
        // Some clients do not use SPNEGO.
        if let Ok(plain) = KrbMessage::<ApReq>::decode_application_krb_message(token) {
            return Asks::of(plain.0, None);
        }
        // Except for its tag, the GSSAPI wrapper is a sequence; the parser of `ApplicationTag0` panics on damaged
        // input.
        let rest = token.strip_prefix(&[0x60]).ok_or_else(|| unreadable(()))?;
        let sequence = [&[0x30], rest].concat();
        let negotiation: GssApiNegInit =
            picky_asn1_der::from_bytes(&sequence).map_err(unreadable)?;
        let negotiation = negotiation.neg_token_init.0;
        let first = negotiation.mech_types.0.and_then(|all| all.0.0.into_iter().next());
        let known = [mechanism(KERBEROS)?, mechanism(KERBEROS_OF_MICROSOFT)?];
        let Some(first) = first.filter(|first| known.contains(first)) else {
            return Err("the client prefers another mechanism than Kerberos".to_owned());
        };
        let inner = negotiation.mech_token.0.ok_or("the client sends no ticket")?.0.0;
        let inner = KrbMessage::<ApReq>::decode_application_krb_message(&inner);
        Asks::of(inner.map_err(unreadable)?.0, Some(first))
    }

    fn of(message: KrbMessage<ApReq>, negotiated: Option<MechType>) -> Result<Asks, String> {
        match message.krb5_token_id == AP_REQ_TOKEN_ID && message.krb5_oid == mechanism(KERBEROS)? {
            true => Ok(Asks { request: message.krb_msg, negotiated }),
            false => Err(unreadable(())),
        }
    }
}

/// Returns a component of a name.
fn text(part: &KerberosStringAsn1) -> Result<&str, String> {
    std::str::from_utf8(part.0.as_bytes()).map_err(unreadable)
}

/// Returns a principal in text form.
fn shown(name: &PrincipalName, realm: &KerberosStringAsn1) -> Result<String, String> {
    let parts: Result<Vec<&str>, String> = name.name_string.0.0.iter().map(text).collect();
    Ok(format!("{}@{}", parts?.join("/"), text(realm)?))
}

/// Returns the milliseconds since 1970.
fn moment(time: &GeneralizedTimeAsn1) -> Result<i64, String> {
    let GeneralizedTimeAsn1(time) = time;
    let time: &GeneralizedTime = time;
    let part = |number: u8| i8::try_from(number).map_err(unreadable);
    let year = i16::try_from(time.year()).map_err(unreadable)?;
    let (month, day, hour) = (part(time.month())?, part(time.day())?, part(time.hour())?);
    let (minute, second) = (part(time.minute())?, part(time.second())?);
    let at = jiff::civil::DateTime::new(year, month, day, hour, minute, second, 0);
    let at = at.and_then(|at| at.to_zoned(jiff::tz::TimeZone::UTC)).map_err(unreadable)?;
    Ok(at.timestamp().as_millisecond())
}

/// Whether a flag is set. (The library's function panics if a client sends too few bits.)
fn is_set(flags: &BitStringAsn1, bit: usize) -> bool {
    // The first byte is the number of unused bits.
    flags.0.as_bytes().get(1 + bit / 8).is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0)
}

/// Returns the encryption type.
fn kind(data: &EncryptedData) -> Option<u16> {
    let bytes = data.etype.0.as_unsigned_bytes_be();
    bytes.iter().try_fold(0_u16, |sum, byte| sum.checked_mul(256)?.checked_add(u16::from(*byte)))
}

fn decrypted(data: &EncryptedData, key: &[u8], usage: i32) -> Option<Vec<u8>> {
    let suite = CipherSuite::try_from(usize::from(kind(data)?)).ok()?;
    suite.cipher().decrypt(key, usage, &data.cipher.0.0).ok()
}

impl Acceptor {
    /// Creates an acceptor for tickets of the principals of these keys.
    pub fn new(keytab: Keytab) -> Acceptor {
        Acceptor { keytab: RwLock::new(Arc::new(keytab)), seen: Mutex::default() }
    }

    /// Replaces the keys.
    pub fn renew(&self, keytab: Keytab) {
        *self.keytab.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keytab);
    }

    /// Authenticates the sender of a token.
    ///
    /// # Errors
    /// With a sentence if the token is not valid.
    pub fn accept(&self, token: &[u8], now_ms: i64) -> Result<Accepted, String> {
        let asks = Asks::read(token)?;
        let request = &asks.request.0;
        let (ticket, session) = self.opened(&asks)?;
        let authenticator = &request.authenticator.0;
        let bytes = decrypted(authenticator, &session, AP_REQ_AUTHENTICATOR)
            .ok_or("the client does not know the key of its ticket")?;
        let said: Authenticator = picky_asn1_der::from_bytes(&bytes).map_err(unreadable)?;
        let (ticket, said) = (&ticket.0, &said.0);
        let principal = shown(&ticket.cname.0, &ticket.crealm.0)?;
        if shown(&said.cname.0, &said.crealm.0)? != principal {
            return Err(format!("the ticket is of {principal}, who does not ask"));
        }
        is_now(ticket, said, now_ms)?;
        let user = short(&ticket.cname.0, &principal)?;
        let (ours, theirs) = (text(&request.ticket.0.0.realm.0)?, text(&ticket.crealm.0)?);
        if ours != theirs {
            return Err(format!("{principal} is of another realm than this service, {ours}"));
        }
        self.remember(&authenticator.cipher.0.0, moment(&said.ctime.0)?, now_ms)?;
        let proof = match is_set(&request.ap_options.0, WANTS_PROOF) {
            true => Some(proof(said, kind(authenticator), &session)?),
            false => None,
        };
        Ok(Accepted { user, principal, token: told(proof, asks.negotiated)? })
    }

    /// Returns the decrypted ticket, and the session key in it.
    fn opened(&self, asks: &Asks) -> Result<(EncTicketPart, Vec<u8>), String> {
        let ticket = &asks.request.0.ticket.0.0;
        let service = shown(&ticket.sname.0, &ticket.realm.0)?;
        let keytab = self.keytab.read().unwrap_or_else(PoisonError::into_inner).clone();
        let of_service: Vec<&Key> =
            keytab.keys.iter().filter(|key| key.principal == service).collect();
        if of_service.is_empty() {
            return Err(format!("the ticket is for {service}, of which the keytab has no key"));
        }
        let (part, number) = (&ticket.enc_part.0, kind(&ticket.enc_part.0));
        let fits = |key: &&&Key| Some(key.kind) == number;
        let bytes = of_service
            .iter()
            .filter(fits)
            .find_map(|key| decrypted(part, &key.value, TICKET_REP))
            .ok_or_else(|| {
                let has: Vec<String> = of_service
                    .iter()
                    .map(|key| format!("{} of kind {}", key.version, key.kind))
                    .collect();
                let number = number.unwrap_or_default();
                format!(
                    "the ticket for {service}, of kind {number}, cannot be read with the keys of the keytab ({}): it is of other keys, or of another realm's KDC",
                    has.join(", ")
                )
            })?;
        let opened: EncTicketPart = picky_asn1_der::from_bytes(&bytes).map_err(unreadable)?;
        let session = opened.0.key.0.key_value.0.0.clone();
        Ok((opened, session))
    }

    /// Refuses replayed requests.
    fn remember(&self, said: &[u8], made_ms: i64, now_ms: i64) -> Result<(), String> {
        let sum = digest::digest(&digest::SHA256, said).as_ref().to_vec();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED {
            seen.retain(|_, until| *until >= now_ms);
        }
        match seen.insert(sum, made_ms.saturating_add(SKEW_MS)) {
            None => Ok(()),
            Some(_) => Err("the token was used before".to_owned()),
        }
    }
}

/// Refuses tickets and requests that are not currently valid.
fn is_now(
    ticket: &EncTicketPartInner,
    said: &AuthenticatorInner,
    now_ms: i64,
) -> Result<(), String> {
    let began = ticket.starttime.0.as_ref().map_or(&ticket.auth_time.0, |time| &time.0);
    let made = moment(&said.ctime.0)?;
    if made.abs_diff(now_ms) > SKEW_MS.unsigned_abs() {
        return Err("the clocks of client and server are more than five minutes apart".to_owned());
    }
    if is_set(&ticket.flags.0, INVALID) || moment(began)? > now_ms.saturating_add(SKEW_MS) {
        return Err("the ticket is not valid yet".to_owned());
    }
    if moment(&ticket.endtime.0)?.saturating_add(SKEW_MS) < now_ms {
        return Err("the ticket has expired".to_owned());
    }
    Ok(())
}

/// Returns the user of a principal: its first component.
fn short(name: &PrincipalName, principal: &str) -> Result<String, String> {
    let first = name.name_string.0.0.first().map(text).transpose()?.unwrap_or_default();
    match crate::is_name(first) && !first.contains(['/', '@']) && name.name_string.0.0.len() <= 2 {
        true => Ok(first.to_owned()),
        false => Err(format!("{principal} names no user")),
    }
}

fn integer(number: u8) -> IntegerAsn1 {
    IntegerAsn1::from_bytes_be_unsigned(vec![number])
}

/// Returns the proof that this server could decrypt the ticket. (RFC 4120, 3.2.4)
fn proof(said: &AuthenticatorInner, kind: Option<u16>, session: &[u8]) -> Result<Vec<u8>, String> {
    let number = kind.and_then(|kind| u8::try_from(kind).ok()).ok_or_else(|| unreadable(()))?;
    let suite = CipherSuite::try_from(usize::from(number)).map_err(unreadable)?;
    let sequence = said.seq_number.0.as_ref().map(|number| number.0.clone());
    let part = EncApRepPart::from(EncApRepPartInner {
        ctime: ExplicitContextTag0::from(said.ctime.0.clone()),
        cusec: ExplicitContextTag1::from(said.cusec.0.clone()),
        subkey: Optional::from(None),
        seq_number: Optional::from(sequence.map(ExplicitContextTag3::from)),
    });
    let part = picky_asn1_der::to_vec(&part).map_err(unreadable)?;
    let sealed = suite.cipher().encrypt(session, AP_REP_ENC, &part).map_err(unreadable)?;
    let answer = ApRep::from(ApRepInner {
        pvno: ExplicitContextTag0::from(integer(5)),
        msg_type: ExplicitContextTag1::from(integer(AP_REP_MSG_TYPE)),
        enc_part: ExplicitContextTag2::from(EncryptedData {
            etype: ExplicitContextTag0::from(integer(number)),
            kvno: Optional::from(None),
            cipher: ExplicitContextTag2::from(OctetStringAsn1::from(sealed)),
        }),
    });
    let message = ApplicationTag0(KrbMessage {
        krb5_oid: mechanism(KERBEROS)?,
        krb5_token_id: AP_REP_TOKEN_ID,
        krb_msg: answer,
    });
    picky_asn1_der::to_vec(&message).map_err(unreadable)
}

/// Returns the token of the answer.
fn told(proof: Option<Vec<u8>>, negotiated: Option<MechType>) -> Result<Vec<u8>, String> {
    let Some(mechanism) = negotiated else { return Ok(proof.unwrap_or_default()) };
    let done = Asn1RawDer(ACCEPT_COMPLETE.to_vec());
    let proof = proof.map(|proof| ExplicitContextTag2::from(OctetStringAsn1::from(proof)));
    let answer = NegTokenTarg1::from(NegTokenTarg {
        neg_result: Optional::from(Some(ExplicitContextTag0::from(done))),
        supported_mech: Optional::from(Some(ExplicitContextTag1::from(mechanism))),
        response_token: Optional::from(proof),
        mech_list_mic: Optional::from(None),
    });
    picky_asn1_der::to_vec(&answer).map_err(unreadable)
}

#[cfg(test)]
mod tests;

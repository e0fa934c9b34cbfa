//! Tests with valid and invalid tickets: a minimal KDC and client.

use super::*;
use crate::keytab::tests::entry;
use picky_asn1::bit_string::BitString;
use picky_asn1::restricted_string::RestrictedString;
use picky_asn1::wrapper::{
    Asn1SequenceOf, ExplicitContextTag4, ExplicitContextTag5, ExplicitContextTag6,
    ExplicitContextTag7, GeneralStringAsn1,
};
use picky_krb::data_types::{EncryptionKey, Ticket, TicketInner, TransitedEncoding};
use picky_krb::gss_api::NegTokenInit;
use picky_krb::messages::ApReqInner;

/// 2026-01-01T12:00:00Z
const NOW: i64 = 1_767_268_800_000;
const HOUR: i64 = 3_600_000;
const KEY: [u8; 32] = [7; 32];
const SESSION: [u8; 32] = [9; 32];

/// The content of a client's request.
#[derive(Clone)]
struct Sent {
    client: &'static [&'static str],
    realm: &'static str,
    service: &'static [&'static str],
    key: [u8; 32],
    session: [u8; 32],
    claims: &'static [&'static str],
    starts: i64,
    ends: i64,
    made: i64,
    flags: Option<usize>,
    wants_proof: bool,
    mechanisms: &'static [&'static str],
}

impl Default for Sent {
    fn default() -> Sent {
        Sent {
            client: &["ann"],
            realm: "TEST",
            service: &["HTTP", "here"],
            key: KEY,
            session: SESSION,
            claims: &["ann"],
            starts: NOW - HOUR,
            ends: NOW + HOUR,
            made: NOW,
            flags: None,
            wants_proof: true,
            mechanisms: &[KERBEROS],
        }
    }
}

fn string(text: &str) -> GeneralStringAsn1 {
    GeneralStringAsn1::from(RestrictedString::new(text.as_bytes()).expect("ASCII"))
}

fn name(parts: &[&str]) -> PrincipalName {
    let parts: Vec<_> = parts.iter().map(|part| string(part)).collect();
    PrincipalName {
        name_type: ExplicitContextTag0::from(integer(1)),
        name_string: ExplicitContextTag1::from(Asn1SequenceOf::from(parts)),
    }
}

fn time(at: i64) -> GeneralizedTimeAsn1 {
    let at = jiff::Timestamp::from_millisecond(at).expect("a moment");
    let at = at.to_zoned(jiff::tz::TimeZone::UTC);
    let part = |number: i8| u8::try_from(number).expect("positive");
    let year = u16::try_from(at.year()).expect("positive");
    let date = GeneralizedTime::new(
        year,
        part(at.month()),
        part(at.day()),
        part(at.hour()),
        part(at.minute()),
        part(at.second()),
    );
    date.expect("a date").into()
}

fn bits(set: Option<usize>) -> BitStringAsn1 {
    let mut bits = BitString::with_len(32);
    set.into_iter().for_each(|at| bits.set(at, true));
    bits.into()
}

fn sealed<T: serde::Serialize>(key: &[u8], usage: i32, value: &T) -> EncryptedData {
    let bytes = picky_asn1_der::to_vec(value).expect("DER");
    let cipher = CipherSuite::Aes256CtsHmacSha196.cipher();
    let bytes = cipher.encrypt(key, usage, &bytes).expect("a cipher");
    EncryptedData {
        etype: ExplicitContextTag0::from(integer(18)),
        kvno: Optional::from(None),
        cipher: ExplicitContextTag2::from(OctetStringAsn1::from(bytes)),
    }
}

impl Sent {
    fn request(&self) -> ApReq {
        let ticket = EncTicketPart::from(EncTicketPartInner {
            flags: ExplicitContextTag0::from(bits(self.flags)),
            key: ExplicitContextTag1::from(EncryptionKey {
                key_type: ExplicitContextTag0::from(integer(18)),
                key_value: ExplicitContextTag1::from(OctetStringAsn1::from(SESSION.to_vec())),
            }),
            crealm: ExplicitContextTag2::from(string(self.realm)),
            cname: ExplicitContextTag3::from(name(self.client)),
            transited: ExplicitContextTag4::from(TransitedEncoding {
                tr_type: ExplicitContextTag0::from(integer(1)),
                contents: ExplicitContextTag1::from(OctetStringAsn1::from(Vec::new())),
            }),
            auth_time: ExplicitContextTag5::from(time(self.starts)),
            starttime: Optional::from(Some(ExplicitContextTag6::from(time(self.starts)))),
            endtime: ExplicitContextTag7::from(time(self.ends)),
            renew_till: Optional::from(None),
            caddr: Optional::from(None),
            authorization_data: Optional::from(None),
        });
        let said = Authenticator::from(AuthenticatorInner {
            authenticator_vno: ExplicitContextTag0::from(integer(5)),
            crealm: ExplicitContextTag1::from(string(self.realm)),
            cname: ExplicitContextTag2::from(name(self.claims)),
            cksum: Optional::from(None),
            cusec: ExplicitContextTag4::from(integer(3)),
            ctime: ExplicitContextTag5::from(time(self.made)),
            subkey: Optional::from(None),
            seq_number: Optional::from(None),
            authorization_data: Optional::from(None),
        });
        ApReq::from(ApReqInner {
            pvno: ExplicitContextTag0::from(integer(5)),
            msg_type: ExplicitContextTag1::from(integer(14)),
            ap_options: ExplicitContextTag2::from(bits(self.wants_proof.then_some(WANTS_PROOF))),
            ticket: ExplicitContextTag3::from(Ticket::from(TicketInner {
                tkt_vno: ExplicitContextTag0::from(integer(5)),
                realm: ExplicitContextTag1::from(string("TEST")),
                sname: ExplicitContextTag2::from(name(self.service)),
                enc_part: ExplicitContextTag3::from(sealed(&self.key, TICKET_REP, &ticket)),
            })),
            authenticator: ExplicitContextTag4::from(sealed(
                &self.session,
                AP_REQ_AUTHENTICATOR,
                &said,
            )),
        })
    }

    /// Returns the request as a client without SPNEGO sends it.
    fn plain(&self) -> Vec<u8> {
        let message = ApplicationTag0(KrbMessage {
            krb5_oid: mechanism(KERBEROS).expect("a name"),
            krb5_token_id: AP_REQ_TOKEN_ID,
            krb_msg: self.request(),
        });
        picky_asn1_der::to_vec(&message).expect("DER")
    }

    fn token(&self) -> Vec<u8> {
        let all: Vec<_> = self.mechanisms.iter().map(|it| mechanism(it).expect("one")).collect();
        let plain = OctetStringAsn1::from(self.plain());
        let message = ApplicationTag0(GssApiNegInit {
            oid: mechanism("1.3.6.1.5.5.2").expect("a name"),
            neg_token_init: ExplicitContextTag0::from(NegTokenInit {
                mech_types: Optional::from(Some(ExplicitContextTag0::from(Asn1SequenceOf::from(
                    all,
                )))),
                req_flags: Optional::from(None),
                mech_token: Optional::from(Some(ExplicitContextTag2::from(plain))),
                mech_list_mic: Optional::from(None),
            }),
        });
        picky_asn1_der::to_vec(&message).expect("DER")
    }
}

fn acceptor() -> Acceptor {
    let file = [&[5, 2][..], &entry(&["HTTP", "here"], "TEST", 2, 18, &KEY)].concat();
    Acceptor::new(Keytab::read(&file).expect("a keytab"))
}

#[test]
fn a_ticket_says_who_asks_and_is_answered() {
    let acceptor = acceptor();
    let accepted = acceptor.accept(&Sent::default().token(), NOW).expect("it is right");
    assert_eq!((accepted.user.as_str(), accepted.principal.as_str()), ("ann", "ann@TEST"));
    let answer: NegTokenTarg1 = picky_asn1_der::from_bytes(&accepted.token).expect("an answer");
    let proof = answer.0.response_token.0.expect("a proof").0.0;
    let proof = KrbMessage::<ApRep>::decode_application_krb_message(&proof).expect("an AP-REP");
    let part = decrypted(&proof.0.krb_msg.0.enc_part.0, &SESSION, AP_REP_ENC).expect("its key");
    let part: EncApRepPart = picky_asn1_der::from_bytes(&part).expect("a part");
    assert_eq!(moment(&part.0.ctime.0), Ok(NOW), "it says when the client asked");
    // Without SPNEGO the answer has none either; and the client need not request mutual authentication.
    let service = Sent { client: &["etl", "host"], claims: &["etl", "host"], ..Sent::default() };
    let accepted = acceptor.accept(&service.plain(), NOW).expect("it is right");
    assert_eq!((accepted.user.as_str(), accepted.principal.as_str()), ("etl", "etl/host@TEST"));
    KrbMessage::<ApRep>::decode_application_krb_message(&accepted.token).expect("an AP-REP");
    let calm = Sent { wants_proof: false, mechanisms: &[KERBEROS_OF_MICROSOFT], ..Sent::default() };
    let accepted = acceptor.accept(&calm.token(), NOW).expect("it is right");
    let answer: NegTokenTarg1 = picky_asn1_der::from_bytes(&accepted.token).expect("an answer");
    assert_eq!(answer.0.response_token.0, None);
}

#[test]
fn what_proves_nobody_is_refused_with_its_reason() {
    let right = Sent::default();
    for (sent, why) in [
        (
            Sent { key: [8; 32], ..right.clone() },
            "cannot be read with the keys of the keytab (2 of kind 18)",
        ),
        (
            Sent { service: &["HTTP", "there"], ..right.clone() },
            "for HTTP/there@TEST, of which the keytab has no key",
        ),
        (Sent { session: [8; 32], ..right.clone() }, "does not know the key"),
        (
            Sent { claims: &["root"], ..right.clone() },
            "the ticket is of ann@TEST, who does not ask",
        ),
        (
            Sent { realm: "OTHER", ..right.clone() },
            "ann@OTHER is of another realm than this service, TEST",
        ),
        (Sent { ends: NOW - HOUR, ..right.clone() }, "the ticket has expired"),
        (Sent { starts: NOW + HOUR, ..right.clone() }, "is not valid yet"),
        (Sent { flags: Some(INVALID), ..right.clone() }, "is not valid yet"),
        (Sent { made: NOW - SKEW_MS - 1_000, ..right.clone() }, "five minutes apart"),
        (Sent { made: NOW + SKEW_MS + 1_000, ..right.clone() }, "five minutes apart"),
        (Sent { client: &["../x"], claims: &["../x"], ..right.clone() }, "names no user"),
        (
            Sent { client: &["a", "b", "c"], claims: &["a", "b", "c"], ..right.clone() },
            "names no user",
        ),
        (Sent { client: &[], claims: &[], ..right.clone() }, "names no user"),
        (
            Sent { mechanisms: &["1.3.6.1.4.1.311.2.2.10", KERBEROS], ..right.clone() },
            "another mechanism",
        ),
        (Sent { mechanisms: &[], ..right }, "another mechanism"),
    ] {
        let refused = acceptor().accept(&sent.token(), NOW).expect_err(why);
        assert!(refused.contains(why), "{refused}");
    }
    assert!(acceptor().accept(b"NTLMSSP\0", NOW).expect_err("no ticket").contains("NTLM"));
}

#[test]
fn a_token_counts_once() {
    let acceptor = acceptor();
    let token = Sent::default().token();
    acceptor.accept(&token, NOW).expect("it is right");
    assert_eq!(acceptor.accept(&token, NOW + 1).expect_err("again"), "the token was used before");
    // Entries are forgotten only when their requests are too old anyway.
    acceptor.seen.lock().expect("ours").clear();
    let late = acceptor.accept(&token, NOW + SKEW_MS + 1).expect_err("it is old");
    assert!(late.contains("five minutes"), "{late}");
}

#[test]
fn damaged_tokens_are_refused_and_never_break_the_server() {
    let token = Sent::default().token();
    for length in 0..token.len() {
        acceptor().accept(&token[..length], NOW).expect_err("it is cut off");
    }
    let acceptor = acceptor();
    for at in 0..token.len() {
        for change in [1, 0x40, 0xff] {
            let mut damaged = token.clone();
            damaged[at] ^= change;
            // Some bits have no meaning; but none of them admits another user.
            if let Ok(accepted) = acceptor.accept(&damaged, NOW) {
                assert_eq!(accepted.principal, "ann@TEST", "{at}");
                acceptor.seen.lock().expect("ours").clear();
            }
        }
    }
}

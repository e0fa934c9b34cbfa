//! Tests of authentication and authorization.

use super::*;

const NOW: i64 = 1_700_000_000_000;

/// A request: method, headers, parameters.
type Said<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)]);

/// The operating system's groups: uma is an operator, and so is ann, whom the file of accounts has in another group.
fn groups_of(user: &str) -> Vec<String> {
    match user {
        "uma" | "ann" => vec!["operators".to_owned()],
        _ => Vec::new(),
    }
}

fn keeper(methods: &[Method], allows_anonymous: bool) -> (Keeper, String) {
    let (token, sum) = accounts::new_token().expect("randomness");
    let (old, old_sum) = accounts::new_token().expect("randomness");
    assert_ne!(token, old);
    let hash = accounts::hash_of_password("s3cret:x").expect("randomness");
    let text = format!(
        "admins = [\"root\"]\nadmin-groups = [\"operators\"]\n[users]\nann = '{hash}'\n[tokens]\nci = {{ user = 'etl', sha256 = '{sum}' }}\n\
         old = {{ user = 'etl', sha256 = '{old_sum}', expires = '2023-01-01T00:00:00Z' }}\n[groups]\nstaff = ['ann', 'bob']\n\
         [proxies]\nhue = {{ hosts = ['10.0.0.5'], groups = ['staff'] }}\n"
    );
    let accounts = Accounts::read(&text).expect("as it should be");
    assert_eq!(accounts.user_of_token(&old, NOW), None, "it has expired");
    let secret = Secret::of(&[9; 32]).expect("long enough");
    let methods = methods.to_vec();
    let hosts = vec!["oozie".to_owned()];
    let rules = Rules {
        methods,
        allows_anonymous,
        secret,
        valid_ms: 1_000,
        is_https: false,
        hosts,
        acceptor: None,
        groups_of,
        proxies: Proxies::default(),
    };
    (Keeper::new(rules, accounts), token)
}

fn ask(
    keeper: &Keeper,
    (method, headers, parameters): Said<'_>,
    from: &str,
) -> Result<Who, Refusal> {
    let find = |list: &[(&str, &str)], name: &str| {
        list.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let asked = Asked {
        method,
        header: &|name| find(headers, name),
        parameter: &|name| find(parameters, name),
        from: from.parse().expect("an address"),
    };
    keeper.who(&asked, NOW)
}

fn user(keeper: &Keeper, said: Said<'_>) -> Option<String> {
    ask(keeper, said, "127.0.0.1").expect("somebody").user
}

fn basic(text: &str) -> String {
    format!("Basic {}", STANDARD.encode(text))
}

#[test]
fn a_server_without_a_choice_is_for_this_machine_only() {
    for near in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
        may_listen(near.parse().expect("an address"), None).expect("it is this machine");
    }
    for far in ["0.0.0.0", "::", "192.168.0.4", "::ffff:8.8.8.8"] {
        let address = far.parse().expect("an address");
        assert!(may_listen(address, None).expect_err("others reach it").contains("--auth"));
        may_listen(address, Some(&[Method::Simple])).expect("it was chosen");
    }
    assert_eq!(Method::read("simple,basic"), Ok(vec![Method::Simple, Method::Basic]));
    assert_eq!(Method::read("kerberos"), Ok(vec![Method::Kerberos]));
    assert!(Method::read("digest").is_err());
}

#[test]
fn the_sequence_of_the_client_is_answered() {
    let (keeper, _) = keeper(&[Method::Simple], true);
    // Without a name the user is unknown, and no cookie is set.
    assert_eq!(ask(&keeper, ("OPTIONS", &[], &[]), "10.0.0.1"), Ok(Who::default()));
    let named = ask(&keeper, ("OPTIONS", &[], &[("user.name", "ann")]), "10.0.0.1").expect("ann");
    let cookie = named.cookie.expect("a cookie");
    let value = cookie.split(';').next().expect("a value");
    let later = ask(&keeper, ("PUT", &[("cookie", value)], &[]), "10.0.0.1").expect("ann");
    assert_eq!(later, Who { user: Some("ann".to_owned()), ..Who::default() });
    for forged in [
        value.replace("u=ann", "u=root"),
        value.replace("e=1700000001000", "e=1900000001000"),
        Secret::of(&[8; 32]).expect("long").token(&Told::of("root", "simple"), i64::MAX),
    ] {
        let forged = format!("hadoop.auth={}", forged.trim_start_matches("hadoop.auth="));
        assert_eq!(user(&keeper, ("GET", &[("cookie", &forged)], &[])), None, "{forged}");
    }
    for no_name in ["", "a&u=root", "../x", "/etc", "a\nb", "a;b", &"a".repeat(200)] {
        let answer = ask(&keeper, ("GET", &[], &[("user.name", no_name)]), "10.0.0.1");
        let is_nobody = answer.as_ref().is_ok_and(|who| who.user.is_none());
        assert!(is_nobody == no_name.is_empty(), "{no_name}: {answer:?}");
    }
}

#[test]
fn passwords_and_tokens_prove_who_asks() {
    let (keeper, token) = keeper(&[Method::Basic, Method::Token], false);
    let right = basic("ann:s3cret:x");
    for _ in 0..2 {
        let who = ask(&keeper, ("GET", &[("authorization", &right)], &[]), "10.0.0.1");
        let who = who.expect("the password is right");
        assert_eq!((who.user.as_deref(), who.cookie.is_some()), (Some("ann"), true));
    }
    let bearer = format!("bearer {token}");
    assert_eq!(user(&keeper, ("GET", &[("authorization", &bearer)], &[])).as_deref(), Some("etl"));
    let long = basic(&"x".repeat(10_000));
    for wrong in [
        &basic("ann:s3cret"),
        &basic("ann:"),
        &basic("bob:s3cret:x"),
        &basic("nothing"),
        "Basic %%%",
        "Bearer ",
        "Bearer x",
        "Negotiate YII",
        "",
        &long,
    ] {
        let said = ("GET", &[("authorization", wrong)][..], &[("user.name", "ann")][..]);
        let refused = ask(&keeper, said, "10.0.0.1").expect_err(wrong);
        assert_eq!((refused.status, refused.challenges.len()), (401, 2), "{wrong}");
    }
    // A bare user name has no effect, and a cookie does not override a wrong password.
    assert!(ask(&keeper, ("GET", &[], &[("user.name", "root")]), "127.0.0.1").is_err());
    let answer = ask(&keeper, ("GET", &[("authorization", &right)], &[]), "10.0.0.1");
    let cookie = answer.expect("the password is right").cookie.expect("a cookie");
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let said = [("authorization", "Bearer x"), ("cookie", cookie.as_str())];
    assert!(ask(&keeper, ("GET", &said, &[]), "127.0.0.1").is_err());
    assert_eq!(user(&keeper, ("GET", &said[1..], &[])).as_deref(), Some("ann"));
}

#[test]
fn pages_of_other_sites_change_nothing() {
    for methods in [&[][..], &[Method::Simple]] {
        let (keeper, _) = keeper(methods, true);
        let host = ("host", "oozie:11000");
        for headers in [
            &[host, ("origin", "http://evil.example")][..],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://oozie:11000.evil.example")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site"), ("origin", "http://oozie:11000")],
        ] {
            for method in ["POST", "PUT", "DELETE", "PATCH"] {
                let refused = ask(&keeper, (method, headers, &[]), "127.0.0.1");
                assert_eq!(refused.expect_err("another site").status, 403, "{headers:?}");
            }
        }
        let own = [host, ("origin", "http://OOZIE:11000"), ("sec-fetch-site", "same-origin")];
        ask(&keeper, ("PUT", &own, &[]), "127.0.0.1").expect("its own page");
        ask(&keeper, ("PUT", &[host], &[]), "127.0.0.1").expect("a client that is no browser");
    }
}

#[test]
fn a_page_is_its_own_by_its_scheme_as_well() {
    let admits = |keeper: &Keeper, origin: &str| {
        let said = [("host", "oozie:11000"), ("origin", origin)];
        ask(keeper, ("POST", &said, &[]), "127.0.0.1").is_ok()
    };
    let (mut keeper, _) = keeper(&[Method::Simple], true);
    // A proxy before this server may use TLS.
    assert!(admits(&keeper, "http://oozie:11000") && admits(&keeper, "https://oozie:11000"));
    keeper.rules.is_https = true;
    assert!(admits(&keeper, "https://oozie:11000"));
    // An attacker on the network can forge such a page.
    assert!(!admits(&keeper, "http://oozie:11000") && !admits(&keeper, "ftp://oozie:11000"));
}

#[test]
fn a_server_that_believes_everybody_is_reached_by_its_own_names_only() {
    let (open, _) = keeper(&[], true);
    let reached = |keeper: &Keeper, host: &str| {
        ask(keeper, ("GET", &[("host", host)], &[]), "127.0.0.1").is_ok()
    };
    for own in ["localhost", "LOCALHOST:11000", "127.0.0.1:11000", "[::1]:11000", "oozie:80"] {
        assert!(reached(&open, own), "{own}");
    }
    for other in ["evil.example:11000", "localhost.evil.example", "8.8.8.8", "", "[::2]:1"] {
        assert!(!reached(&open, other), "{other}");
    }
    let (closed, _) = keeper(&[Method::Simple], true);
    assert!(reached(&closed, "any.example"), "there, everybody says who they are");
}

#[test]
fn proxy_users_ask_for_whom_they_may() {
    let (keeper, _) = keeper(&[Method::Simple], true);
    let for_another = |by: &str, other: &str, from: &str| {
        ask(&keeper, ("GET", &[], &[("user.name", by), ("doAs", other)]), from)
    };
    let who = for_another("hue", "ann", "10.0.0.5").expect("ann is of the staff");
    assert_eq!((who.user.as_deref(), who.really.as_deref()), (Some("ann"), Some("hue")));
    assert!(who.cookie.expect("a cookie").contains("u=hue&"), "the cookie is of who asked");
    for (by, other, from) in
        [("hue", "ann", "10.0.0.6"), ("hue", "root", "10.0.0.5"), ("ann", "bob", "10.0.0.5")]
    {
        let refused = for_another(by, other, from).expect_err("it may not");
        assert_eq!((refused.status, refused.code), (401, Some("E1400")), "{by} {other} {from}");
    }
    let nobody = for_another("", "ann", "10.0.0.5").expect_err("nobody asks");
    assert_eq!((nobody.status, nobody.code), (400, Some("E1603")));
    let options = ("OPTIONS", [].as_slice(), [("doAs", "ann")].as_slice());
    assert_eq!(user(&keeper, options), None, "by it a client asks how to say who it is");
}

#[test]
fn jobs_are_changed_by_those_who_may() {
    let (closed, _) = keeper(&[Method::Simple], true);
    let who = |user: &str| Who { user: Some(user.to_owned()), ..Who::default() };
    let job = Owned { id: "1-W", user: "etl", list: None };
    let listed = Owned { list: Some("carol, staff"), ..job };
    // The file has groups of ann, so those of the system no longer count.
    closed.may_change(&who("uma"), &job).expect("she is of a group of administrators");
    assert!(closed.may_administer(&who("uma")).is_ok());
    assert!(closed.may_administer(&who("ann")).is_err());
    let of_system = Owned { list: Some("operators"), ..job };
    assert!(closed.may_change(&who("ann"), &of_system).is_err());
    for (name, may, may_listed) in [
        ("etl", true, true),
        ("root", true, true),
        ("bob", false, true),
        ("carol", false, true),
        ("eve", false, false),
    ] {
        assert_eq!(closed.may_change(&who(name), &job).is_ok(), may, "{name}");
        assert_eq!(closed.may_change(&who(name), &listed).is_ok(), may_listed, "{name}");
        assert_eq!(closed.may_administer(&who(name)).is_ok(), name == "root", "{name}");
    }
    let refused = closed.may_change(&who("eve"), &job).expect_err("she may not");
    assert_eq!(refused.message, "E0508: User [eve] not authorized for WF job [1-W]");
    for id in ["1-C", "1-B"] {
        let refused = closed.may_change(&who("eve"), &Owned { id, ..job }).expect_err("nor these");
        let told = format!("E0509: User [eve] not authorized for Coord job [{id}]");
        assert_eq!(refused.message, told);
    }
    assert!(closed.may_change(&Who::default(), &job).is_err());
    let (open, _) = keeper(&[], true);
    open.may_change(&Who::default(), &job).expect("everybody may");
    open.may_administer(&Who::default()).expect("everybody may");
}

#[test]
fn accounts_that_are_not_as_they_should_be_are_refused() {
    for (text, why) in [
        ("[users]\nann = 'secret'", "not an argon2id hash"),
        ("[tokens]\nci = { user = 'a', sha256 = 'abc' }", "not a SHA-256 sum"),
        ("[proxies]\nhue = { hosts = ['hue.example'] }", "is not an address"),
        ("[proxies]\nhue = { users = ['*'] }", "hosts"),
        ("admin = ['ann']", "admin"),
        ("[", ""),
    ] {
        let error = Accounts::read(text).expect_err(text);
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn who_is_taken_out_of_the_file_is_nobody_at_once() {
    let (keeper, token) = keeper(&[Method::Basic, Method::Token], false);
    let (password, bearer) = (basic("ann:s3cret:x"), format!("Bearer {token}"));
    let headers = [("authorization", password.as_str())];
    let first = ask(&keeper, ("GET", &headers, &[]), "10.0.0.1").expect("ann");
    let cookie = first.cookie.expect("a cookie");
    let cookie = [("cookie", cookie.split(';').next().expect("a value"))];
    assert_eq!(user(&keeper, ("GET", &cookie, &[])).as_deref(), Some("ann"));
    // The same applies to a cookie for an old password.
    let hash = accounts::hash_of_password("another").expect("a hash");
    let text = format!("[users]\nann = '{hash}'");
    keeper.renew(Accounts::read(&text).expect("as it should be"));
    assert!(ask(&keeper, ("GET", &cookie, &[]), "127.0.0.1").is_err());
    keeper.renew(Accounts::read("admins = ['root']").expect("as it should be"));
    let bearer = [("authorization", bearer.as_str())];
    for headers in [&headers, &cookie, &bearer] {
        let refusal = ask(&keeper, ("GET", headers, &[]), "10.0.0.1").expect_err("nobody");
        assert_eq!(refusal.status, 401);
    }
}

#[test]
fn proxy_users_of_a_site_ask_for_others() {
    let properties = [
        ("oozie.service.ProxyUserService.proxyuser.hue.hosts", "gate, 10.0.0.9"),
        ("oozie.service.ProxyUserService.proxyuser.hue.groups", "operators"),
        ("oozie.service.ProxyUserService.proxyuser.k.n.ox.hosts", "*"),
        ("oozie.service.ProxyUserService.proxyuser.k.n.ox.groups", "*"),
        ("oozie.service.ProxyUserService.proxyuser.idle.hosts", ""),
        ("oozie.service.ProxyUserService.proxyuser.idle.groups", "*"),
        ("oozie.service.ProxyUserService.proxyuser.hue.users", "ann"),
        ("oozie.services", "x"),
    ];
    let resolve = |host: &str| match host {
        "gate" => Ok(vec!["10.0.0.1".parse().unwrap(), "fe80::1".parse().unwrap()]),
        _ => host.parse().map(|it| vec![it]).map_err(|_| "unknown".to_owned()),
    };
    let (proxies, passed_over) =
        Proxies::of_site(properties.into_iter(), &resolve).expect("hosts and groups");
    assert_eq!(passed_over, ["oozie.service.ProxyUserService.proxyuser.hue.users"]);
    for methods in [&[][..], &[Method::Simple]] {
        let (mut keeper, _) = keeper(methods, true);
        // The proxy user `hue` in the file of accounts takes precedence.
        keeper.accounts = RwLock::default();
        keeper.rules.proxies = proxies.clone();
        let asks = |user: &str, other: &str, from: &str| {
            let said = [("user.name", user), ("doAs", other)];
            ask(&keeper, ("GET", &[], &said), from).map(|who| who.user.unwrap_or_default())
        };
        let refused = |user: &str, other: &str, from: &str| {
            let refusal = asks(user, other, from).expect_err("it may not");
            assert_eq!((refusal.status, refusal.code), (401, Some("E1400")));
            assert!(refusal.cookie.is_some(), "it is known who asks");
            refusal.message
        };
        for from in ["10.0.0.1", "10.0.0.9", "::ffff:10.0.0.9", "fe80::1"] {
            assert_eq!(asks("hue", "uma", from), Ok("uma".to_owned()));
        }
        assert_eq!(asks("k.n.ox", "anybody", "10.9.9.9"), Ok("anybody".to_owned()));
        assert_eq!(asks("ann", "ann", "10.9.9.9"), Ok("ann".to_owned()), "for oneself");
        assert_eq!(
            refused("hue", "uma", "10.0.0.2"),
            "Unauthorized host [10.0.0.2] for proxyuser [hue]"
        );
        assert_eq!(
            refused("hue", "bob", "10.0.0.1"),
            "Unauthorized proxyuser [hue] for user [bob], not in proxyuser groups"
        );
        assert_eq!(refused("ann", "uma", "10.0.0.1"), "User [ann] not defined as proxyuser");
        refused("idle", "uma", "10.0.0.1");
        let nobody = ask(&keeper, ("GET", &[], &[("doAs", "uma")]), "10.0.0.1");
        assert_eq!(nobody.expect_err("nobody asks").code, Some("E1603"));
    }
    for (property, code) in [
        (
            ("oozie.service.ProxyUserService.proxyuser.a.hosts", "*"),
            "E0551: Missing [oozie.service.ProxyUserService.proxyuser.a.groups] property",
        ),
        (
            ("oozie.service.ProxyUserService.proxyuser.a.groups", "*"),
            "E0551: Missing [oozie.service.ProxyUserService.proxyuser.a.hosts] property",
        ),
    ] {
        let why = Proxies::of_site([property].into_iter(), &resolve).expect_err("one is missing");
        assert_eq!(why, code);
    }
    let nowhere = [
        ("oozie.service.ProxyUserService.proxyuser.a.hosts", "nowhere"),
        ("oozie.service.ProxyUserService.proxyuser.a.groups", "*"),
    ];
    let why = Proxies::of_site(nowhere.into_iter(), &resolve).expect_err("no address");
    assert_eq!(why, "E0550: Could not normalize host name [nowhere], unknown");
}

//! Rounds from bytes to bytes: the replies of a round from opening to closing, and the errors for
//! invalid rounds, deltas and queries.

use super::Session;

const OPEN: &str = r#"{"action":"open_round","query":"Who is the customer?","weights":[{"participant":"subagent:legal","weight":0.35}],"strategies":[{"path":"$.entities","strategy":"union"},{"path":"$.bindings.*","strategy":"expert-override","experts":["subagent:legal","*"]}],"clip":"oldest-first","bytes_max":20000}"#;

#[test]
fn replies_describe_a_round_from_opening_to_closing() {
    let it = Session::new();
    assert_eq!(
        it.ask("subagent:legal", r#"{"action":"read_state"}"#),
        r#"{"round":0,"state":{"bindings":{},"entities":[],"query":"","rules":[]},"bytes":51,"bytes_max":50000,"revision":1}"#
    );
    let round = r#""opened_at":"2026-02-20T14:30:00Z","opened_by":"orchestrator","weights":[{"participant":"subagent:legal","weight":0.35}],"strategies":[{"path":"$.entities","strategy":"union"},{"path":"$.bindings.*","strategy":"expert-override","experts":["subagent:legal","*"]}]"#;
    assert_eq!(
        it.ask("orchestrator", OPEN),
        format!(
            r#"{{"round":1,"status":"open",{round},"clip":"oldest-first","bytes_max":20000,"deltas":0,"revision":2}}"#
        )
    );
    let bind = |concept: &str| {
        format!(
            r#"{{"action":"propose_deltas","deltas":[{{"operation":"add","path":"$.bindings.customer","value":"{concept}","provenance":"by lookup"}}]}}"#
        )
    };
    it.ask("subagent:sales", &bind("crm:7"));
    assert_eq!(
        it.ask(
            "subagent:legal",
            r#"{"action":"propose_deltas","deltas":[{"operation":"add","path":"$.bindings['customer']","value":"sea:1","provenance":"in the contract"},{"operation":"add","path":"$.rules","value":[null],"provenance":"none applies"}]}"#
        ),
        r#"{"round":1,"first_sequence":2,"last_sequence":3,"deltas":[{"sequence":2,"path":"$['bindings']['customer']","effect":"sets"},{"sequence":3,"path":"$['rules']","effect":"appends"}],"revision":4}"#
    );
    let state = it.ask("subagent:legal", r#"{"action":"read_state"}"#);
    assert!(state.starts_with(r#"{"round":0,"state":{"bindings":{}"#), "{state}");
    assert!(state.contains(r#","open_round":{"round":1,"status":"open","#), "{state}");
    assert!(state.contains(r#""deltas":3},"revision":4}"#), "{state}");
    let first = r#"{"round":1,"sequence":1,"participant":"subagent:sales","weight":1.0,"proposed_at":"2026-02-20T14:30:00Z","operation":"add","path":"$['bindings']['customer']","value":"crm:7","provenance":"by lookup","outcome":"#;
    assert_eq!(
        it.ask("subagent:a", r#"{"action":"read_deltas","limit":1}"#),
        format!(r#"{{"deltas":[{first}"pending"}}],"next_after":"1.1","revision":4}}"#)
    );

    let ended = r#""clip":"reject","bytes_max":20000,"deltas":3,"closed_at":"2026-02-20T14:30:00Z","closed_by":"orchestrator","applied":2,"lost":1,"refused":0,"withdrawn":0,"rejected":0,"clipped":[],"bytes":93,"convergence":0.3333,"unchanged":2,"paths":6,"meaning":"2 of 6 single values are as they were before the round; 1 means that it changed nothing, as when all agree","losses":[{"sequence":1,"participant":"subagent:sales","path":"$['bindings']['customer']","why":"overridden","to_sequence":2,"to_participant":"subagent:legal"}],"revision":5}"#;
    assert_eq!(
        it.ask("orchestrator", r#"{"action":"close_round","clip":"reject"}"#),
        format!(r#"{{"round":1,"status":"closed",{round},{ended}"#)
    );
    let state = it.ask("subagent:a", r#"{"action":"read_state","round":1}"#);
    assert_eq!(
        state,
        r#"{"round":1,"state":{"bindings":{"customer":"sea:1"},"entities":[],"query":"Who is the customer?","rules":[null]},"bytes":93,"bytes_max":20000,"revision":5}"#
    );
    let lost = r#""lost","losses":[{"path":"$['bindings']['customer']","why":"overridden","to_sequence":2,"to_participant":"subagent:legal"}]"#;
    let deltas = it.ask("subagent:a", r#"{"action":"read_deltas","after":"1.0","limit":1}"#);
    assert_eq!(
        deltas,
        format!(r#"{{"deltas":[{first}{lost}}}],"next_after":"1.1","revision":5}}"#)
    );
    let deltas = it.ask("subagent:a", r#"{"action":"read_deltas","path":"$.rules[0]"}"#);
    assert!(
        deltas.contains(
            r#""value":[null],"provenance":"none applies","outcome":"applied"}],"revision":5}"#
        ),
        "{deltas}"
    );
    assert_eq!(
        it.ask("subagent:a", r#"{"action":"convergence"}"#),
        r#"{"rounds":[{"round":1,"status":"closed","convergence":0.3333,"unchanged":2,"paths":6,"meaning":"2 of 6 single values are as they were before the round; 1 means that it changed nothing, as when all agree","bytes":93,"applied":2,"lost":1,"refused":0,"withdrawn":0,"rejected":0,"closed_at":"2026-02-20T14:30:00Z"}],"revision":5}"#
    );
    let changes = it.ask("subagent:a", r#"{"action":"changes","since":4}"#);
    assert!(
        changes.contains(r#""action":"close_round","written_by":"orchestrator","written_at":"2026-02-20T14:30:00Z","round":1}]"#),
        "{changes}"
    );
}

#[test]
fn deltas_of_a_discarded_round_are_refused() {
    let it = Session::new();
    it.ask("orchestrator", r#"{"action":"open_round"}"#);
    it.ask("subagent:a", r#"{"action":"propose_deltas","deltas":[{"operation":"add","path":"$.entities","value":{},"provenance":"seen"}]}"#);
    let round = it.ask("orchestrator", r#"{"action":"close_round","discard":true}"#);
    assert!(round.contains(r#""status":"discarded""#), "{round}");
    assert!(round.contains(r#""applied":0,"lost":0,"refused":1,"withdrawn":0"#), "{round}");
    assert!(round.contains(r#""convergence":1.0"#), "{round}");
    let deltas = it.ask("subagent:a", r#"{"action":"read_deltas","round":1}"#);
    assert!(deltas.contains(r#""outcome":"refused","reason":"discarded"}"#), "{deltas}");
}

#[test]
fn replies_describe_withdrawn_and_rejected_deltas() {
    let it = Session::new();
    let request = |action: &str, rest: &str| format!(r#"{{"action":"{action}_deltas",{rest}}}"#);
    let bind = |concept: &str| {
        request(
            "propose",
            &format!(
                r#""deltas":[{{"operation":"add","path":"$.bindings.term","value":"{concept}","provenance":"p"}}]"#
            ),
        )
    };
    it.ask("orchestrator", r#"{"action":"open_round"}"#);
    it.ask("subagent:a", &bind("c:1"));
    assert_eq!(
        it.ask("subagent:b", &bind("c:2")),
        r#"{"round":1,"first_sequence":2,"last_sequence":2,"deltas":[{"sequence":2,"path":"$['bindings']['term']","effect":"sets","losses":[{"path":"$['bindings']['term']","why":"tie","rule":"both count the same: the participant first in the alphabet wins, between equal votes the smaller canonical JSON","to_sequence":1,"to_participant":"subagent:a"}]}],"revision":4}"#
    );
    it.ask("subagent:b", &bind("c:3"));
    assert_eq!(
        it.ask("subagent:b", &request("withdraw", r#""sequences":[2]"#)),
        r#"{"round":1,"outcome":"withdrawn","sequences":[2],"unchanged":[],"revision":6}"#
    );
    assert_eq!(
        it.ask("orchestrator", &request("reject", r#""sequences":[2,1],"reason":"out of scope""#)),
        r#"{"round":1,"outcome":"rejected","sequences":[1],"unchanged":[2],"revision":7}"#
    );
    let foreign = it.ask("subagent:b", &request("withdraw", r#""sequences":[1]"#));
    assert!(foreign.contains(r#""code":"FORBIDDEN""#) && foreign.contains(r#""sequence":1"#));
    for (request, part) in [
        (request("withdraw", r#""sequences":[4]"#), "DELTA_NOT_FOUND"),
        (request("withdraw", r#""sequences":[]"#), "it must have 1 to 200"),
        (request("withdraw", r#""sequences":[3,3]"#), "sequences has 3 twice"),
        (request("withdraw", r#""sequences":[-1]"#), "sequences[item 1] must be"),
        (request("withdraw", r#""deltas":[3]"#), "did you mean sequences?"),
        (request("withdraw", r#""sequences":[3],"reason":"r""#), "MALFORMED_REQUEST"),
        (request("reject", r#""sequences":[3]"#), "reject_deltas needs reason"),
    ] {
        let who = if request.contains("reject") { "orchestrator" } else { "subagent:b" };
        let answer = it.ask(who, &request);
        assert!(answer.contains(part), "{answer}");
    }
    let round = it.ask("orchestrator", r#"{"action":"close_round"}"#);
    let counts = r#""deltas":3,"closed_at":"2026-02-20T14:30:00Z","closed_by":"orchestrator","applied":1,"lost":0,"refused":0,"withdrawn":1,"rejected":1,"clipped":[]"#;
    assert!(round.contains(counts), "{round}");
    let deltas = it.ask("subagent:a", r#"{"action":"read_deltas","form":"brief"}"#);
    for part in [
        r#""outcome":"rejected","reason":"out of scope"}"#,
        r#""outcome":"withdrawn"}"#,
        r#""outcome":"applied"}"#,
    ] {
        assert!(deltas.contains(part), "{deltas}");
    }
}

/// `null` means absent everywhere else; here it is a value that a place may hold.
#[test]
fn a_delta_value_of_null_differs_from_an_absent_value() {
    let it = Session::new();
    it.ask("orchestrator", r#"{"action":"open_round"}"#);
    let propose = |delta: &str| {
        it.ask("subagent:a", &format!(r#"{{"action":"propose_deltas","deltas":[{delta}]}}"#))
    };
    let accepted = propose(r#"{"operation":"add","path":"$.rules","value":null,"provenance":"p"}"#);
    assert!(accepted.contains("first_sequence"), "{accepted}");
    let missing = propose(r#"{"operation":"add","path":"$.rules","provenance":"p"}"#);
    assert!(missing.contains("delta 1: a delta to add needs a value"), "{missing}");
    let extra = r#"{"operation":"remove","path":"$.rules[0]","value":null,"provenance":"p"}"#;
    assert!(propose(extra).contains("delta 1: a delta that removes has no value"));
    let deltas = it.ask("subagent:a", r#"{"action":"read_deltas"}"#);
    assert!(deltas.contains(r#""path":"$['rules']","value":null,"provenance":"p""#), "{deltas}");
}

#[test]
fn malformed_round_requests_are_rejected_with_location() {
    let it = Session::new();
    let check = |who: &str, request: &str, code: &str, part: &str| {
        let answer = it.ask(who, request);
        assert!(answer.contains(code) && answer.contains(part), "{answer}");
    };
    let malformed = |request: &str, part| check("orchestrator", request, "MALFORMED_REQUEST", part);
    let open = |members: &str| format!(r#"{{"action":"open_round",{members}}}"#);
    malformed(
        &open(r#""weights":[{"participant":"*","weight":1},{"participant":"*","weight":1.5}]"#),
        "weights[item 2]: a weight is a number from 0 to 1",
    );
    malformed(
        &open(r#""weights":[{"participant":"nobody","weight":1}]"#),
        "weights[item 1]: no participant matches",
    );
    malformed(&open(r#""weights":[{"participant":"*"}]"#), "weights[item 1] needs weight");
    malformed(
        &open(r#""weights":[{"participant":"*","weight":"1"}]"#),
        "weights[item 1].weight must be a number, not text",
    );
    malformed(&open(r#""weights":[{"participants":"*","weight":1}]"#), "did you mean participant?");
    malformed(&open(r#""weights":[["*",1]]"#), "weights[item 1] must be an object, not a list");
    malformed(
        &open(r#""strategies":[{"path":"$","strategy":"coin-toss"}]"#),
        "strategies[item 1]: a strategy is one of",
    );
    malformed(
        &open(r#""strategies":[{"path":"$","strategy":"expert-override"}]"#),
        "strategies[item 1]: expert-override needs",
    );
    malformed(
        &open(r#""strategies":[{"path":"none","strategy":"union"}],"bytes_max":1"#),
        "bytes_max must be 1000 to",
    );
    malformed(&open(r#""clip":"newest-first""#), "clip is one of");
    malformed(&open(r#""request_id":"""#), "request_id");
    malformed(&open(r#""discard":true"#), "open_round takes no discard; it takes query");
    malformed(r#"{"action":"close_round","discard":1}"#, "discard must be true or false, not 1");
    malformed(r#"{"action":"propose_deltas"}"#, "propose_deltas needs deltas");
    malformed(r#"{"action":"propose_deltas","deltas":[]}"#, "the proposal has 0 deltas");
    for after in ["", "3", "3.", ".17", "3.17.1", "+3.17", "3.-1", "3,17", " 3.17", "3.1234567890"]
    {
        malformed(&format!(r#"{{"action":"read_deltas","after":"{after}"}}"#), "next_after tells");
    }
    malformed(r#"{"action":"read_deltas","limit":1001}"#, "limit is 1001");
    malformed(r#"{"action":"read_state","round":-1}"#, "round must be a whole number, 0 or more");
    let path = |request: &str, part| check("orchestrator", request, "INVALID_PATH", part);
    path(&open(r#""strategies":[{"path":"none","strategy":"union"}]"#), "none");
    // The error once named no strategy, and advised to name one place.
    path(
        &open(
            r#""strategies":[{"path":"$.rules","strategy":"union"},{"path":"$.rulez","strategy":"union"}]"#,
        ),
        "strategies[item 2]: path \\\"$.rulez\\\" cannot be used: a state has the members query, \
         bindings, entities and rules only; a pattern selects one place or several, for example \
         $.bindings or $.entities[*].type",
    );
    path(r#"{"action":"read_deltas","path":"$.bindings.*"}"#, "$.bindings.*");

    it.ask("orchestrator", r#"{"action":"open_round"}"#);
    let deltas = |list: &str| format!(r#"{{"action":"propose_deltas","deltas":[{list}]}}"#);
    let fine = r#"{"operation":"add","path":"$.rules","value":1,"provenance":"p"}"#;
    let bad_path = r#"{"operation":"add","path":"rules","value":1,"provenance":"p"}"#;
    let unexplained = r#"{"operation":"add","path":"$.rules","value":1,"provenance":" "}"#;
    malformed(&deltas(&format!("{fine},{unexplained}")), "delta 2: provenance must say why");
    // Malformed deltas take precedence, wherever they are in the list.
    malformed(&deltas(&format!("{bad_path},{unexplained}")), "delta 2: provenance must say why");
    path(&deltas(&format!("{fine},{bad_path}")), r#""message":"delta 2: path \"rules\" cannot"#);
    path(&deltas(&format!("{fine},{bad_path}")), r#""delta":2}"#);
    malformed(&deltas(&[fine; 201].join(",")), "the proposal has 201 deltas");
    malformed(&deltas(&fine.replace("value", "Value")), "did you mean value?");
    malformed(
        &deltas(&fine.replace(":1,", r#":{"a":},"#)),
        "a value is missing, or text is without double quotes, at line 1",
    );
    for key in ["written_by", "weight", "round"] {
        let unknown = fine.replace('{', &format!(r#"{{"{key}":1,"#));
        malformed(&deltas(&unknown), "deltas[item 1] takes no ");
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    malformed(
        &deltas(&fine.replace(":1,", &format!(":{deep},"))),
        "delta 1: the value nests deeper",
    );
}

#[test]
fn errors_about_rounds_have_members_for_programs() {
    let it = Session::new();
    let check = |request: &str, part: &str| {
        let answer = it.ask("orchestrator", request);
        assert!(answer.ends_with(part), "{answer}");
    };
    let propose = |path: &str, operation: &str, value: &str| {
        format!(
            r#"{{"action":"propose_deltas","deltas":[{{"operation":"{operation}","path":"{path}","value":{value},"provenance":"p"}}]}}"#
        )
    };
    check(&propose("$.query", "modify", "\"q\""), r#","last_round":0}}"#);
    check(r#"{"action":"read_state","round":7}"#, r#","newest":0,"oldest":0,"round":7}}"#);
    check(r#"{"action":"open_round","bytes_max":1000}"#, r#""revision":2}"#);
    check(r#"{"action":"open_round"}"#, r#","round":1}}"#);
    check(&propose("$.bindings.a", "add", "\"c:1\""), r#""revision":3}"#);
    check(&propose("$.rules[3]", "modify", "1"), r#","delta":1,"path":"$['rules'][3]"}}"#);
    let long = format!("\"{}\"", "x".repeat(1_000));
    check(&propose("$.entities", "add", &long), r#""revision":4}"#);
    check(
        r#"{"action":"close_round","clip":"reject"}"#,
        r#","actual":1062,"largest":[{"path":"$['entities'][0]"},{"path":"$['bindings']['a']"}],"limit":1000,"unit":"bytes"}}"#,
    );
    check(r#"{"action":"close_round"}"#, r#""revision":5}"#);
    check(r#"{"action":"open_round"}"#, r#""revision":6}"#);
    check(
        &propose("$.bindings.a", "add", "\"c:2\""),
        r#","bound_to":"c:1","delta":1,"path":"$['bindings']['a']"}}"#,
    );
    for _ in 0..5 {
        let deltas = [r#"{"operation":"add","path":"$.rules","value":1,"provenance":"p"}"#; 100];
        let all = deltas.join(",");
        it.ask("orchestrator", &format!(r#"{{"action":"propose_deltas","deltas":[{all}]}}"#));
    }
    check(&propose("$.rules", "add", "1"), r#","actual":501,"limit":500,"unit":"deltas"}}"#);
}

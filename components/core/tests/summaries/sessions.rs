//! Six sessions: their messages, and sentences of their summaries.

/// A session.
pub(crate) struct Session {
    pub(crate) name: &'static str,
    /// The messages.
    pub(crate) turns: &'static [&'static str],
    /// The sentences that every summary has in addition.
    pub(crate) also: &'static str,
    /// Five facts that must not be lost.
    pub(crate) facts: [Planted; 5],
}

/// A fact of a session.
pub(crate) struct Planted {
    /// A part of the fact's text.
    pub(crate) holds: &'static str,
    /// Sentences that state it in other words.
    pub(crate) said: [&'static str; 3],
    /// A sentence that has lost or changed it; empty if it is not mentioned at all.
    pub(crate) damaged: &'static str,
    /// True if the damaged sentence has an earlier value.
    pub(crate) is_outdated: bool,
}

const fn planted(holds: &'static str, said: [&'static str; 3], damaged: &'static str) -> Planted {
    Planted { holds, said, damaged, is_outdated: false }
}

const fn outdated(holds: &'static str, said: [&'static str; 3], damaged: &'static str) -> Planted {
    Planted { holds, said, damaged, is_outdated: true }
}

pub(crate) const SESSIONS: &[Session] = &[
    Session {
        name: "payments",
        also: "",
        turns: &[
            "TASK: Move the payment service to the new gateway",
            "DECISION: Use Stripe for card payments\nRationale: lower fees",
            "Constraint: Never log card numbers",
            "DECISION: The retry limit of the payment queue is 3 attempts",
            "BUG-417 [HIGH]: Refunds over 500 EUR time out",
            "DECISION: The retry limit of the payment queue is 8 attempts",
        ],
        facts: [
            planted(
                "Move the payment service",
                [
                    "The payment service is being moved to the new gateway.",
                    "Task: moving the payment service over to a new gateway.",
                    "We move the payment service to the new gateway.",
                ],
                "",
            ),
            planted(
                "Stripe",
                [
                    "Card payments go through Stripe.",
                    "Stripe was chosen for card payments because of lower fees.",
                    "For card payments the team uses Stripe.",
                ],
                "Card payments go through Adyen.",
            ),
            planted(
                "Never log",
                [
                    "Card numbers must never be logged.",
                    "Do not log card numbers.",
                    "Logging card numbers is forbidden.",
                ],
                "Log card numbers.",
            ),
            outdated(
                "8 attempts",
                [
                    "The payment queue retries up to 8 attempts.",
                    "Retry limit of the payment queue: eight attempts.",
                    "The queue for payments has a retry limit of 8.",
                ],
                "The retry limit of the payment queue is 3 attempts.",
            ),
            planted(
                "BUG-417",
                [
                    "BUG-417 is open: refunds above 500 EUR time out.",
                    "Refunds of more than 500 EUR still time out (BUG-417).",
                    "Open: BUG-417, a timeout of refunds over 500 EUR.",
                ],
                "BUG-471 is open: refunds above 500 EUR time out.",
            ),
        ],
    },
    Session {
        name: "migration",
        also: "Next, the index idx_orders_customer is rebuilt.",
        turns: &[
            "Goal: Migrate the orders database to PostgreSQL 16",
            "Constraint: Downtime must be at most 15 minutes",
            "DECISION: Copy the tables with pgloader",
            "CRITICAL: orders.created_at is stored in local time, not in UTC",
            "Next steps: Rebuild the index idx_orders_customer",
            "DECISION: The cutover is on Friday",
            "DECISION: The cutover is on Sunday",
        ],
        facts: [
            planted(
                "PostgreSQL 16",
                [
                    "Goal: the orders database is migrated to PostgreSQL 16.",
                    "We migrate the database of orders to Postgres 16.",
                    "The orders database moves to PostgreSQL version 16, a migration.",
                ],
                "Goal: the orders database is migrated to PostgreSQL 15.",
            ),
            planted(
                "15 minutes",
                [
                    "Downtime of at most 15 minutes is allowed.",
                    "Keep downtime below 15 minutes.",
                    "No more than 15 minutes of downtime.",
                ],
                "Downtime must be at least 15 minutes.",
            ),
            planted(
                "pgloader",
                [
                    "The tables are copied with pgloader.",
                    "Tables: copy them by pgloader.",
                    "pgloader copies the tables.",
                ],
                "The tables are copied by hand.",
            ),
            planted(
                "orders.created_at",
                [
                    "orders.created_at holds local time, not UTC.",
                    "Careful: orders.created_at is in local time instead of UTC.",
                    "The column orders.created_at is not in UTC but stored in local time.",
                ],
                "orders.created_at is stored in UTC.",
            ),
            outdated(
                "Sunday",
                [
                    "The cutover happens on Sunday.",
                    "Cutover: Sunday.",
                    "Sunday is the day of the cutover.",
                ],
                "The cutover is on Friday.",
            ),
        ],
    },
    Session {
        name: "research",
        also: "",
        turns: &[
            "Goal: Compare vector indexes for 40 million documents",
            "DECISION: Measure recall at 10 with the MS MARCO queries",
            "We must not use any hosted service.",
            "USER PREFERENCE: Prefer tables over prose in the report",
            "DECISION: The report is due on 12 March",
            "DECISION: The report is due on 19 March",
        ],
        facts: [
            planted(
                "40 million",
                [
                    "Vector indexes are compared for 40 million documents.",
                    "We compare vector indexes on 40 million documents.",
                    "Goal: a comparison of vector indexes over 40 million documents.",
                ],
                "Vector indexes are compared for 4 million documents.",
            ),
            planted(
                "MS MARCO",
                [
                    "Recall at 10 is measured with the MS MARCO queries.",
                    "Measure: recall at 10, with queries of MS MARCO.",
                    "We use MS MARCO queries and measure recall at 10.",
                ],
                "Recall is measured with some queries.",
            ),
            planted(
                "hosted service",
                [
                    "Hosted services must not be used.",
                    "No hosted service may be used.",
                    "Do not use a hosted service.",
                ],
                "We use a hosted service.",
            ),
            planted(
                "tables over prose",
                [
                    "The user prefers tables over prose in the report.",
                    "In the report tables are preferred to prose.",
                    "Report: prefer tables to prose.",
                ],
                "",
            ),
            outdated(
                "19 March",
                [
                    "The report is due on 19 March.",
                    "Due date of the report: March 19.",
                    "Report due 19 March.",
                ],
                "The report is due on 12 March.",
            ),
        ],
    },
    Session {
        name: "frontend",
        also: "The file src/pages/settings.tsx was modified.",
        turns: &[
            "TASK: Build the settings page in React 19",
            "Constraint: Only components of the design system are allowed",
            "DECISION: Store the theme in localStorage under ui.theme",
            "ISSUE-92 [MEDIUM]: The dark theme flickers on Safari",
            "[2026-01-05T10:00:00Z] Modified: src/pages/settings.tsx Changes: Added the theme switch Reason: ISSUE-92",
            "DECISION: The bundle limit is 250 kB",
            "DECISION: The bundle limit is 180 kB",
        ],
        facts: [
            planted(
                "React 19",
                [
                    "The settings page is built in React 19.",
                    "Building the settings page with React 19.",
                    "We build a settings page (React 19).",
                ],
                "The settings page is built in React 18.",
            ),
            planted(
                "design system",
                [
                    "Only components of the design system may be used.",
                    "Use components from the design system only.",
                    "Allowed are design system components only.",
                ],
                "",
            ),
            planted(
                "ui.theme",
                [
                    "The theme is stored in localStorage under ui.theme.",
                    "Theme: localStorage, key ui.theme, stored there.",
                    "localStorage stores the theme as ui.theme.",
                ],
                "The theme is stored in a cookie.",
            ),
            planted(
                "ISSUE-92",
                [
                    "ISSUE-92: on Safari the dark theme flickers.",
                    "The dark theme flickers on Safari (ISSUE-92).",
                    "Open is ISSUE-92, flickering of the dark theme on Safari.",
                ],
                "The dark theme flickers on some browsers.",
            ),
            outdated(
                "180 kB",
                [
                    "The bundle may have 180 kB; this is the limit.",
                    "Bundle limit: 180 kB.",
                    "180 kB is the limit for the bundle.",
                ],
                "The bundle limit is 250 kB.",
            ),
        ],
    },
    Session {
        name: "operations",
        also: "",
        turns: &[
            "Goal: Bring the error rate of checkout-api below 0.5 %",
            "Rule: Always take a snapshot of db-primary before a deploy",
            "DECISION: Roll out with canaries of 5 % of the traffic",
            "Constraint: Do not restart node eu-west-3 without asking Marta",
            "DECISION: The pool of checkout-api has 20 connections",
            "DECISION: The pool of checkout-api has 64 connections",
        ],
        facts: [
            planted(
                "0.5 %",
                [
                    "The error rate of checkout-api should fall below 0.5 %.",
                    "Goal: checkout-api with an error rate under 0.5 %.",
                    "Bring checkout-api to an error rate of less than 0.5 %.",
                ],
                "The error rate of checkout-api should fall below 5 %.",
            ),
            planted(
                "snapshot",
                [
                    "Take a snapshot of db-primary before each deploy.",
                    "Before a deploy, always snapshot db-primary.",
                    "A deploy needs a snapshot of db-primary before.",
                ],
                "Take a snapshot of db-replica before each deploy.",
            ),
            planted(
                "canaries",
                [
                    "The rollout uses canaries with 5 % of the traffic.",
                    "Canaries get 5 % of traffic in the roll out.",
                    "Roll out by canaries: 5 % of traffic.",
                ],
                "The rollout uses canaries.",
            ),
            planted(
                "Marta",
                [
                    "eu-west-3 must not be restarted without asking Marta.",
                    "Never restart the node eu-west-3 unless Marta was asked.",
                    "Do not restart eu-west-3 without Marta's consent; ask first.",
                ],
                "Restart node eu-west-3 after asking Marta.",
            ),
            outdated(
                "64 connections",
                [
                    "The pool of checkout-api now has 64 connections.",
                    "checkout-api: pool of 64 connections.",
                    "64 connections are in the pool of checkout-api, up from 20.",
                ],
                "The pool of checkout-api has 20 connections.",
            ),
        ],
    },
    Session {
        name: "library",
        also: "BUG-88 is open: parse_tree loops on empty input.",
        turns: &[
            "TASK: Release version 2.0.0 of the parser",
            "DECISION: Drop support for Python 3.8",
            "Invariant: parse_tree never returns None",
            "Policy: Every public function needs a docstring",
            "BUG-88 [CRITICAL]: parse_tree loops on empty input\nStatus: cause found",
            "DECISION: The default depth is 100 levels",
            "DECISION: The default depth is 64 levels",
        ],
        facts: [
            planted(
                "2.0.0",
                [
                    "Version 2.0.0 of the parser is being released.",
                    "The parser is about to be released as 2.0.0.",
                    "Releasing parser v2.0.0.",
                ],
                "Version 2.1.0 of the parser is being released.",
            ),
            planted(
                "Python 3.8",
                [
                    "Support for Python 3.8 is dropped.",
                    "Python 3.8 support was dropped.",
                    "We drop the support of Python 3.8.",
                ],
                "",
            ),
            planted(
                "never returns None",
                [
                    "parse_tree never returns None.",
                    "parse_tree must not return None.",
                    "None is never returned by parse_tree.",
                ],
                "parse_tree returns None.",
            ),
            planted(
                "docstring",
                [
                    "Every public function needs a docstring.",
                    "Docstrings are needed on every public function.",
                    "Public functions each need a docstring.",
                ],
                "Some functions were renamed.",
            ),
            outdated(
                "64 levels",
                [
                    "The default depth is 64 levels.",
                    "Default depth: 64.",
                    "Depth is 64 levels by default.",
                ],
                "The default depth is 100 levels.",
            ),
        ],
    },
];

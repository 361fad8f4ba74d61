//! The rules by which the proposals of a summary get their importance (spec 19.9).

use super::gather::Candidate;
use crate::{
    closed_list::closed_list,
    extract::{Class, Severity},
    text::words::{Reader, Word},
};

closed_list! {
    /// The rule that gives a proposal its importance.
    Rule "rule" {
        UserDecision "user_decision": "A person decided it.";
        Decision "decision": "Somebody else decided it.";
        Constraint "constraint": "A rule that must be kept.";
        Critical "critical": "A critical issue, or a detail that is called critical.";
        High "high": "A high issue.";
        Medium "medium": "Another issue.";
        Low "low": "A low issue.";
        Question "question": "An open question.";
        State "state": "The state of the work.";
        Failure "failure": "An attempt that failed.";
        Learning "learning": "Something that was learned, preferred or agreed on.";
        Gap "gap": "What a worker lacked.";
        Architecture "architecture": "It is about the architecture.";
    }
}

/// The highest importance.
pub const IMPORTANCE_MAX: u8 = 10;

/// Words of texts about the architecture.
const ARCHITECTURE: &str = "architecture architectural database schema protocol api interface \
    framework library infrastructure deployment migration microservice service module component \
    storage cache queue broker encryption authentication authorization 架构 数据库 接口 协议 框架 \
    缓存 部署 服务 模块 アーキテクチャ データベース";

impl Rule {
    /// Returns its importance; of [`Rule::Architecture`] what it adds.
    pub fn importance(self) -> u8 {
        match self {
            Self::Critical => 10,
            Self::UserDecision | Self::Constraint | Self::High => 8,
            Self::State => 7,
            Self::Decision | Self::Failure => 6,
            Self::Learning | Self::Medium | Self::Question | Self::Gap => 5,
            Self::Low => 4,
            Self::Architecture => 1,
        }
    }

    /// Returns the rule for a candidate; `None` for one that becomes no separate memory.
    pub(super) fn of(it: &Candidate) -> Option<Self> {
        Some(match it.class {
            Class::Decision if it.is_by_user => Self::UserDecision,
            Class::Decision => Self::Decision,
            Class::Constraint => Self::Constraint,
            Class::Issue => match it.severity {
                Some(Severity::Critical) => Self::Critical,
                Some(Severity::High) => Self::High,
                Some(Severity::Medium) | None => Self::Medium,
                Some(Severity::Low) => Self::Low,
            },
            Class::Question if it.is_gap => Self::Gap,
            Class::Question => Self::Question,
            Class::Critical if it.severity == Some(Severity::Critical) => Self::Critical,
            Class::Critical | Class::Learning | Class::Pattern | Class::Preference => {
                Self::Learning
            }
            Class::Failure => Self::Failure,
            Class::State => Self::State,
            Class::Goal | Class::Modification | Class::Fact | Class::Prune | Class::Noise => {
                return None;
            }
        })
    }

    /// Returns true if an architecture word raises its importance.
    fn rises(self) -> bool {
        !matches!(self, Self::State | Self::Gap | Self::Architecture)
    }
}

/// Finds words about the architecture.
pub(super) struct Architecture {
    reader: Reader,
    words: Vec<Word>,
}

impl Architecture {
    pub(super) fn new() -> Self {
        let mut reader = Reader::default();
        let words = reader.distinct(ARCHITECTURE);
        Self { reader, words }
    }

    /// Returns the rules for a candidate, and its importance.
    pub(super) fn rules(&mut self, rule: Rule, text: &str) -> (Vec<Rule>, u8) {
        let mut rules = vec![rule];
        if rule.rises() {
            let has = |it: &Word| *it != 0 && self.words.binary_search(it).is_ok();
            if self.reader.distinct(text).iter().any(has) {
                rules.push(Rule::Architecture);
            }
        }
        let sum = rules.iter().map(|it| it.importance()).fold(0, u8::saturating_add);
        (rules, sum.min(IMPORTANCE_MAX))
    }
}

//! The statistics of packets in a session document (spec 8.5.3).

use serde::Serialize;
use shared_context_core::{
    Error,
    packets::{Depth, DepthSums, Mentions, TypeSums},
};

use crate::{form::form, values::invalid};

/// Sums of one type of task.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_packet_sums"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub(super) struct TypeItem {
    task_type: String,
    depths: Vec<DepthItem>,
    gaps: Vec<MentionsItem>,
    unused: Vec<MentionsItem>,
}

/// Sums of one depth.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_packet_depth"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct DepthItem {
    depth: String,
    count: u32,
    done: u32,
    failed: u32,
    abandoned: u32,
    /// How many packets have each size in tokens.
    sizes: Vec<SizeItem>,
}

/// How many packets have one size.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_packet_size"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct SizeItem {
    tokens: u32,
    count: u32,
}

/// How often something was reported.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "document_packet_mentions"))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
struct MentionsItem {
    text: String,
    count: u32,
    ended: u32,
    failed: u32,
}

form! { TypeItem: task_type, depths, gaps, unused }
form! { DepthItem: depth, count, done, failed, abandoned, sizes }
form! { SizeItem: tokens, count }
form! { MentionsItem: text, count, ended, failed }

impl TypeItem {
    pub(super) fn new(task_type: &str, it: &TypeSums) -> Self {
        let depths = Depth::ALL.into_iter().zip(&it.depths).filter(|it| it.1.count > 0);
        Self {
            task_type: task_type.to_owned(),
            depths: depths.map(|(depth, it)| DepthItem::new(depth, it)).collect(),
            gaps: it.gaps.iter().map(MentionsItem::new).collect(),
            unused: it.unused.iter().map(MentionsItem::new).collect(),
        }
    }

    pub(super) fn restore(&self) -> Result<(String, TypeSums), Error> {
        let mut sums = TypeSums {
            gaps: mentions(&self.gaps)?,
            unused: mentions(&self.unused)?,
            ..TypeSums::default()
        };
        for it in &self.depths {
            let depth = Depth::parse(&it.depth)?;
            let of_depth = Depth::ALL.into_iter().zip(&mut sums.depths).find(|of| of.0 == depth);
            if let Some((_, sums)) = of_depth {
                *sums = it.restore()?;
            }
        }
        Ok((self.task_type.clone(), sums))
    }
}

impl DepthItem {
    fn new(depth: Depth, it: &DepthSums) -> Self {
        let size = |(tokens, count): &(u32, u32)| SizeItem { tokens: *tokens, count: *count };
        Self {
            depth: depth.as_str().to_owned(),
            count: it.count,
            done: it.done,
            failed: it.failed,
            abandoned: it.abandoned,
            sizes: it.sizes.iter().map(size).collect(),
        }
    }

    fn restore(&self) -> Result<DepthSums, Error> {
        let sizes: Vec<(u32, u32)> = self.sizes.iter().map(|it| (it.tokens, it.count)).collect();
        if !sizes.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(invalid("the sizes of packets are not in their order"));
        }
        let (count, done, failed, abandoned) = (self.count, self.done, self.failed, self.abandoned);
        Ok(DepthSums { count, done, failed, abandoned, sizes })
    }
}

impl MentionsItem {
    fn new((text, it): &(String, Mentions)) -> Self {
        Self { text: text.clone(), count: it.count, ended: it.ended, failed: it.failed }
    }
}

fn mentions(all: &[MentionsItem]) -> Result<Vec<(String, Mentions)>, Error> {
    let mentions =
        |it: &MentionsItem| Mentions { count: it.count, ended: it.ended, failed: it.failed };
    let all: Vec<(String, Mentions)> =
        all.iter().map(|it| (it.text.clone(), mentions(it))).collect();
    if !all.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(invalid("what was reported of packets is not in its order"));
    }
    Ok(all)
}

//! Models the view of a packet for a reader.

use shared_context_core::{
    packets::{Form, Layer, Packet, Part, Source},
    tokens::approximate,
};

/// Returns the packet without the statements of which `is_visible` rejects the source, and without
/// texts whose source is not known.
pub(super) fn concealed(mut packet: Packet, is_visible: &dyn Fn(&Source) -> bool) -> Packet {
    packet.statements.retain(|it| is_visible(&it.source));
    packet.statements.iter_mut().for_each(|it| it.merged_from.clear());
    packet.not_included.clear();
    packet.changelog.clear();
    sealed(packet)
}

/// Returns the packet with one layer only.
pub(super) fn only(mut packet: Packet, layer: Layer) -> Packet {
    packet.statements.retain(|it| match it.part {
        Part::Goal | Part::SuccessCriterion | Part::Constraint => layer == Layer::Goal,
        Part::Decision => layer == Layer::Decisions,
        Part::FailedAttempt | Part::Pivot | Part::OpenQuestion => layer == Layer::History,
        Part::File | Part::Pattern | Part::AntiPattern | Part::Example => layer == Layer::Codebase,
    });
    packet.layers = vec![layer];
    packet.not_included.clear();
    sealed(packet)
}

/// Returns the packet with the checksum of its content and its sizes.
pub(super) fn sealed(mut packet: Packet) -> Packet {
    packet.checksum = packet.sum();
    packet.token_count.markdown = approximate(&packet.render(Form::Markdown));
    for _ in 0..4 {
        let json = approximate(&packet.render(Form::Json));
        let yaml = approximate(&packet.render(Form::Yaml));
        let before = (packet.token_count.json, packet.token_count.yaml);
        (packet.token_count.json, packet.token_count.yaml) = (json, yaml);
        if before == (json, yaml) {
            break;
        }
    }
    packet
}

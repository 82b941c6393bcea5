"""Changes as the HTML that htmx swaps into open pages. Every fragment may be applied twice."""

from __future__ import annotations

from collections.abc import Iterable

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from chat.link.status import Status
from chat.transcript import reading
from chat.transcript.bubbles import BubbleView
from chat.transcript.drawing import BlockPatch, Changes
from chat.transcript.reading import Difference


def changes_html(key: str, changes: Changes) -> SafeString:
    """Whole bubbles, single blocks and removals."""
    parts = [bubbles_html(key, changes.bubbles)]
    parts += [block_html(patch) for patch in changes.blocks]
    parts += [format_html('<i id="m-{}" hx-swap-oob="delete"></i>', uid) for uid in changes.gone]
    return mark_safe("".join(parts))  # noqa: S308 - each part is safe already


def bubbles_html(key: str, bubbles: Iterable[BubbleView]) -> SafeString:
    """Whole bubbles, each swapped in at its place in the transcript."""
    rendered = (
        render_to_string("chat/_message.html#message", {"b": bubble, "key": key, "oob": True})
        for bubble in bubbles
    )
    return mark_safe("".join(rendered))  # noqa: S308 - each part is safe already


def block_html(patch: BlockPatch) -> SafeString:
    """One block of a bubble, replaced or put at its place."""
    return format_html(
        '<div class="block" id="b-{uid}-{index}" data-order="{order}"'
        ' hx-swap-oob="upsert:#b-{uid}">{html}</div>',
        uid=patch.uid,
        index=patch.index,
        order=f"{patch.index:06d}",
        html=mark_safe(patch.html),  # noqa: S308 - made by chat.display
    )


def difference_html(key: str, difference: Difference) -> SafeString:
    """What a page lacks, and the names of all it may keep."""
    manifest = format_html(
        '<div id="manifest" hidden data-uids="{}" data-first-order="{}" data-reset="{}"'
        ' hx-swap-oob="manifest:#transcript"></div>',
        " ".join(difference.uids),
        difference.first_order,
        "1" if difference.reset else "",
    )
    return mark_safe(manifest + bubbles_html(key, difference.bubbles))  # noqa: S308


def difference_since(key: str, conversation_id: int, revision: int) -> tuple[SafeString, int]:
    """What a page lacks, drawn in the thread that read it: there may be a lot of it. With it
    comes the revision up to which the page then has everything.
    """
    difference = reading.changed_since(conversation_id, revision)
    return difference_html(key, difference), difference.revision


def state_html(key: str, status: Status, *, running: bool) -> SafeString:
    """The state of the connection, and whether there is something to stop."""
    stop = render_to_string(
        "chat/_parts.html#running", {"running": running, "key": key, "oob": True}
    )
    return connection_html(key, status) + stop


def connection_html(key: str, status: Status) -> SafeString:
    """The state of the connection."""
    context = {"connection": status.for_page(), "key": key, "oob": True}
    return render_to_string("chat/_parts.html#connection", context)


def revision_html(revision: int) -> SafeString:
    """The revision up to which the page now has everything."""
    return format_html(
        '<span id="revision" data-revision="{}" hidden hx-swap-oob="true"></span>', revision
    )


def announce_html(texts: Iterable[str]) -> SafeString:
    """What a screen reader is told once."""
    return format_html(
        '<div id="announce" hx-swap-oob="innerHTML">{}</div>',
        format_html_join("", "<p>{}</p>", ((text,) for text in texts)),
    )

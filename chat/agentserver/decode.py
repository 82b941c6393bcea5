"""The calls on a `clientio` channel as typed events (WIRE.md 6). Pure; tolerant; never raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from chat.agentserver.events import (
    ActionTaken,
    AppendDisplay,
    ChoiceRequested,
    ClearRequested,
    CommandComplete,
    DiagnosticData,
    DisplayInfo,
    DynamicDisplay,
    Event,
    ExitRequested,
    FeedbackChanged,
    HideChanged,
    InteractionCancelled,
    InteractionResolved,
    Json,
    Notification,
    QueueChanged,
    RequestCancelled,
    RequestQueued,
    RequestStarted,
    SetDisplay,
    UnknownEvent,
    UserRequest,
)
from chat.agentserver.values import (
    decode_entry,
    decode_interaction,
    decode_message,
    decode_ref,
    decode_snapshot,
    integer,
    text,
    texts,
)

type Args = Sequence[Json]


def decode_event(conversation_id: str, name: str, args: Args) -> Event | None:
    """The event that a call tells, `UnknownEvent` for a name we do not know, `None` for junk."""
    decoder = _DECODERS.get(name)
    if decoder is None:
        return UnknownEvent(conversation_id=conversation_id, name=name, args=tuple(args))
    return decoder(conversation_id, args)


def _arg(args: Args, index: int) -> Json:
    return args[index] if index < len(args) else None


def _user_request(conversation_id: str, args: Args) -> Event:
    return UserRequest(
        conversation_id=conversation_id, ref=decode_ref(_arg(args, 0)), text=text(_arg(args, 1))
    )


def _display_info(conversation_id: str, args: Args) -> Event:
    return DisplayInfo(
        conversation_id=conversation_id,
        ref=decode_ref(_arg(args, 0)),
        source=text(_arg(args, 1)),
        action_index=integer(_arg(args, 2)),
        action=_arg(args, 3),
    )


def _set_display(conversation_id: str, args: Args) -> Event | None:
    message = decode_message(_arg(args, 0))
    if message is None:
        return None
    return SetDisplay(conversation_id=conversation_id, message=message)


def _append_display(conversation_id: str, args: Args) -> Event | None:
    message, mode = decode_message(_arg(args, 0)), text(_arg(args, 1)) or "block"
    if message is None:
        return None
    return AppendDisplay(conversation_id=conversation_id, message=message, mode=mode)


def _diagnostic_data(conversation_id: str, args: Args) -> Event:
    return DiagnosticData(
        conversation_id=conversation_id, ref=decode_ref(_arg(args, 0)), data=_arg(args, 1)
    )


def _dynamic_display(conversation_id: str, args: Args) -> Event | None:
    display_id, refresh = text(_arg(args, 3)), _arg(args, 4)
    if not display_id:
        return None
    is_number = isinstance(refresh, int | float) and not isinstance(refresh, bool)
    return DynamicDisplay(
        conversation_id=conversation_id,
        ref=decode_ref(_arg(args, 0)),
        source=text(_arg(args, 1)),
        action_index=integer(_arg(args, 2)),
        display_id=display_id,
        next_refresh_ms=refresh if is_number else -1,  # -1 means stop (WIRE.md 5)
    )


def _notify(conversation_id: str, args: Args) -> Event:
    first, name, data = _arg(args, 0), text(_arg(args, 1)), _arg(args, 2)
    if name == "commandComplete":
        result = data.get("result") if isinstance(data, dict) else None
        return CommandComplete(
            conversation_id=conversation_id,
            ref=decode_ref(first),
            result=result if isinstance(result, dict) else None,
        )
    return Notification(
        conversation_id=conversation_id,
        name=name,
        data=data,
        source=text(_arg(args, 3)),
        ref=decode_ref(first) if isinstance(first, dict) else None,
        notification_id=first if isinstance(first, str) else None,
    )


def _request_choice(conversation_id: str, args: Args) -> Event | None:
    choice_id, checkbox = text(_arg(args, 1)), _arg(args, 6)
    if not choice_id:
        return None
    return ChoiceRequested(
        conversation_id=conversation_id,
        ref=decode_ref(_arg(args, 0)),
        choice_id=choice_id,
        type=text(_arg(args, 2)),
        message=text(_arg(args, 3)),
        choices=texts(_arg(args, 4)),
        source=text(_arg(args, 5)),
        checkbox_label=checkbox if isinstance(checkbox, str) else None,
    )


def _request_form(conversation_id: str, args: Args) -> Event | None:
    choice_id, form = text(_arg(args, 1)), _arg(args, 2)
    if not choice_id or not isinstance(form, dict):
        return None
    return ChoiceRequested(
        conversation_id=conversation_id,
        ref=decode_ref(_arg(args, 0)),
        choice_id=choice_id,
        message=text(form.get("message")),
        source=text(_arg(args, 3)),
        form=form,
    )


def _interaction_requested(conversation_id: str, args: Args) -> Event | None:
    return decode_interaction(conversation_id, _arg(args, 0))


def _interaction_resolved(conversation_id: str, args: Args) -> Event | None:
    if not (interaction_id := text(_arg(args, 0))):
        return None
    return InteractionResolved(
        conversation_id=conversation_id, interaction_id=interaction_id, response=_arg(args, 1)
    )


def _interaction_cancelled(conversation_id: str, args: Args) -> Event | None:
    if not (interaction_id := text(_arg(args, 0))):
        return None
    return InteractionCancelled(conversation_id=conversation_id, interaction_id=interaction_id)


def _take_action(conversation_id: str, args: Args) -> Event | None:
    if not (action := text(_arg(args, 1))):
        return None
    return ActionTaken(
        conversation_id=conversation_id,
        ref=decode_ref(_arg(args, 0)),
        action=action,
        data=_arg(args, 2),
    )


def _clear(conversation_id: str, args: Args) -> Event:
    return ClearRequested(conversation_id=conversation_id, ref=decode_ref(_arg(args, 0)))


def _exit(conversation_id: str, args: Args) -> Event:
    return ExitRequested(conversation_id=conversation_id, ref=decode_ref(_arg(args, 0)))


def _feedback(conversation_id: str, args: Args) -> Event:
    return FeedbackChanged(conversation_id=conversation_id, entry=_arg(args, 0))


def _hide(conversation_id: str, args: Args) -> Event:
    return HideChanged(conversation_id=conversation_id, entry=_arg(args, 0))


def _request_queued(conversation_id: str, args: Args) -> Event | None:
    entry, version = decode_entry(_arg(args, 0)), integer(_arg(args, 1))
    if entry is None:
        return None
    return RequestQueued(conversation_id=conversation_id, entry=entry, version=version)


def _request_started(conversation_id: str, args: Args) -> Event | None:
    entry, version = decode_entry(_arg(args, 0)), integer(_arg(args, 1))
    if entry is None:
        return None
    return RequestStarted(conversation_id=conversation_id, entry=entry, version=version)


def _request_cancelled(conversation_id: str, args: Args) -> Event | None:
    if not (request_id := decode_ref(_arg(args, 0)).request_id):
        return None
    return RequestCancelled(
        conversation_id=conversation_id,
        request_id=request_id,
        reason=text(_arg(args, 1)) or "user",
        version=integer(_arg(args, 2)),
    )


def _queue_changed(conversation_id: str, args: Args) -> Event | None:
    snapshot = decode_snapshot(_arg(args, 0))
    if snapshot is None:
        return None
    return QueueChanged(conversation_id=conversation_id, snapshot=snapshot)


_DECODERS: Mapping[str, Callable[[str, Args], Event | None]] = {
    "setUserRequest": _user_request,
    "setDisplayInfo": _display_info,
    "setDisplay": _set_display,
    "appendDisplay": _append_display,
    "appendDiagnosticData": _diagnostic_data,
    "setDynamicDisplay": _dynamic_display,
    "notify": _notify,
    "requestChoice": _request_choice,
    "requestForm": _request_form,
    "requestInteraction": _interaction_requested,
    "interactionResolved": _interaction_resolved,
    "interactionCancelled": _interaction_cancelled,
    "takeAction": _take_action,
    "clear": _clear,
    "exit": _exit,
    "onUserFeedback": _feedback,
    "onUserHide": _hide,
    "requestQueued": _request_queued,
    "requestStarted": _request_started,
    "requestCancelled": _request_cancelled,
    "queueStateChanged": _queue_changed,
}

"""What staff may see and do: how conversations stand, never what is in them, and clearing them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.timezone import now

from chat.link import hub
from chat.models import Conversation
from chat.transcript import store

STALE_DAYS = (7, 30, 90)

if TYPE_CHECKING:
    ConversationModelAdmin = admin.ModelAdmin[Conversation]
else:
    ConversationModelAdmin = admin.ModelAdmin


class StaleFilter(admin.SimpleListFilter):
    """Conversations in which nothing has happened for a while."""

    title = "stale"
    parameter_name = "stale"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(days), f"for {days} days") for days in STALE_DAYS]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Conversation]
    ) -> QuerySet[Conversation]:
        for days in STALE_DAYS:
            if self.value() == str(days):
                return queryset.filter(last_activity_at__lt=now() - timedelta(days=days))
        return queryset


@admin.register(Conversation)
class ConversationAdmin(ConversationModelAdmin):
    """Read-only but for "Clear messages". No message text, and no id of the agent-server's."""

    list_display = ("key", "user", "message_count", "last_activity_at", "link_state")
    list_filter = (StaleFilter, "link_state")
    list_select_related = ("user",)
    search_fields = ("user__username", "user__email", "key")
    ordering = ("-last_activity_at",)
    fields = (
        "key",
        "user",
        "message_count",
        "created_at",
        "last_activity_at",
        "link_state",
        "link_error",
    )
    readonly_fields = fields
    actions = ("clear_messages",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        return super().get_queryset(request).annotate(message_count=Count("messages"))

    @admin.display(description="messages", ordering="message_count")
    def message_count(self, conversation: Any) -> int:
        count: int = conversation.message_count
        return count

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Conversation | None = None) -> bool:
        """The permission allows the action; a single conversation cannot be changed."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Conversation | None = None) -> bool:
        """Only as part of the deletion of its user, which would else be refused."""
        match = request.resolver_match
        here = match is not None and str(match.url_name).startswith("chat_conversation_")
        return not here and super().has_delete_permission(request, obj)

    @admin.action(description="Clear messages", permissions=["change"])
    def clear_messages(
        self, request: HttpRequest, queryset: QuerySet[Conversation]
    ) -> TemplateResponse | None:
        """Ask first; then erase the messages, also on the pages that are open."""
        if request.POST.get("confirmed") != "yes":
            return self._ask(request, queryset)
        conversations = list(queryset)
        for conversation in conversations:
            self._clear(request, conversation)
        cleared = (
            "1 conversation" if len(conversations) == 1 else f"{len(conversations)} conversations"
        )
        self.message_user(request, f"Cleared the messages of {cleared}.", messages.SUCCESS)
        return None

    def _ask(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> TemplateResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": "Clear messages",
            "opts": self.opts,
            "conversations": queryset,
            "checkbox_name": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/chat/clear_messages.html", context)

    @transaction.atomic
    def _clear(self, request: HttpRequest, conversation: Conversation) -> None:
        store.clear(conversation.pk)
        self.log_change(request, conversation, "Cleared the messages.")
        # Pages are emptied by the owner, who must find the rows gone when it looks.
        transaction.on_commit(partial(hub.poke_soon, conversation.pk))

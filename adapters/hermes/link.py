"""What one provider has of the helper: a hold, and its sessions on it."""

from __future__ import annotations

import collections
import secrets
import threading
import time
from typing import Any, Callable, Dict, Optional

from .capture import Turn
from .outbox import Outbox, opening
from .settings import Places
from .shared import HOOKS, Shared, helper_options

AGENT = "hermes"
MAX_CONVERSATIONS = 256


def again(ask: "Callable[[float], Any]", deadline: float) -> Any:
    """Asks; and once more, as long as there is time, when the store went with its owner in another process."""
    while True:
        try:
            return ask(max(0.1, deadline - time.monotonic()))
        except Exception as error:  # noqa: B902 - raised again unless it is that one
            data = getattr(error, "data", None)
            if not isinstance(data, dict) or data.get("code") != "transport_closed" or time.monotonic() + 0.1 > deadline:
                raise
            time.sleep(0.01)


class Conversation:
    """One session of the host. Of a context other than the user's it has a name of its own in the store, so that not even
    a session id that is used twice can bring them together."""

    def __init__(self, name: str, context: str, namespace: "Dict[str, str]", meta: "Dict[str, str]") -> None:
        self.name = name  # the host's
        self.meta = dict(meta)
        self.id = name if context == "primary" else f"{name}#{context}"
        self.namespace = namespace
        self.turn = Turn()
        self.episode = ""
        self.last_turn = ""  # the key of it in the queue
        self.spoken = False
        self.handle: Any = None

    def for_queue(self) -> "Dict[str, Any]":
        return {"id": self.id, "agent": AGENT, "namespace": self.namespace, "meta": self.meta}

    def episode_for_writing(self) -> str:
        """The one that the store named, or one that we name and it will open."""
        if not self.episode:
            self.episode = "ep_" + secrets.token_hex(12)
        return self.episode


def _opener(words: "Dict[str, Any]") -> "Callable[[Any], None]":
    # Holds on to nothing but words, so that the library's callback keeps no provider alive.
    def opened(on: Any) -> None:
        on.request("session.open", words, timeout=6.0)

    return opened


class Link:
    def __init__(self, shared: Shared, where: Places, context: str, namespace: "Dict[str, str]") -> None:
        self.shared = shared
        self.where = where
        self.context = context
        self.namespace = namespace
        self.outbox: Outbox = shared.outbox(where, helper_options(where))
        self._lock = threading.Lock()
        self.meta: "Dict[str, str]" = {}
        self._hold: Any = None
        self._conversations: "collections.OrderedDict[str, Conversation]" = collections.OrderedDict()

    def hold(self, serve: "Optional[Callable[[str, Any], Any]]" = None) -> Any:
        """Ours; a new one when we have none. `serve` answers the helper's requests for a model."""
        with self._lock:
            if self._hold is None or self._hold.closed:
                self._forget_handles()
                self._hold = self.shared.hold(self.where, helper_options(self.where))
                if serve is not None:
                    self._hold.serve("host.llm.complete", serve)
            return self._hold

    def drop_hold(self) -> None:
        with self._lock:
            hold, self._hold = self._hold, None
            self._forget_handles()
        if hold is not None:
            hold.close()

    def _forget_handles(self) -> None:
        for one in self._conversations.values():
            one.handle = None

    def conversation(self, name: str) -> Conversation:
        with self._lock:
            found = self._conversations.get(name)
            if found is None:
                found = Conversation(name, self.context, self.namespace, self.meta)
                self._conversations[name] = found
                while len(self._conversations) > MAX_CONVERSATIONS:
                    self._conversations.popitem(last=False)
            else:
                self._conversations.move_to_end(name)
            return found

    def forget(self, name: str) -> "Optional[Conversation]":
        with self._lock:
            return self._conversations.pop(name, None)

    def request(self, conversation: Conversation, hold: Any, method: str, params: "Dict[str, Any]", deadline: float) -> Any:
        """After the session was opened on the generation that it goes to."""
        handle = conversation.handle
        if handle is None:
            handle = conversation.handle = hold.session(_opener(opening(conversation.for_queue())))
        return again(lambda left: handle.request(method, params, timeout=left, idempotent=True), deadline)

    def listen(self, name: str, listener: "Dict[str, Callable[..., Any]]", wanted: bool) -> None:
        """To the host's hooks, for one session; the router holds the listener weakly."""
        for hook in HOOKS:
            self.shared.router.unlisten(hook, name, listener[hook])
            if wanted:
                self.shared.router.listen(hook, name, listener[hook])

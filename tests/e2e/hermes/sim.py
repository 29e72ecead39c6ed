"""A stand-in for Hermes, with its habits: a loader that makes a fresh provider on every call, a manager with one worker for
syncs and abandoned prefetches, hooks as lists that are rebuilt, agents that fork reviewers after each turn and forget them.

It has the names of the host's modules that a plugin looks for, and none of its code.
"""

from __future__ import annotations

import abc
import hashlib
import importlib.util
import os
import queue
import sys
import threading
import types
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

NAMESPACE = "_hermes_user_memory"


@dataclass(frozen=True)
class RecallStatus:
    provider_label: str
    count: int
    glyph: str = "*"


def _wanted(name: str) -> Any:
    def member(self: Any, *args: Any, **words: Any) -> Any:
        raise NotImplementedError(name)

    return abc.abstractmethod(member)


# The whole interface, and none of it done: a provider that lacks a member cannot be made.
MEMBERS = (
    "is_available unavailable_reason initialize system_prompt_block prefetch queue_prefetch recall_status sync_turn "
    "get_tool_schemas handle_tool_call on_turn_start on_session_end on_pre_compress on_session_switch on_delegation "
    "on_memory_write get_config_schema save_config backup_paths shutdown name"
).split()
MemoryProvider = abc.ABCMeta("MemoryProvider", (), {name: _wanted(name) for name in MEMBERS})


class Manager:
    """The plugin manager: hooks are lists."""

    def __init__(self) -> None:
        self._hooks: "Dict[str, List[Callable[..., Any]]]" = {}

    def invoke_hook(self, name: str, **words: Any) -> "List[Any]":
        results = []
        for callback in list(self._hooks.get(name, [])):
            try:
                result = callback(**words)
            except Exception:  # noqa: B902 - as the host does
                continue
            if result is not None:
                results.append(result)
        return results


class Host:
    """One process of the host."""

    manager = Manager()
    llm_calls: "List[str]" = []

    @classmethod
    def install_modules(cls) -> None:
        plugins = types.ModuleType("hermes_cli.plugins")
        plugins.get_plugin_manager = lambda: cls.manager  # type: ignore[attr-defined]
        package = types.ModuleType("hermes_cli")
        package.__path__ = []
        agent = types.ModuleType("agent")
        agent.__path__ = []
        client = types.ModuleType("agent.auxiliary_client")
        client.call_llm = cls._call_llm  # type: ignore[attr-defined]
        memory = types.ModuleType("agent.memory_provider")
        memory.MemoryProvider = MemoryProvider  # type: ignore[attr-defined]
        memory.RecallStatus = RecallStatus  # type: ignore[attr-defined]
        for module in (package, plugins, agent, client, memory):
            sys.modules[module.__name__] = module

    @classmethod
    def _call_llm(cls, task: str, messages: "List[Dict[str, Any]]", **_: Any) -> Any:
        cls.llm_calls.append(messages[-1]["content"])
        text = types.SimpleNamespace(content="said " + messages[-1]["content"])
        return types.SimpleNamespace(choices=[types.SimpleNamespace(message=text)], model="stand-in", usage=None)

    @classmethod
    def rebuild_manager(cls) -> Manager:
        cls.manager = Manager()
        return cls.manager


class _Collector:
    def __init__(self) -> None:
        self.provider: Any = None

    def register_memory_provider(self, provider: Any) -> None:
        self.provider = provider


def load_provider(folder: str) -> Any:
    """A new instance on every call; the module is cached, register() runs again."""
    if NAMESPACE not in sys.modules:
        parent = types.ModuleType(NAMESPACE)
        parent.__path__ = []
        sys.modules[NAMESPACE] = parent
    name = f"{NAMESPACE}.holdfast__{hashlib.sha256(folder.encode()).hexdigest()[:12]}"
    module = sys.modules.get(name)
    if module is None:
        spec = importlib.util.spec_from_file_location(
            name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    collector = _Collector()
    module.register(collector)
    return collector.provider


class MemoryManager:
    """One external provider; prefetch in a thread that is abandoned after 8 s; one worker for syncs, in order."""

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self._work: "queue.Queue[Optional[Callable[[], Any]]]" = queue.Queue()
        self._worker = threading.Thread(target=self._run, args=(self._work,), daemon=True)
        self._worker.start()

    @staticmethod
    def _run(work: "queue.Queue[Optional[Callable[[], Any]]]") -> None:
        while True:
            task = work.get()
            if task is None:
                return
            task()
            del task

    def prefetch(self, query: str, session: str) -> str:
        found: "List[str]" = []
        thread = threading.Thread(
            target=lambda: found.append(self.provider.prefetch(query, session_id=session)), daemon=True
        )
        thread.start()
        thread.join(8.0)
        return found[0] if found else ""

    def sync(self, user: str, assistant: str, session: str) -> None:
        provider = self.provider
        self._work.put(lambda: provider.sync_turn(user, assistant, session_id=session))
        self._work.put(lambda: provider.queue_prefetch(user, session_id=session))

    def drain(self) -> None:
        self._work.put(None)
        self._worker.join(5.0)

    def shutdown(self) -> None:
        self.drain()
        self.provider.shutdown()


class Agent:
    """One conversation. `turn` is what a user sees; the reviewer behind it is another agent, forgotten when it is done."""

    def __init__(self, folder: str, home: str, session: str, context: str = "primary", **words: Any) -> None:
        self.folder, self.home, self.session = folder, home, session
        self.provider = load_provider(folder)
        self.provider.initialize(session, hermes_home=home, platform="cli", agent_context=context, **words)
        self.manager = MemoryManager(self.provider)
        self.turns = 0

    def turn(self, user: str, assistant: str, review: bool = True) -> str:
        self.turns += 1
        self.provider.on_turn_start(self.turns, user, session_id=self.session)
        recalled = self.manager.prefetch(user, self.session)
        self.manager.sync(user, assistant, self.session)
        if review:
            thread = threading.Thread(target=review_fork, args=(self.folder, self.home, self.session), daemon=True)
            thread.start()
            thread.join()
        return recalled

    def forget(self) -> None:
        """As the host drops it: no shutdown."""
        self.manager.drain()


def review_fork(folder: str, home: str, session: str) -> None:
    provider = load_provider(folder)
    provider.initialize(session, hermes_home=home, platform="cli", agent_context="flush")
    provider.prefetch("Review the conversation above and consider saving to memory", session_id=session)
    provider.sync_turn("Review the conversation above and consider saving to memory", "nothing", session_id=session)

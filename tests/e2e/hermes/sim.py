"""A stand-in for Hermes, with its habits and the shapes of its calls: a loader that makes a fresh provider on every call, a
manager with one worker for syncs and abandoned prefetches, a plugin manager per home whose hooks are lists that are wiped
and rebuilt, agents that fork reviewers after each turn and forget them.

It has the names of the host's modules that a plugin looks for, the parameters that the host gives, and none of its code.
"""

from __future__ import annotations

import abc
import contextlib
import contextvars
import hashlib
import importlib.util
import inspect
import json
import os
import queue
import sys
import threading
import time
import types
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

NAMESPACE = "_hermes_user_memory"
# One process of the host may serve several profiles: which one, is told by the context of the thread.
_home: "contextvars.ContextVar[str]" = contextvars.ContextVar("hermes_home_override", default="")


@contextlib.contextmanager
def profile(home: str) -> "Iterator[None]":
    token = _home.set(home)
    try:
        yield
    finally:
        _home.reset(token)


# ---- agent.memory_provider


@dataclass(frozen=True)
class RecallStatus:
    provider_label: str
    count: int
    glyph: str = "*"


@dataclass(frozen=True)
class MemoryObservation:
    source_kind: str
    schema: str
    version: int
    payload: Any
    provider: str = ""


@dataclass(frozen=True)
class MemoryPrefetchResult:
    context: str = ""
    observations: Any = ()


def bounded(observations: Any) -> None:
    """As the host checks what a provider hands it; it drops what is beyond."""
    sizes = []
    for one in observations:
        assert isinstance(one, MemoryObservation) and one.source_kind and one.schema and one.version >= 1
        sizes.append(len(json.dumps({"provider": "holdfast", **vars(one)}, ensure_ascii=False, allow_nan=False).encode()))
        _bounded(one.payload, 0)
    assert len(sizes) <= 16 and sum(sizes) <= 64 * 1024 and max(sizes, default=0) <= 16 * 1024, sizes


def _bounded(value: Any, depth: int) -> None:
    assert depth <= 6
    if isinstance(value, dict):
        assert len(value) <= 64 and all(isinstance(key, str) for key in value)
        for one in value.values():
            _bounded(one, depth + 1)
    elif isinstance(value, str):
        assert len(value) <= 4096
    else:
        assert value is None or isinstance(value, (bool, int, float))


class MemoryProvider(abc.ABC):
    """What must be there, and what a provider gets when it leaves it out."""

    pre_compress_checkpoint_api_version = 1

    @property
    @abc.abstractmethod
    def name(self) -> str: ...

    @abc.abstractmethod
    def is_available(self) -> bool: ...

    @abc.abstractmethod
    def initialize(self, session_id: str, **kwargs: Any) -> None: ...

    @abc.abstractmethod
    def get_tool_schemas(self) -> "List[Dict[str, Any]]": ...

    def identity_signature(self) -> "Dict[str, Any]":
        return {}

    def cache_busting_signature(self) -> "Optional[Dict[str, Any]]":
        return None

    def initialize_for_inspection(self, session_id: str, **kwargs: Any) -> None:
        self.initialize(session_id=session_id, **kwargs)

    def unavailable_reason(self) -> str:
        return ""

    def system_prompt_block(self) -> str:
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        return ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None: ...

    def recall_status(self) -> "Optional[RecallStatus]":
        return None

    def sync_turn(
        self, user_content: str, assistant_content: str, *, session_id: str = "", messages: Any = None, turn_author: Any = None
    ) -> None: ...

    def handle_tool_call(self, tool_name: str, args: "Dict[str, Any]", **kwargs: Any) -> str:
        raise NotImplementedError(tool_name)

    def shutdown(self) -> None: ...

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None: ...

    def on_session_end(self, messages: "List[Dict[str, Any]]") -> None: ...

    def on_session_switch(
        self, new_session_id: str, *, parent_session_id: str = "", reset: bool = False, rewound: bool = False, **kwargs: Any
    ) -> None: ...

    def on_pre_compress(self, messages: "List[Dict[str, Any]]") -> str:
        return ""

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any) -> None: ...

    def on_memory_write(self, action: str, target: str, content: str, metadata: Any = None) -> None: ...

    def get_config_schema(self) -> "List[Dict[str, Any]]":
        return []

    def save_config(self, values: "Dict[str, Any]", hermes_home: str) -> None: ...

    def backup_paths(self) -> "List[str]":
        return []


# All that a provider may have; ours has each of its own.
MEMBERS = [
    name for name, value in vars(MemoryProvider).items() if not name.startswith("_") and (callable(value) or name == "name")
]


def bound(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """As the host starts threads: with the profile of whoever starts them."""
    context = contextvars.copy_context()
    return lambda *args, **words: context.run(function, *args, **words)


# ---- hermes_cli.plugins


class Manager:
    """The plugin manager: hooks are lists, each callback runs on a thread of its own and may be too late."""

    def __init__(self) -> None:
        self._hooks: "Dict[str, List[Callable[..., Any]]]" = {}
        self.timeout = 30.0

    def invoke_hook(self, hook_name: str, **kwargs: Any) -> "List[Any]":
        kwargs.setdefault("telemetry_schema_version", "hermes.observer.v1")
        results = []
        for callback in self._hooks.get(hook_name, []):
            result = self._run(callback, kwargs)
            if result is not None:
                results.append(result)
        return results

    def _run(self, callback: "Callable[..., Any]", payload: "Dict[str, Any]") -> Any:
        known = inspect.signature(callback).parameters
        if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
            payload = {name: value for name, value in payload.items() if name in known}
        results: "List[Any]" = []

        def run() -> None:
            with contextlib.suppress(Exception):  # a callback that raises is logged by the host, and that is all
                results.append(callback(**payload))

        worker = threading.Thread(target=bound(run), daemon=True)
        worker.start()
        worker.join(self.timeout)
        return results[0] if results else None

    def has_hook(self, hook_name: str) -> bool:
        return bool(self._hooks.get(hook_name))

    def unload(self) -> None:
        """As at a forced reload: the lists are gone, the manager stays."""
        self._hooks.clear()


class Host:
    """One process of the host."""

    manager = Manager()
    managers: "Dict[str, Manager]" = {}  # of other homes
    llm_calls: "List[str]" = []
    llm_words: "List[Dict[str, Any]]" = []
    llm_homes: "List[str]" = []

    @classmethod
    def get_plugin_manager(cls) -> Manager:
        return cls.managers.setdefault(_home.get(), Manager()) if _home.get() else cls.manager

    @classmethod
    def install_modules(cls) -> None:
        plugins = types.ModuleType("hermes_cli.plugins")
        plugins.get_plugin_manager = cls.get_plugin_manager  # type: ignore[attr-defined]
        package = types.ModuleType("hermes_cli")
        package.__path__ = []
        agent = types.ModuleType("agent")
        agent.__path__ = []
        client = types.ModuleType("agent.auxiliary_client")
        client.call_llm = cls._call_llm  # type: ignore[attr-defined]
        memory = types.ModuleType("agent.memory_provider")
        memory.MemoryProvider = MemoryProvider  # type: ignore[attr-defined]
        memory.RecallStatus = RecallStatus  # type: ignore[attr-defined]
        constants = types.ModuleType("hermes_constants")
        constants.get_hermes_home = _home.get  # type: ignore[attr-defined]
        for module in (package, plugins, agent, client, memory, constants):
            sys.modules[module.__name__] = module

    @classmethod
    def newer_memory(cls) -> None:
        """From when prefetch() may return more than a text."""
        memory = sys.modules["agent.memory_provider"]
        memory.MemoryPrefetchResult = MemoryPrefetchResult  # type: ignore[attr-defined]
        memory.MemoryObservation = MemoryObservation  # type: ignore[attr-defined]

    @classmethod
    def older_client(cls, client: Any) -> None:
        """From before call_llm: a client of the model's library, and the name of a model."""
        module = sys.modules["agent.auxiliary_client"]
        vars(module).pop("call_llm", None)

        def get_text_auxiliary_client() -> "Tuple[Any, Optional[str]]":
            return client, "old-model" if client is not None else None

        module.get_text_auxiliary_client = get_text_auxiliary_client  # type: ignore[attr-defined]

    @classmethod
    def _call_llm(
        cls,
        task: "Optional[str]" = None,
        *,
        provider: "Optional[str]" = None,
        model: "Optional[str]" = None,
        base_url: "Optional[str]" = None,
        api_key: "Optional[str]" = None,
        main_runtime: "Optional[Dict[str, Any]]" = None,
        messages: "List[Dict[str, Any]]",
        temperature: "Optional[float]" = None,
        max_tokens: "Optional[int]" = None,
        tools: "Optional[List[Any]]" = None,
        timeout: "Optional[float]" = None,
        extra_body: "Optional[Dict[str, Any]]" = None,
    ) -> Any:
        cls.llm_calls.append(messages[-1]["content"])
        cls.llm_words.append({"task": task, "model": model, "max_tokens": max_tokens, "timeout": timeout})
        cls.llm_homes.append(_home.get())
        return answer("said " + messages[-1]["content"])

    @classmethod
    def rebuild_manager(cls) -> Manager:
        cls.manager = Manager()
        cls.managers = {}
        return cls.manager

    # What the host calls its hooks with.

    @classmethod
    def tool_called(
        cls, session: str, name: str, args: "Dict[str, Any]", result: Any, *, number: str = "", turn: str = "",
        status: "Optional[str]" = None, error_type: "Optional[str]" = None,
    ) -> Any:
        """A tool ran; returns the result that the model gets to see."""
        if status is None:
            status = "error" if isinstance(result, str) and '"error"' in result else "ok"
            error_type = "tool_error" if status == "error" else None
        words: "Dict[str, Any]" = {
            "tool_name": name, "args": args, "result": result, "task_id": "task", "session_id": session,
            "tool_call_id": number, "turn_id": turn, "api_request_id": "", "duration_ms": 5, "status": status,
            "error_type": error_type, "error_message": None, "middleware_trace": [],
        }
        manager = cls.get_plugin_manager()
        manager.invoke_hook("post_tool_call", **words)
        for changed in manager.invoke_hook("transform_tool_result", **words):
            if isinstance(changed, str):
                return changed
        return result

    @classmethod
    def turn_finished(cls, session: str, user: str, assistant: str, history: "List[Dict[str, Any]]", turn: str = "") -> None:
        cls.get_plugin_manager().invoke_hook(
            "post_llm_call", session_id=session, task_id="task", turn_id=turn, user_message=user,
            assistant_response=assistant, conversation_history=list(history), model="m", platform="cli",
        )


def answer(text: "Optional[str]", **more: Any) -> Any:
    """Of a model, as its library has it."""
    message = types.SimpleNamespace(role="assistant", content=text, tool_calls=None)
    return types.SimpleNamespace(choices=[types.SimpleNamespace(index=0, message=message)], model="stand-in", usage=None, **more)


# ---- plugins.memory: the loader


class _Collector:
    """What register() gets: takes the provider, and hands every other registration on."""

    def __init__(self) -> None:
        self.provider: Any = None

    def register_memory_provider(self, provider: Any) -> None:
        self.provider = provider

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("register_"):
            raise AttributeError(name)
        return lambda *args, **words: None


_loading = threading.Lock()


def load_provider(folder: str) -> Any:
    """A new instance on every call; the module is cached, register() runs again."""
    with _loading:
        module = _loaded(folder)
    collector = _Collector()
    module.register(collector)
    return collector.provider


def _loaded(folder: str) -> Any:
    if NAMESPACE not in sys.modules:
        parent = types.ModuleType(NAMESPACE)
        parent.__path__ = []
        sys.modules[NAMESPACE] = parent
    digest = hashlib.sha256(os.path.realpath(folder).encode()).hexdigest()[:16]
    name = f"{NAMESPACE}.{os.path.basename(folder)}__source_{digest}"
    module = sys.modules.get(name)
    if module is None:
        module = _module(name, os.path.join(folder, "__init__.py"), [folder])
        for file in os.listdir(folder):  # its neighbours first, in no order, whatever they are
            stem, ending = os.path.splitext(file)
            if ending == ".py" and stem != "__init__" and f"{name}.{stem}" not in sys.modules:
                _execute(_module(f"{name}.{stem}", os.path.join(folder, file)))
        _execute(module)
    return module


def _module(name: str, path: str, locations: "Optional[List[str]]" = None) -> Any:
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=locations)
    assert spec is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    return sys.modules[name]


def _execute(module: Any) -> None:
    module.__spec__.loader.exec_module(module)


# ---- agent.memory_manager


class MemoryManager:
    """One external provider; prefetch in a thread that is abandoned after 8 s, and not asked again while it is stuck; one
    worker for syncs, in order."""

    def __init__(self, provider: Any) -> None:
        provider.get_tool_schemas()
        self.provider = provider
        self._prefetching: "Optional[threading.Thread]" = None
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

    def initialize_all(self, session_id: str, **kwargs: Any) -> None:
        self.provider.initialize(session_id=session_id, **kwargs)

    def prefetch_all(self, query: str, *, session_id: str = "") -> str:
        if self._prefetching is not None and self._prefetching.is_alive():
            return ""
        found: "List[str]" = []
        provider = self.provider
        self._prefetching = threading.Thread(
            target=bound(lambda: found.append(provider.prefetch(query, session_id=session_id) or "")), daemon=True
        )
        self._prefetching.start()
        self._prefetching.join(8.0)
        return found[0] if found else ""

    def describe_recall(self) -> str:
        status = self.provider.recall_status()
        if status is None:
            return ""
        return f"{status.glyph} {status.provider_label}: {status.count if status.count > 0 else 'relevant memory'}"

    def sync_all(self, user: str, assistant: str, *, session_id: str = "", messages: Any = None, author: Any = None) -> None:
        provider = self.provider
        known = inspect.signature(provider.sync_turn).parameters
        any_word = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values())
        words: "Dict[str, Any]" = {"session_id": session_id}
        for name, value in (("messages", messages), ("turn_author", author)):
            if value is not None and (any_word or name in known):
                words[name] = value
        self._work.put(bound(lambda: provider.sync_turn(user, assistant, **words)))

    def queue_prefetch_all(self, query: str, *, session_id: str = "") -> None:
        provider = self.provider
        self._work.put(bound(lambda: provider.queue_prefetch(query, session_id=session_id)))

    def on_turn_start(self, number: int, message: str, **kwargs: Any) -> None:
        self.provider.on_turn_start(number, message, **kwargs)

    def on_pre_compress(self, messages: "List[Dict[str, Any]]", *, require_checkpoint: bool = False) -> str:
        """The whole transcript for a provider that only does its best, prepared evidence for one that promises to store it."""
        version = int(self.provider.pre_compress_checkpoint_api_version)
        words: "Dict[str, Any]" = {}
        if version >= 2:
            messages = evidence_of(messages)
            known = inspect.signature(self.provider.on_pre_compress).parameters
            if "require_checkpoint" in known:
                words["require_checkpoint"] = require_checkpoint
        elif require_checkpoint:
            raise RuntimeError("no provider stores what is about to be compressed")
        try:
            return str(self.provider.on_pre_compress(messages, **words) or "")
        except Exception:
            if require_checkpoint:
                raise
            return ""

    def on_memory_write(self, action: str, target: str, content: str, metadata: "Dict[str, Any]") -> None:
        self.provider.on_memory_write(action, target, content, metadata=dict(metadata))

    def handle_tool_call(self, name: str, args: "Dict[str, Any]", **kwargs: Any) -> str:
        return str(self.provider.handle_tool_call(name, args, **kwargs))

    def settle(self, seconds: float = 20.0) -> bool:
        """Waits until the worker has done what it was given so far."""
        reached = threading.Event()
        self._work.put(reached.set)
        return reached.wait(seconds)

    def drain(self) -> None:
        self._work.put(None)
        self._worker.join(5.0)

    def shutdown_all(self) -> None:
        self.drain()
        self.provider.shutdown()


def evidence_of(messages: "List[Dict[str, Any]]") -> "List[Dict[str, Any]]":
    """What people and the assistant said themselves: no tools, no system, no summaries."""
    return [
        {"role": one["role"], "content": one["content"]} for one in messages
        if one.get("role") in ("user", "assistant") and one.get("content") and not one.get("_compressed_summary")
    ]


class Agent:
    """One conversation. `turn` is what a user sees; the reviewer behind it is another agent, forgotten when it is done."""

    def __init__(self, folder: str, home: str, session: str, context: str = "primary", **words: Any) -> None:
        self.folder, self.home, self.session = folder, home, session
        self.provider = load_provider(folder)
        self.manager = MemoryManager(self.provider)
        self.said: "List[str]" = []
        self.manager.initialize_all(
            session, hermes_home=home, platform="cli", agent_context=context, warning_callback=self._say,
            status_callback=self._say, agent_identity="default", agent_workspace="hermes", **words,
        )
        self.turns = 0

    def _say(self, line: str) -> None:
        self.said.append(line)

    def turn(self, user: str, assistant: str, review: bool = True, tools: "Optional[List[str]]" = None) -> str:
        self.turns += 1
        turn = f"{self.session}:{self.turns}"
        self.manager.on_turn_start(self.turns, user, author_id=None, author_name=None, author_is_bot=False)
        recalled = self.manager.prefetch_all(user, session_id=self.session)
        if recalled and self.manager.describe_recall():
            self._say(self.manager.describe_recall())
        history: "List[Dict[str, Any]]" = [{"role": "user", "content": user}]
        for number, tool in enumerate(tools or []):
            result = Host.tool_called(self.session, tool, {}, '{"ok": true}', number=f"{turn}-{number}", turn=turn)
            call = {"id": f"{turn}-{number}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
            history.append({"role": "assistant", "content": None, "tool_calls": [call]})
            history.append({"role": "tool", "tool_call_id": f"{turn}-{number}", "content": result})
        history.append({"role": "assistant", "content": assistant})
        Host.turn_finished(self.session, user, assistant, history, turn)
        self.manager.sync_all(user, assistant, session_id=self.session, messages=history, author={"id": None})
        self.manager.queue_prefetch_all(user, session_id=self.session)
        if review:
            thread = threading.Thread(target=bound(review_fork), args=(self.folder, self.home, self.session), daemon=True)
            thread.start()
            thread.join()
        return recalled

    def forget(self) -> None:
        """As the host drops it: no shutdown."""
        self.manager.drain()


def recall_when_open(provider: Any, query: str, session_id: str = "", within: float = 300.0) -> str:
    """What a user gets who asks again while the status says that the memory is still opening."""
    end = time.monotonic() + within
    while True:
        text = str(provider.prefetch(query, session_id=session_id))
        status = provider.recall_status()
        if text or status is None or status.count or time.monotonic() > end:
            return text
        time.sleep(0.01)


REVIEW = "Review the conversation above and consider saving to memory"


def review_fork(folder: str, home: str, session: str, context: str = "flush") -> None:
    """Works under the session of the agent that it reviews, in a turn of its own, and uses tools there."""
    provider = load_provider(folder)
    provider.initialize(session, hermes_home=home, platform="cli", agent_context=context)
    provider.prefetch(REVIEW, session_id=session)
    Host.tool_called(session, "reviewers_tool", {}, json.dumps({"success": True}), number="r", turn=f"{session}:review")
    provider.sync_turn(REVIEW, "nothing", session_id=session)

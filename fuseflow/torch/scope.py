"""Which part of a model an operation belongs to: its modules, and regions that it marks itself."""

import inspect
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from fuseflow.torch.untyped import traceback

_KEY = "fuseflow.scope"


@contextmanager
def region(name: str) -> Generator[None]:
    """Mark what is computed inside as one part of a model, which becomes one graph.

    Used in `forward`; it has no effect but in an export. Inside a module, or another region, the
    region is a part of that: its name follows theirs, behind a point.

    Parameters
    ----------
    name : str
    """
    around = cast(dict[str, Any], traceback.current_meta.get("custom", {})).get(_KEY, "")
    with traceback.annotate({_KEY: f"{around}.{name}" if around else name}):
        yield


@contextmanager
def modules(model: torch.nn.Module) -> Generator[None]:
    """Let every module of a model mark what its calls compute, by its path in the model."""
    running: list[ExitStack] = []

    def entering(path: str) -> Callable[..., None]:
        def enter(*_: Any) -> None:
            running.append(ExitStack())
            running[-1].enter_context(traceback.annotate({_KEY: path}))

        return enter

    def leave(*_: Any) -> None:
        running.pop().close()

    with ExitStack() as hooks:
        for path, module in cast(Iterable[tuple[str, Any]], model.named_modules()):
            if path:
                hooks.callback(module.register_forward_pre_hook(entering(path)).remove)
                hooks.callback(module.register_forward_hook(leave, always_call=True).remove)
        yield


def scope_of(node: Node) -> str:
    """Return the scope of a node, such as ``layers.0.attention``; empty where it has none."""
    return cast(dict[str, Any], node.meta.get("custom", {})).get(_KEY, "")


def with_saved_scopes(model: GraphModule) -> Callable[..., Any]:
    """Return the forward function of a saved program that marks what its modules compute.

    Its nodes have the paths of their modules, which its code would leave out.
    """
    for node in model.graph.nodes:
        stack = cast(dict[str, tuple[str, object]], node.meta.get("nn_module_stack") or {})
        *_, (path, _) = ("", None), *stack.values()
        node.meta["custom"] = {_KEY: ".".join(filter(None, (path, scope_of(node))))}

    def forward(*args: Any, **kwargs: Any) -> Any:
        flat, _ = pytree.tree_flatten((args, kwargs))
        results = Interpreter(model).run(*flat, enable_io_processing=False)
        return pytree.tree_unflatten(results, cast(Any, model.graph)._codegen.pytree_info.out_spec)

    cast(Any, forward).__signature__ = inspect.signature(model.forward)
    return forward

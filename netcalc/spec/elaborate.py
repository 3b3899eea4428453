"""From a loaded spec to a program: lines become nodes, blocks become bodies, every value gets its type.

A block is elaborated once for each distinct (block, arguments, input types), like a jit cache.  After an error a line's
outputs have no type, what depends on them is passed over, and the walk goes on, so that one run reports every
independent error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import ValidationError

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, Related, RuleError, did_you_mean
from netcalc.dims import Poly, UndecidedError, assumptions
from netcalc.ir import Body, CallNode, CheckpointSource, InputSpec, OpNode, Program, TensorType, Value, join
from netcalc.opdef import Context, Operation, as_tuple, ports
from netcalc.spec.arguments import bind_arguments, frozen
from netcalc.spec.document import CheckpointDecl, InputDecl, diagnose
from netcalc.spec.evaluate import evaluate, evaluate_expression
from netcalc.spec.inputs import resolve_inputs, resolve_value
from netcalc.spec.library import Block, Loaded, find_block, shipped_blocks
from netcalc.spec.lines import Line, read_line
from netcalc.spec.repeats import elaborate_repeat
from netcalc.spec.settings import Settings, resolve_settings
from netcalc.spec.source import Cursor
from netcalc.spec.ties import tie_call, tie_operation
from netcalc.spec.wiring import BodyBuilder, Frame, Named, Poisoned, Scope

__all__ = ["elaborate"]

MAX_BLOCK_DEPTH = 64

_T = TypeVar("_T")


def elaborate(
    loaded: Loaded,
    settings: Mapping[str, Any] | None = None,
    *,
    symbolic: Collection[str] = (),
    training: bool = False,
) -> Program:
    """The program of a spec at the given dims and vars; NetcalcError with everything that is wrong.

    ``symbolic`` names dims that stay symbols; ``training`` elaborates the training mode of each operation.
    """
    return Elaborator(loaded, resolve_settings(loaded, settings or {}, symbolic), training).program()


class Elaborator:
    """One elaboration: the diagnostics found so far, the bodies made so far, and where the walk is."""

    def __init__(self, loaded: Loaded, settings: Settings, training: bool) -> None:
        self.loaded = loaded
        self.settings = settings
        self.ctx = Context(training=training, dtype=loaded.document.dtype)
        self.problems: list[Diagnostic] = []
        self.memo: dict[Any, Body] = {}
        self.chain: list[Related] = []
        self.home = loaded
        self.freeze = False
        self.main = BodyBuilder(loaded.document.name or "main")

    # -- the whole ----------------------------------------------------------------------------------

    def program(self) -> Program:
        document, cursor = self.loaded.document, self.loaded.cursor
        with assumptions() as assumed:
            frame = Frame(self.main)
            specs = list(self.program_inputs(frame))
            self.main.inputs = [frame.names[spec.name].first for spec in specs]
            if not document.layers:
                raise NetcalcError(Diagnostic("E105", "the spec has no layers", cursor.span))
            current = self.main.inputs[0] if self.main.inputs else None
            if current is not None:
                frame.names["in"] = Named.single(current, current.span)
            current = self.lines(cursor["layers"], frame, current)
            outputs = self.program_outputs(frame, current)
            checkpoint = dict(self.checkpoint(document.checkpoint, cursor))
        if self.problems:
            raise NetcalcError(self.problems)
        values = tuple(outputs.values())
        main = Body(document.name or "main", tuple(self.main.inputs), tuple(self.main.nodes), values, checkpoint)
        return Program(
            name=document.name or self.loaded.label,
            main=main,
            inputs=tuple(specs),
            output_names=tuple(outputs),
            training=self.ctx.training,
            dtype=document.dtype,
            init=tuple(document.init.items()),
            about=document.about,
            source=document.source,
            dims={name: self.settings[name] for name in self.settings.dims},
            vars={name: self.settings[name] for name in self.settings.vars},
            assumptions=tuple(assumed),
        )

    def program_inputs(self, frame: Frame) -> Iterator[InputSpec]:
        document, cursor = self.loaded.document, self.loaded.cursor
        for name, declared in document.inputs.items():
            here = cursor["inputs"][name]
            decl = declared if isinstance(declared, InputDecl) else InputDecl(shape=declared)
            if decl.when is not None and not self.guarded(evaluate_expression, here["when"], self.settings):
                frame.names[name] = Named.single(None, here.key_span)
                continue
            sizes = here["shape"] if isinstance(here.data, dict) else here
            spec = self.guarded(self.input_spec, name, decl, here, sizes)
            value = Value(spec.type if spec else None, name, here.key_span)
            frame.names[name] = Named.single(value, here.key_span)
            yield spec or InputSpec(name, TensorType(()))

    def input_spec(self, name: str, decl: InputDecl, here: Cursor, sizes: Cursor) -> InputSpec:
        shape = tuple(_size(evaluate_expression(size, self.settings, self.settings), size) for size in sizes.elements())
        low = high = None
        if decl.range is not None:
            low, high = (_number(evaluate_expression(end, self.settings), end) for end in here["range"].elements())
            if not low < high:
                raise NetcalcError(Diagnostic("E104", f"range [{low}, {high}) holds no value", here["range"].span))
        default = None if decl.default is None else float(decl.default)
        return InputSpec(name, TensorType(shape, decl.dtype or self.loaded.document.dtype), low, high, default)

    def program_outputs(self, frame: Frame, current: Value | None) -> dict[str, Value]:
        declared = self.loaded.document.outputs
        if declared is None:
            return {} if current is None else {"output": current}
        cursor = self.loaded.cursor["outputs"]
        pairs = (
            [(name, cursor[name]) for name in declared]
            if isinstance(declared, dict)
            else [(str(item.data), item) for item in cursor.elements()]
        )
        outputs: dict[str, Value] = {}
        for name, here in pairs:
            value = self.guarded(resolve_value, str(here.data), here, frame, current)
            if value is not None:
                outputs[name] = value
        return outputs

    def checkpoint(
        self, declared: Mapping[str, CheckpointDecl | str], cursor: Cursor
    ) -> Iterator[tuple[str, CheckpointSource]]:
        for path, decl in declared.items():
            if isinstance(decl, str):
                yield path, CheckpointSource(decl)
                continue
            index, count = decl.chunk
            if not 0 <= index < count:
                where = cursor["checkpoint"][path].at(("chunk",)).span
                self.problems.append(Diagnostic("E104", f"chunk [{index}, {count}] is not one of {count}", where))
                continue
            yield path, CheckpointSource(decl.name, index, count, decl.axis, decl.transpose)

    # -- errors -------------------------------------------------------------------------------------

    def report(self, error: NetcalcError, bindings: Mapping[str, str]) -> None:
        chain = tuple(self.chain)
        self.problems += (
            replace(d, chain=d.chain or chain, bindings=d.bindings or bindings) for d in error.diagnostics
        )

    def guarded(self, work: Callable[..., _T], *args: Any) -> _T | None:
        """The result of ``work``, or None with its error reported."""
        try:
            return work(*args)
        except NetcalcError as error:
            self.report(error, {})
        except Poisoned:
            pass
        return None

    @contextmanager
    def inside(self, text: str, cursor: Cursor, home: Loaded) -> Iterator[None]:
        """Errors inside carry ``text`` in their chain; blocks are looked up in ``home``."""
        outer, self.home = self.home, home
        self.chain.append(Related(text, cursor.key_span))
        try:
            yield
        finally:
            self.chain.pop()
            self.home = outer

    # -- lines --------------------------------------------------------------------------------------

    def lines(self, cursor: Cursor, frame: Frame, current: Value | None) -> Value | None:
        """Elaborates a list of lines, each fed by the one before; returns the last value."""
        for item in cursor.elements():
            if isinstance(item.data, dict) and isinstance(item.data.get("name"), str):
                frame.later.setdefault(item.data["name"], item["name"].span)
        for item in cursor.elements():
            try:
                current = self.line(item, frame, current)
            except NetcalcError as error:
                self.report(error, _bindings(frame))
                current = self.poison(item, frame)
            except Poisoned:
                current = self.poison(item, frame)
        return current

    def poison(self, item: Cursor, frame: Frame) -> Value:
        value = Value(None, "an earlier error", item.span)
        name = item.data.get("name") if isinstance(item.data, dict) else None
        labels = item.data.get("as") if isinstance(item.data, dict) else None
        for label in [name, *(labels if isinstance(labels, list) else [labels])]:
            if isinstance(label, str):
                frame.names[label] = Named.single(value, item.span)
        return value

    def line(self, cursor: Cursor, frame: Frame, current: Value | None) -> Value | None:
        line = read_line(cursor, [*ops.names(), *self.home.blocks, *shipped_blocks(), "sequence"])
        if line.modifier("repeat") is not None:
            return elaborate_repeat(self, line, frame, current)
        if not self.holds(line, frame):
            self.define(line, frame, Named.single(current, cursor.span))
            return current
        return self.once(line, frame, current)

    def holds(self, line: Line, frame: Frame) -> bool:
        when = line.modifier("when")
        if when is None:
            return True
        result = evaluate_expression(when, *self.scope(frame))
        return result is not None and bool(result)

    def scope(self, frame: Frame) -> tuple[Scope, Scope]:
        """The scope twice over: to look names up in, and to suggest names from."""
        own = self.home is self.loaded
        scope = Scope(frame, self.settings if own else {})
        return scope, scope

    def given_name(self, line: Line, frame: Frame) -> str | None:
        cursor = line.modifier("name")
        if cursor is None:
            return None
        name = evaluate(cursor, *self.scope(frame))
        parts = str(name).split(".")
        if isinstance(name, bool) or not all(p.replace("_", "a").replace("-", "a").isalnum() for p in parts):
            raise NetcalcError(
                Diagnostic("E104", f"name: should be made of letters, digits, '_' and '.', not {name!r}", cursor.span)
            )
        return str(name)

    def target(self, line: Line, frame: Frame) -> str:
        if "${" not in line.target:
            return line.target
        holder = Cursor(line.target, line.cursor.path, line.cursor.spans)
        return str(evaluate(holder, *self.scope(frame)))

    @contextmanager
    def freezing(self, line: Line, frame: Frame) -> Iterator[None]:
        """Parameters made inside are frozen where the line or one around it says so."""
        freeze, outer = line.modifier("freeze"), self.freeze
        self.freeze = outer or (freeze is not None and bool(evaluate_expression(freeze, *self.scope(frame))))
        try:
            yield
        finally:
            self.freeze = outer

    def once(self, line: Line, frame: Frame, current: Value | None) -> Value | None:
        target = self.target(line, frame)
        with self.freezing(line, frame):
            if target == "sequence":
                return self.sequence(line, frame, current)
            declared = ops.find(target)
            if declared is not None:
                return self.operation(line, declared, frame, current)
            return self.call(line, self.block(target, line), frame, current)

    def block(self, target: str, line: Line) -> Block:
        block = find_block(target, self.home)
        if block is None:
            known = [*ops.names(), *self.home.blocks, *shipped_blocks(), "sequence"]
            span = (line.args or line.cursor).key_span
            raise NetcalcError(
                Diagnostic("E102", f"unknown operation or block {target!r}", span, hint=did_you_mean(target, known))
            )
        return block

    def define(self, line: Line, frame: Frame, named: Named) -> None:
        """Puts the line's name, and those of ``as``, in sight of the lines that follow."""
        name = self.given_name(line, frame)
        if name is not None:
            frame.names[name] = named
        labels = line.modifier("as")
        if labels is None:
            return
        words = [labels.data] if isinstance(labels.data, str) else labels.data
        if not isinstance(words, list) or len(words) > len(named.outputs):
            count = len(named.outputs)
            raise NetcalcError(Diagnostic("E303", f"as: should be at most {count} names, one an output", labels.span))
        for word, value in zip(words, named.outputs.values(), strict=False):
            frame.names[str(word)] = Named.single(value, labels.span)

    def claim(self, path: str, line: Line, frame: Frame) -> str:
        """Takes a path in the body; two lines may not have the same."""
        taken = frame.builder.paths
        if path in taken:
            first = taken[path]
            related = (Related(f"{path!r} is first used here", first),) if first else ()
            span = (line.modifier("name") or line.cursor).span
            raise NetcalcError(Diagnostic("E106", f"the name {path!r} is used twice", span, related))
        taken[path] = line.cursor.span
        return path

    # -- sequences ----------------------------------------------------------------------------------

    def sequence(self, line: Line, frame: Frame, current: Value | None) -> Value | None:
        if line.args is None or not isinstance(line.args.data, list):
            raise NetcalcError(Diagnostic("E107", "sequence: should be a list of lines", line.cursor.span))
        source = line.modifier("from")
        if source is not None:
            current = resolve_value(str(source.data), source, frame, current)
        name = self.given_name(line, frame)
        if name is None:  # an unnamed sequence stands in its parent's place
            result = self.lines(line.args, frame, current)
            self.define(line, frame, Named.single(result, line.cursor.span))
            return result
        path = self.claim(join(frame.prefix, name), line, frame)
        inner = Frame(frame.builder, path, numbered=True, parent=frame)
        result = self.lines(line.args, inner, current)
        self.define(line, frame, Named.single(result, line.cursor.span))
        for local, named in inner.names.items():
            frame.names[f"{name}.{local}"] = named
        return result

    # -- operations ---------------------------------------------------------------------------------

    def operation(
        self, line: Line, declared: type[Operation], frame: Frame, current: Value | None, path: str | None = None
    ) -> Value | None:
        attributes, branches = self.split_arguments(line, declared)
        values = self.branch_values(branches, line, frame, current)
        inputs = resolve_inputs(line, declared.inputs, frame, current, values, declared.name)
        attrs = {k: evaluate(v, *self.scope(frame)) for k, v in attributes.items()}
        op = self.instantiate(declared, attrs, line)
        name = self.given_name(line, frame)
        if path is None or branches:
            numbered = frame.numbered and not branches and path is None
            path = frame.take_name(name, declared.name) if numbered or name else None
            path = path or frame.builder.unique(join(frame.prefix, declared.name))
        self.claim(path, line, frame)
        outputs, params = self.infer(op, inputs, path, line)
        node = OpNode(path, op, tuple(inputs), outputs, params, {}, self.freeze, (line.args or line.cursor).key_span)
        node.ties = tie_operation(node, line, frame, self.main)
        frame.builder.nodes.append(node)
        names = [port.name for port in declared.outputs][: len(outputs)]
        if declared.outputs[0].variadic:
            names = [str(i) for i in range(len(outputs))]
        self.define(line, frame, Named(dict(zip(names, outputs, strict=True)), line.cursor.span))
        return outputs[0]

    def split_arguments(self, line: Line, declared: type[Operation]) -> tuple[dict[str, Cursor], dict[str, Cursor]]:
        """(attributes, branches): a list of lines under a key that is no attribute is a branch."""
        if line.args is None:
            return {}, {}
        data = line.args.data
        if isinstance(data, dict):
            fields = declared.model_fields
            branches = {
                k: v
                for k, v in line.args.items()
                if k not in fields and isinstance(v.data, list) and all(isinstance(i, (str, dict)) for i in v.data)
            }
            return {k: v for k, v in line.args.items() if k not in branches}, branches
        variadic = bool(declared.inputs) and declared.inputs[0].variadic
        if variadic and isinstance(data, list) and data and all(isinstance(item, list) for item in data):
            return {}, {str(i): branch for i, branch in enumerate(line.args.elements())}
        if declared.shorthand is None:
            raise NetcalcError(
                Diagnostic(
                    "E107",
                    f"{declared.name} takes its attributes as a mapping",
                    line.args.span,
                    hint=f"write `{declared.name}: {{attribute: value}}`",
                )
            )
        return {declared.shorthand: line.args}, {}

    def branch_values(
        self, branches: Mapping[str, Cursor], line: Line, frame: Frame, current: Value | None
    ) -> dict[str, Value | None]:
        """The value of each branch; every branch starts from the join's input."""
        if not branches:
            return {}
        source = line.modifier("from")
        if source is not None and isinstance(source.data, str):
            current = resolve_value(source.data, source, frame, current)
        values: dict[str, Value | None] = {}
        for label, cursor in branches.items():
            values[label] = self.lines(cursor, frame, current)
            if values[label] is None:
                raise NetcalcError(Diagnostic("E303", f"the branch {label!r} has no input and no lines", cursor.span))
        return values

    def instantiate(self, declared: type[Operation], attrs: Mapping[str, Any], line: Line) -> Operation:
        try:
            return declared.model_validate(attrs)
        except ValidationError as error:
            at = line.args if line.args is not None else line.cursor
            if declared.shorthand and line.args is not None and not isinstance(line.args.data, dict):
                at = Cursor({declared.shorthand: at.data}, at.path, at.spans)
            found = diagnose(error, at, declared, what=f"{declared.name} attribute")
            raise NetcalcError(found) from None

    def infer(
        self, op: Operation, inputs: list[Value | None], path: str, line: Line
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        span = (line.args or line.cursor).key_span
        if any(value is not None and value.type is None for value in inputs):
            raise Poisoned
        types = [None if value is None else value.type for value in inputs]
        try:
            results = as_tuple(op.infer(self.ctx, *types))
            params = tuple(op.params(self.ctx, *types))
        except RuleError as error:
            raise NetcalcError(self.misfit(error, op, inputs, span)) from None
        except UndecidedError as error:
            hint = "give the size a value with --set, or a default in dims"
            raise NetcalcError(Diagnostic("E404", f"{op.name}: {error}", span, hint=hint)) from None
        names = [path or op.name] if len(results) == 1 else [f"{path}.{i}" for i in range(len(results))]
        return tuple(Value(t, n, span) for t, n in zip(results, names, strict=True)), params

    def misfit(self, error: RuleError, op: Operation, inputs: list[Value | None], span: Any) -> Diagnostic:
        labels = [port.name for port in op.inputs]
        if len(labels) < len(inputs):
            labels = labels[:-1] + [f"{labels[-1]}[{i}]" for i in range(len(inputs) - len(labels) + 1)]
        present = [(label, v, v.type) for label, v in zip(labels, inputs, strict=False) if v is not None and v.type]
        width = max((len(label) for label, _, _ in present), default=0)
        shown = _aligned([kind for _, _, kind in present])
        related = tuple(
            Related(f"{label:<{width}}  {shape} {kind.dtype}, from {value.name}", value.span)
            for (label, value, kind), shape in zip(present, shown, strict=True)
        )
        return Diagnostic(error.code, error.message, span, related, hint=error.hint or self.working_fix(error, inputs))

    def working_fix(self, error: RuleError, inputs: list[Value | None]) -> str | None:
        """The first remedy that works, tried on the shape rule itself."""
        for fix in error.fixes:
            declared, value = ops.find(fix.op), inputs[fix.port]
            if declared is None or value is None or value.type is None:
                continue
            try:
                results = as_tuple(declared.model_validate(fix.attrs).infer(self.ctx, value.type))
            except (RuleError, ValidationError, UndecidedError):
                continue
            if results[0].shape == fix.shape:
                return fix.hint
        return None

    # -- blocks -------------------------------------------------------------------------------------

    def call(self, line: Line, block: Block, frame: Frame, current: Value | None) -> Value | None:
        body, inputs = self.prepare_call(line, block, frame, current)
        path = self.claim(frame.take_name(self.given_name(line, frame), block.name), line, frame)
        node = self.emit_call(line, frame, path, body, inputs)
        self.define(line, frame, self.call_outputs(block, node))
        return node.outputs[0]

    def prepare_call(
        self, line: Line, block: Block, frame: Frame, current: Value | None, carried: Sequence[Value] = ()
    ) -> tuple[Body, list[Value | None]]:
        """The body of a call and its inputs; ``carried`` values take the first inputs' places."""
        scope, known = self.scope(frame)
        args = bind_arguments(block, line, scope, known)
        inputs = resolve_inputs(line, ports(*block.decl.inputs), frame, current, {}, block.name)
        inputs[: len(carried)] = carried
        if any(value is not None and value.type is None for value in inputs):
            raise Poisoned
        return self.body(block, args, inputs, line), inputs

    def emit_call(
        self, line: Line, frame: Frame, path: str, body: Body, inputs: list[Value | None], start: int | None = None
    ) -> CallNode:
        span = (line.args or line.cursor).key_span
        outputs = tuple(Value(value.type, path, span) for value in body.outputs)
        if not outputs or outputs[0].type is None:
            raise Poisoned
        node = CallNode(path, body, tuple(inputs), outputs, 1, start, None, span)
        node.shares = tie_call(node, line, frame, self.main)
        frame.builder.nodes.append(node)
        return node

    def call_outputs(self, block: Block, node: CallNode) -> Named:
        names = block.decl.outputs or ["output"]
        return Named(dict(zip([n.split(".")[-1] for n in names], node.outputs, strict=False)), node.span)

    def body(self, block: Block, args: Mapping[str, Any], inputs: list[Value | None], line: Line) -> Body:
        types = tuple(None if value is None else value.type for value in inputs)
        key = (id(block), frozen(args), types, self.freeze)
        if key in self.memo:
            return self.memo[key]
        if len(self.chain) >= MAX_BLOCK_DEPTH:
            names = " → ".join(r.text for r in self.chain[-3:])
            raise NetcalcError(
                Diagnostic(
                    "E204",
                    f"blocks are nested over {MAX_BLOCK_DEPTH} deep: … {names}",
                    line.cursor.span,
                    hint=f"{block.name!r} calls itself without end",
                )
            )
        builder = BodyBuilder(block.name)
        frame = Frame(builder, variables=dict(args))
        for name, outer in zip(block.decl.inputs, inputs, strict=True):
            label = name.rstrip("?")
            inner = None if outer is None else Value(outer.type, label, outer.span)
            builder.inputs.append(inner)
            frame.names[label] = Named.single(inner)
        frame.names["in"] = Named.single(builder.inputs[0])
        with self.inside(f"in block {block.name!r}, called here", line.args or line.cursor, block.home):
            self.memo[key] = self.finish(block, builder, frame)
        return self.memo[key]

    def finish(self, block: Block, builder: BodyBuilder, frame: Frame) -> Body:
        current = self.lines(block.cursor["layers"], frame, builder.inputs[0])
        outputs: list[Value] = []
        if block.decl.outputs is None:
            outputs = [] if current is None else [current]
        else:
            for here in block.cursor["outputs"].elements():
                value = self.guarded(resolve_value, str(here.data), here, frame, current)
                outputs.append(value or Value(None, str(here.data)))
        checkpoint = dict(self.checkpoint(block.decl.checkpoint, block.cursor))
        return Body(block.name, tuple(builder.inputs), tuple(builder.nodes), tuple(outputs), checkpoint)


def _aligned(types: Sequence[TensorType]) -> list[str]:
    """The shapes with their sizes axis under axis, counted from the last."""
    rank = max((t.rank for t in types), default=0)
    rows = [[""] * (rank - t.rank) + [str(size) for size in t.shape] for t in types]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [size.rjust(width) for size, width in zip(row, widths, strict=True)]
        lines.append(
            "".join(("×" if i and row[i - 1] else " " if i else "") + c for i, c in enumerate(cells)) or "scalar"
        )
    return lines


def _bindings(frame: Frame) -> dict[str, str]:
    """The arguments and loop variables in force, as text, innermost first."""
    found: dict[str, str] = {}
    here: Frame | None = frame
    while here is not None:
        for name, value in here.variables.items():
            found.setdefault(name, str(value).lower() if isinstance(value, bool) else str(value))
        here = here.parent or here.builder.outer
    return found


def _size(value: Any, cursor: Cursor) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, Poly)) or (isinstance(value, int) and value < 1):
        raise NetcalcError(
            Diagnostic("E104", f"a size should be a whole number of at least 1, not {value!r}", cursor.span)
        )
    return value


def _number(value: Any, cursor: Cursor) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NetcalcError(Diagnostic("E104", f"should be a number, not {value!r}", cursor.span))
    return value

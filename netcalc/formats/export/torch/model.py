"""Files of PyTorch code."""

from __future__ import annotations

from netcalc.analysis.exported import Exported
from netcalc.analysis.walk import parameters
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import product
from netcalc.files import write_files
from netcalc.formats.export.job import Job
from netcalc.formats.export.torch.export import torch_code
from netcalc.formats.export.torch.layout import require_formatter


def write(job: Job) -> Exported:
    """Write a network to a .py file, and return what was written.

    Raises:
        NetcalcError: E010 with all operations that cannot be expressed; E502 for weights, which code does not have,
            without the extra ``code``, and for a file that cannot be written.
    """
    if job.weights is not None:
        hint = "the module loads a state dict whose keys are the paths of the spec"
        raise NetcalcError(Diagnostic("E502", "--weights: a .py file holds no weights", hint=hint))
    require_formatter()
    text = torch_code(job.request).encode()
    write_files([(job.path, [text])])
    program = job.request.executed.program
    own = (found.param for found in parameters(program) if not found.tied and not found.param.is_buffer)
    params = sum(int(product(param.shape)) for param in own)
    return Exported(job.program.name, job.path, "pytorch", len(text), params)

"""Memory of activations during a forward pass: its peak by liveness, the tensors live there, and its course.

There are two kinds of execution.  ``ideal`` needs no work buffers and releases a tensor after its last use.  ``eager``
is the execution by PyTorch in eager mode: operations allocate what PyTorch's kernels return, and calling code keeps its
arguments.
"""

from netcalc.analysis.activations.peaks import EXECUTIONS, activations
from netcalc.analysis.activations.records import Activations, LiveTensor, Point, Step

__all__ = ["EXECUTIONS", "Activations", "LiveTensor", "Point", "Step", "activations"]

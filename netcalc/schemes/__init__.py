"""Schemes in which parameters are stored: one description for their bytes, codecs, checkpoints and configurations.

A scheme, or a family of schemes of one library, is a file of ``netcalc/data/schemes`` with some of these keys::

    schemes: {NAME: SCHEME}              # see :mod:`netcalc.schemes.scheme`
    blocks: {NAME: BLOCK}                # types of blocks of ggml, see there too
    configuration: …                     # how a configuration names them, see :mod:`netcalc.schemes.methods`
    checkpoint: …                        # tensors of their checkpoints, see there too
    indices: {NAME: {about, source, tensors}}  # of the elements that pruning keeps
    kinds: {KIND: [OPERATION]}           # operations by the kind of their parameters
    source: text                         # of blocks

Analyses of sizes, readers of checkpoints, importers of configurations and codecs read the same description.
"""

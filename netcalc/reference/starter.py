"""Example spec written by ``netcalc init``."""

STARTER = """\
# A network for netcalc.  Try:
#   netcalc summary net.yaml
#   netcalc explain net.yaml classifier
#   netcalc run net.yaml --set batch=4
netcalc: 1
name: my_net
about: A small image classifier

# sizes, which may stay symbolic (--symbolic batch); change them with --set batch=8
dims: {batch: 1, height: 32, width: 32}

# hyperparameters; change them with --set classes=100
vars:
  classes: 10
  channels: [32, 64, 128]

inputs:
  image: [batch, 3, height, width]

# a block is a group of lines with arguments; ${...} holds an expression
blocks:
  stage:
    args: {channels: int}
    layers:
      - {name: conv, conv2d: {out: "${channels}", kernel: 3, padding: 1, bias: false}}
      - {name: norm, batch_norm: {}}
      - relu
      - max_pool2d: {kernel: 2}

# one operation or block in each line, applied to the output of the line before
layers:
  - {name: stages, repeat: {each: "${channels}", as: width}, stage: {channels: "${width}"}}
  - global_avg_pool2d
  - flatten
  - dropout: 0.1
  - {name: classifier, linear: "${classes}"}

# `netcalc ops` lists the operations, `netcalc specs` the shipped networks
"""

// Titles and units of the figures of records.
import { bytes, elements, short } from './numbers.js'

export const FIGURES = {
  params: 'Parameters',
  params_trainable: 'Trainable parameters',
  params_active: 'Active parameters',
  params_frozen: 'Frozen parameters',
  buffers: 'Buffers',
  weight_bytes: 'Bytes of parameters',
  macs: 'MACs',
  macs_backward: 'MACs, backward',
  macs_total: 'MACs, in all',
  flops: 'FLOPs',
  flops_backward: 'FLOPs, backward',
  flops_recomputed: 'FLOPs, computed again',
  flops_update: 'FLOPs, update',
  flops_total: 'FLOPs, in all',
}

export const titleOf = (name) => FIGURES[name] ?? name.replaceAll('_', ' ')

/** A figure in few digits. */
export function figureText(name, value) {
  return name.endsWith('_bytes') ? bytes(value) : name.startsWith('params') || name === 'buffers' ? elements(value) : short(value)
}

/** Sections of a working that are about a figure, in order of preference. */
export const SECTIONS = {
  params: ['parameters'],
  params_trainable: ['parameters'],
  params_active: ['parameters'],
  weight_bytes: ['parameters'],
  buffers: ['buffers'],
  macs: ['counted', 'MACs', 'work'],
  flops: ['counted', 'FLOPs', 'work'],
  macs_backward: ['backward MACs', 'backward counted', 'backward pass'],
  macs_total: ['total MACs', 'backward counted'],
  flops_backward: ['backward FLOPs', 'backward counted', 'backward pass'],
  flops_update: ['update FLOPs', 'update'],
  flops_total: ['total FLOPs', 'update', 'backward counted'],
  outputs: ['shape', 'height', 'width'],
}

/** Fields of a layer in a record that are no figures. */
const OTHERS = new Set(['path', 'op', 'inputs', 'outputs', 'repeat', 'instances', 'receptive_field', 'calls'])

export const figuresOf = (layers) => [...new Set(layers.flatMap(Object.keys))].filter((name) => !OTHERS.has(name))

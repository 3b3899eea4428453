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

/** Fields of a layer in a record that are no figures. */
const OTHERS = new Set(['path', 'op', 'inputs', 'outputs', 'repeat', 'instances', 'receptive_field', 'calls'])

export const figuresOf = (layers) => [...new Set(layers.flatMap(Object.keys))].filter((name) => !OTHERS.has(name))

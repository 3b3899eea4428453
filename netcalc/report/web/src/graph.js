// The interface of the built file, which is the global `netcalcGraph`.
import './engine.js'
export { closed, collapse, deeper } from './collapse.js'
export { draw, style } from './draw.js'
export { layout } from './layout.js'

export type { Schema } from './json-schema';
export { Field, type Fields, Misfit, objectSchema, optional } from './field';
export { cursorText, type Direction, readCursor } from './cursor';
export {
  cursor,
  day,
  dayOrInstant,
  isDay,
  isPlainLine,
  line,
  matching,
  oneNumberOf,
  oneOf,
  rowId,
  rowIds,
  uuid,
  whole,
  zone,
} from './kinds';
export { instantIn, moment, momentIn } from './instant';
export {
  type BodyOf,
  type Defined,
  defineFields,
  type Definition,
  type FieldEntry,
  type Properties,
  type ValuesOf,
} from './definition';
export { kept } from './natures';
export type { ColumnShape, FileValue } from './property';
export {
  decimal,
  dollars,
  dollarText,
  filled,
  lines,
  listOf,
  truth,
  typedDollars,
  wordsOf,
} from './kinds-of-bodies';

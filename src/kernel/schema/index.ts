export type { Schema } from './json-schema';
export { Field, type Fields, type Kind, Misfit, objectSchema, optional, schemasOf } from './field';
export { cursorText, type CursorText, type Direction, readCursor } from './cursor';
export {
  cursor,
  day,
  dayOrInstant,
  isDay,
  LARGEST_ROW_ID,
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

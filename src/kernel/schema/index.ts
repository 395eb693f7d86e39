export type { JsonSchema } from './json-schema';
export { InputField, type InputFields, FieldError, objectSchema, optional } from './field';
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
  integer,
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
export { propertyOf } from './property-kinds';
export type { ColumnShape, FileValue } from './property';
export {
  decimal,
  dollars,
  dollarText,
  flag,
  nonEmptyLine,
  multilineText,
  listOf,
  trueOrFalse,
  typedDollars,
  wordsOf,
} from './body-kinds';

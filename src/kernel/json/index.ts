export { editedJsonObject, editJson, editJsonInParts, type JsonEdits } from './edit-json';
export { findMembers, findSoleMember, type ValueRange } from './find-members';
export { readJsonText, type VerbatimFields } from './json-reader';
export { JsonText, printJson } from './json-text';
export { hasEscapedName, hasJsonParseBug, parseJsonText } from './parse-json-text';
export { printJsonInSlices } from './print-in-slices';
export {
  isLong,
  type JsonFields,
  type ParsedJsonObject,
  parseJsonInSlices,
  printJsonObjectInSlices,
  printedJsonObject,
  readJsonObject,
  readVerbatim,
} from './read-json-object';
export { type JsonChange, spliceJson } from './splice-json';

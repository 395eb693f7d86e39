export { editedJsonObject, editJson, editJsonInPieces, type JsonEdits } from './edit-json';
export { findMembers, findSoleMember, type ValuePlace } from './find-members';
export { readJsonText, type WrittenFields } from './json-reader';
export { JsonText, printJson } from './json-text';
export { hasEscapedName, isJsonParseFaulty, parseJsonText } from './parse-json-text';
export { printJsonInSlices } from './print-in-slices';
export {
  isLong,
  type JsonFields,
  type JsonObjectText,
  parseJsonInSlices,
  printedInSlices,
  printedJsonObject,
  readJsonObject,
  readWritten,
} from './read-json-object';
export { type JsonChange, spliceJson } from './splice-json';

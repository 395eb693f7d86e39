export { editedJsonObject, editJson, editJsonInPieces, type JsonEdits } from './edit-json';
export { findMembers, findSoleMember, type ValuePlace } from './find-members';
export { readJsonText } from './json-reader';
export { hasEscapedName, isJsonParseFaulty, parseJsonText } from './parse-json-text';
export {
  type JsonObjectText,
  parseJsonInSlices,
  printedJsonObject,
  readJsonObject,
} from './read-json-object';

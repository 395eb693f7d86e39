export { editJson, editJsonInPieces, type JsonEdits } from './edit-json';
export { findMembers, findSoleMember, type ValuePlace } from './find-members';
export { parseJson, parseJsonPolitely } from './parse-json';
export { hasEscapedName, isJsonParseFaulty, parseJsonText } from './parse-json-text';
export { readJsonText } from './json-reader';

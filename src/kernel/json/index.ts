export { editJson, editJsonInPieces, type JsonEdits } from './edit-json';
export { parseJson, parseJsonPolitely } from './parse-json';
export { hasEscapedName, isJsonParseFaulty, parseJsonText } from './parse-json-text';
export { readJsonText } from './json-reader';

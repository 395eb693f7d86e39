export { editJson, editJsonInPieces, type JsonEdits } from './edit-json';
export { parseJson, parseJsonPolitely } from './parse-json';

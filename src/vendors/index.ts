export { type ErrorMeaning, type ErrorWord, errorWords } from './error-words';
export { type ErrorEvidence, meaningOf } from './error-meaning';

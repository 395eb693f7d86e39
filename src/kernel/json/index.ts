export { parseJson, parseJsonPolitely } from './parse-json';

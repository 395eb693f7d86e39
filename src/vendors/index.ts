export { type ClientTool, clientTools } from './client-tools';
export { type ErrorMeaning, type ErrorWord, errorWords } from './error-words';
export { vendorRoutes } from './routes';
export { meaningOf } from './error-meaning';

import { type Dialect } from '../canonical';
import { checkGeminiResponse } from './check-response';
import { decodeGeminiResponse } from './decode-response';
import { encodeGeminiRequest } from './encode-request';
import { readGeminiError } from './errors';
import { GeminiStreamDecoder } from './stream-decoder';
import { geminiWrittenFields } from './written-fields';

/** The supplier-facing half of a dialect, for dialects that callers cannot use. */
export type SupplierDialect = Pick<
  Dialect,
  'written' | 'encodeRequest' | 'streamDecoder' | 'checkAnswer' | 'decodeAnswer' | 'readError'
>;

export const gemini: SupplierDialect = {
  written: geminiWrittenFields,
  encodeRequest: encodeGeminiRequest,
  streamDecoder: (options) => new GeminiStreamDecoder(options),
  checkAnswer: checkGeminiResponse,
  decodeAnswer: decodeGeminiResponse,
  readError: readGeminiError,
};

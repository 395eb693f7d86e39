import { type Dialect } from '../canonical';
import { checkGeminiAnswer } from './check-answer';
import { decodeGeminiAnswer } from './decode-answer';
import { encodeGeminiRequest } from './encode-request';
import { readGeminiError } from './errors';
import { GeminiStreamDecoder } from './stream-decoder';
import { writtenInGemini } from './written';

/** A dialect that suppliers speak; the half of it that faces them is all there is unless callers speak it too. */
export type SupplierSide = Pick<
  Dialect,
  'written' | 'encodeRequest' | 'streamDecoder' | 'checkAnswer' | 'decodeAnswer' | 'readError'
>;

export const gemini: SupplierSide = {
  written: writtenInGemini,
  encodeRequest: encodeGeminiRequest,
  streamDecoder: (options) => new GeminiStreamDecoder(options),
  checkAnswer: checkGeminiAnswer,
  decodeAnswer: decodeGeminiAnswer,
  readError: readGeminiError,
};

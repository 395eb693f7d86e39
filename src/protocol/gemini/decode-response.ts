import { type DecodedResponse, type ReplyContext } from '../canonical';
import { readResponse } from '../read-response';
import { checkGeminiResponse } from './check-response';
import { readGeminiError } from './errors';
import { GeminiReader } from './read-parts';

export const decodeGeminiResponse = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedResponse =>
  readResponse(
    body,
    reply,
    { readError: readGeminiError, checkAnswer: checkGeminiResponse },
    ({ body: chunk, emission, tally }) => {
      const reader = new GeminiReader(emission, tally);
      return reader.read(chunk) ?? reader.end();
    },
  );

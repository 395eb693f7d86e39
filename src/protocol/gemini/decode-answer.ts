import { type DecodedAnswer, type ReplyContext } from '../canonical';
import { readAnswer } from '../read-answer';
import { checkGeminiAnswer } from './check-answer';
import { readGeminiError } from './errors';
import { GeminiReader } from './read-parts';

/** A whole answer is read like a stream of one chunk. */
export const decodeGeminiAnswer = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedAnswer =>
  readAnswer(
    body,
    reply,
    { readError: readGeminiError, checkAnswer: checkGeminiAnswer },
    ({ body: chunk, emission, tally }) => {
      const reader = new GeminiReader(emission, tally);
      return reader.read(chunk) ?? reader.end();
    },
  );

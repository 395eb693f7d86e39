import { type Fault } from '../../kernel';
import { unusable } from '../answer-check';
import { type DecodedAnswer, type ReplyContext } from '../canonical';
import { type AnswerReading, readAnswer, textOf } from '../read-answer';
import { isRecord } from '../usage';
import { checkMessagesAnswer } from './check-answer';
import { readMessagesError } from './errors';
import { readFinish } from './finish';
import { BlockReader } from './read-blocks';
import { normaliseMessagesUsage } from './usage';

export const decodeMessagesAnswer = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedAnswer =>
  readAnswer(body, reply, { readError: readMessagesError, checkAnswer: checkMessagesAnswer }, read);

function read({ body, emission, tally }: AnswerReading): Fault | undefined {
  if (!Array.isArray(body.content)) return unusable('content');
  emission.start(textOf(body.id), textOf(body.model));
  const blocks = new BlockReader(emission, tally);
  for (const [index, block] of body.content.entries()) {
    if (!isRecord(block)) continue;
    blocks.start(index, block);
    blocks.stop(index);
  }
  emission.report(normaliseMessagesUsage(body.usage));
  const sequence = typeof body.stop_sequence === 'string' ? body.stop_sequence : undefined;
  emission.end(readFinish(typeof body.stop_reason === 'string' ? body.stop_reason : null), sequence);
  return undefined;
}

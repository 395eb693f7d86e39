import { type Fault } from '../../kernel';
import { missingContent } from '../response-check';
import { type DecodedResponse, type ReplyContext } from '../canonical';
import { type ResponseReading, readResponse, textOf } from '../read-response';
import { isRecord } from '../usage';
import { checkMessagesResponse } from './check-response';
import { readMessagesError } from './errors';
import { readFinish } from './finish';
import { BlockReader } from './read-blocks';
import { normaliseMessagesUsage } from './usage';

export const decodeMessagesResponse = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedResponse =>
  readResponse(body, reply, { readError: readMessagesError, checkAnswer: checkMessagesResponse }, read);

function read({ body, emission, tally }: ResponseReading): Fault | undefined {
  if (!Array.isArray(body.content)) return missingContent('content');
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

import { type Fault, fault } from '../../kernel';
import { type DecodedAnswer, type ReplyContext } from '../canonical';
import { type AnswerReading, readAnswer, textOf } from '../read-answer';
import { isRecord } from '../usage';
import { readResponsesError } from './errors';
import { readFinish } from './finish';
import { ItemReader } from './read-items';
import { normaliseResponsesUsage } from './usage';

export const decodeResponsesAnswer = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedAnswer =>
  readAnswer(body, reply, readResponsesError, read);

function read({ body, emission, tally }: AnswerReading): Fault | undefined {
  if (!Array.isArray(body.output)) return fault('empty_response');
  emission.start(textOf(body.id), textOf(body.model));
  const items = new ItemReader(emission, tally);
  for (const [index, item] of body.output.entries()) if (isRecord(item)) items.done(index, item);
  emission.report(normaliseResponsesUsage(body.usage));
  emission.end(readFinish(body));
  return undefined;
}

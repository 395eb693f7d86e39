import { type Fault } from '../../kernel';
import { unusable } from '../answer-check';
import { type DecodedAnswer, type ReplyContext } from '../canonical';
import { type AnswerReading, readAnswer, textOf } from '../read-answer';
import { isRecord } from '../usage';
import { checkResponsesAnswer } from './check-answer';
import { readResponsesError } from './errors';
import { readFinish } from './finish';
import { ItemReader } from './read-items';
import { findResponsesUsage, normaliseResponsesUsage } from './usage';

export const decodeResponsesAnswer = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedAnswer =>
  readAnswer(body, reply, { readError: readResponsesError, checkAnswer: checkResponsesAnswer }, read);

function read({ body, emission, tally }: AnswerReading): Fault | undefined {
  if (!Array.isArray(body.output)) return unusable('output');
  emission.start(textOf(body.id), textOf(body.model));
  const items = new ItemReader(emission, tally);
  for (const [index, item] of body.output.entries()) if (isRecord(item)) items.done(index, item);
  emission.report(normaliseResponsesUsage(findResponsesUsage(body)));
  emission.end(readFinish(body));
  return undefined;
}

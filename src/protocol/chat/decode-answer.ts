import { type Fault, fault } from '../../kernel';
import { unusable } from '../answer-check';
import { type DecodedAnswer, type ReplyContext } from '../canonical';
import { type AnswerReading, readAnswer, textOf } from '../read-answer';
import { isRecord } from '../usage';
import { checkChatAnswer } from './check-answer';
import { readChatError } from './errors';
import { isBrokenOff, readFinish } from './finish';
import { ChoiceReader } from './read-choice';
import { findChatUsage, normaliseChatUsage } from './usage';

export const decodeChatAnswer = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedAnswer =>
  readAnswer(body, reply, { readError: readChatError, checkAnswer: checkChatAnswer }, read);

function read({ body, emission, tally }: AnswerReading): Fault | undefined {
  const choice: unknown = Array.isArray(body.choices) ? body.choices[0] : undefined;
  if (!isRecord(choice) || !isRecord(choice.message)) return unusable('choices');
  emission.start(textOf(body.id), textOf(body.model));
  const wrong = new ChoiceReader(emission, tally).read(choice.message);
  if (wrong) return wrong;
  if (isBrokenOff(choice.finish_reason)) return fault('upstream_error');
  emission.report(normaliseChatUsage(findChatUsage(body)));
  emission.end(readFinish(typeof choice.finish_reason === 'string' ? choice.finish_reason : null));
  return undefined;
}

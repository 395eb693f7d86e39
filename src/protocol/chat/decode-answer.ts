import { type Fault, fault } from '../../kernel';
import { type DecodedAnswer, type ReplyContext } from '../canonical';
import { type AnswerReading, readAnswer, textOf } from '../read-answer';
import { isRecord } from '../usage';
import { readChatError } from './errors';
import { readFinish } from './finish';
import { ChoiceReader } from './read-choice';
import { findChatUsage, normaliseChatUsage } from './usage';

export const decodeChatAnswer = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedAnswer =>
  readAnswer(body, reply, readChatError, read);

function read({ body, emission, tally }: AnswerReading): Fault | undefined {
  const choice: unknown = Array.isArray(body.choices) ? body.choices[0] : undefined;
  if (!isRecord(choice) || !isRecord(choice.message)) return fault('empty_response');
  emission.start(textOf(body.id), textOf(body.model));
  const wrong = new ChoiceReader(emission, tally).read(choice.message);
  if (wrong) return wrong;
  emission.report(normaliseChatUsage(findChatUsage(body)));
  emission.end(readFinish(typeof choice.finish_reason === 'string' ? choice.finish_reason : null));
  return undefined;
}

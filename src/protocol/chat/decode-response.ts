import { type Fault, fault } from '../../kernel';
import { missingContent } from '../response-check';
import { type DecodedResponse, type ReplyContext } from '../canonical';
import { type ResponseReading, readResponse, textOf } from '../read-response';
import { isRecord } from '../usage';
import { checkChatResponse } from './check-response';
import { readChatError } from './errors';
import { isFailure, readFinish } from './finish';
import { ChoiceReader } from './read-choice';
import { findChatUsage, normaliseChatUsage } from './usage';

export const decodeChatResponse = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedResponse =>
  readResponse(body, reply, { readError: readChatError, checkAnswer: checkChatResponse }, read);

function read({ body, emission, tally }: ResponseReading): Fault | undefined {
  const choice: unknown = Array.isArray(body.choices) ? body.choices[0] : undefined;
  if (!isRecord(choice) || !isRecord(choice.message)) return missingContent('choices');
  emission.start(textOf(body.id), textOf(body.model));
  const failure = new ChoiceReader(emission, tally).read(choice.message);
  if (failure) return failure;
  if (isFailure(choice.finish_reason)) return fault('upstream_error');
  emission.report(normaliseChatUsage(findChatUsage(body)));
  emission.end(readFinish(typeof choice.finish_reason === 'string' ? choice.finish_reason : null));
  return undefined;
}

import { fault } from '../../kernel';
import { type CanonicalEvent, Emission, type ReplyContext, supplierFault, Tally } from '../canonical';
import { isRecord } from '../usage';
import { readChatError } from './errors';
import { readFinish } from './finish';
import { ChoiceReader } from './read-choice';
import { findChatUsage, normaliseChatUsage } from './usage';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A whole answer is read like a stream of one piece. */
export function decodeChatAnswer(body: unknown, reply: Partial<ReplyContext> = {}): CanonicalEvent[] {
  const events: CanonicalEvent[] = [];
  const emission = new Emission({ emit: (event) => events.push(event), ...reply });
  const error = readChatError(body);
  const failure = error ? supplierFault(error) : readAnswer(body, emission);
  if (failure) emission.fault(failure);
  return events;
}

function readAnswer(body: unknown, emission: Emission): ReturnType<ChoiceReader['read']> {
  if (!isRecord(body)) return fault('non_json_provider_response');
  const choice: unknown = Array.isArray(body.choices) ? body.choices[0] : undefined;
  if (!isRecord(choice) || !isRecord(choice.message)) return fault('empty_response');
  emission.start(textOf(body.id), textOf(body.model));
  const wrong = new ChoiceReader(emission, new Tally()).read(choice.message);
  if (wrong) return wrong;
  emission.report(normaliseChatUsage(findChatUsage(body)));
  emission.end(readFinish(typeof choice.finish_reason === 'string' ? choice.finish_reason : null));
  return undefined;
}

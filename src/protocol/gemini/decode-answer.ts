import { fault } from '../../kernel';
import { type CanonicalEvent, Emission, type ReplyContext, Tally } from '../canonical';
import { isRecord } from '../usage';
import { GeminiReader } from './read-parts';

/** A whole answer is read like a stream of one chunk. */
export function decodeGeminiAnswer(body: unknown, reply: Partial<ReplyContext> = {}): CanonicalEvent[] {
  const events: CanonicalEvent[] = [];
  const emission = new Emission({ emit: (event) => events.push(event), ...reply });
  const reader = new GeminiReader(emission, new Tally());
  const only: unknown = Array.isArray(body) ? body[0] : body;
  const failure = isRecord(only) ? (reader.read(only) ?? reader.end()) : fault('non_json_provider_response');
  if (failure) emission.fault(failure);
  return events;
}

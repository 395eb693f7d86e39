import { type Fault, fault } from '../../kernel';
import { type CanonicalEvent, Emission, type ReplyContext, supplierFault, Tally } from '../canonical';
import { isRecord } from '../usage';
import { readMessagesError } from './errors';
import { readFinish } from './finish';
import { BlockReader } from './read-blocks';
import { normaliseMessagesUsage } from './usage';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A whole answer is read like a stream whose blocks come in one piece. */
export function decodeMessagesAnswer(body: unknown, reply: Partial<ReplyContext> = {}): CanonicalEvent[] {
  const events: CanonicalEvent[] = [];
  const emission = new Emission({ emit: (event) => events.push(event), ...reply });
  const error = readMessagesError(body);
  const failure = error ? supplierFault(error) : readAnswer(body, emission);
  if (failure) emission.fault(failure);
  return events;
}

function readAnswer(body: unknown, emission: Emission): Fault | undefined {
  if (!isRecord(body)) return fault('non_json_provider_response');
  if (!Array.isArray(body.content)) return fault('empty_response');
  emission.start(textOf(body.id), textOf(body.model));
  const blocks = new BlockReader(emission, new Tally());
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

import { type Fault, fault } from '../../kernel';
import { type CanonicalEvent, Emission, type ReplyContext, supplierFault, Tally } from '../canonical';
import { isRecord } from '../usage';
import { readResponsesError } from './errors';
import { readFinish } from './finish';
import { ItemReader } from './read-items';
import { normaliseResponsesUsage } from './usage';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A whole answer is read like a stream whose items come in one piece. */
export function decodeResponsesAnswer(body: unknown, reply: Partial<ReplyContext> = {}): CanonicalEvent[] {
  const events: CanonicalEvent[] = [];
  const emission = new Emission({ emit: (event) => events.push(event), ...reply });
  const error = readResponsesError(body);
  const failure = error ? supplierFault(error) : readAnswer(body, emission);
  if (failure) emission.fault(failure);
  return events;
}

function readAnswer(body: unknown, emission: Emission): Fault | undefined {
  if (!isRecord(body)) return fault('non_json_provider_response');
  if (!Array.isArray(body.output)) return fault('empty_response');
  emission.start(textOf(body.id), textOf(body.model));
  const items = new ItemReader(emission, new Tally());
  for (const [index, item] of body.output.entries()) if (isRecord(item)) items.done(index, item);
  emission.report(normaliseResponsesUsage(body.usage));
  emission.end(readFinish(body));
  return undefined;
}

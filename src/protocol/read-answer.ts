import { type Fault, fault } from '../kernel';
import {
  type CanonicalEvent,
  type DecodedAnswer,
  Emission,
  type ReplyContext,
  type SupplierError,
  supplierFault,
  Tally,
} from './canonical';
import { isRecord } from './usage';

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export interface AnswerReading {
  readonly body: Record<string, unknown>;
  readonly emission: Emission;
  readonly tally: Tally;
}

/** Reads a whole answer with the means of a stream, so that the two can never disagree. */
export function readAnswer(
  body: unknown,
  reply: Partial<ReplyContext>,
  readError: (body: unknown) => SupplierError | undefined,
  read: (reading: AnswerReading) => Fault | undefined,
): DecodedAnswer {
  const events: CanonicalEvent[] = [];
  const tally = new Tally();
  const emission = new Emission({ emit: (event) => events.push(event), ...reply });
  const error = readError(body);
  let failure: Fault | undefined;
  if (error) failure = supplierFault(error);
  else if (!isRecord(body)) failure = fault('non_json_provider_response');
  else failure = read({ body, emission, tally });
  if (failure) emission.fault(failure);
  return { events, usage: emission.usage, dropped: tally.list() };
}

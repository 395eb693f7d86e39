import { type Fault, fault } from '../kernel';
import {
  type CanonicalEvent,
  type DecodedAnswer,
  type Dialect,
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

/** The failure that a body with a successful status reports. A sound answer may hold words that look like one. */
export function errorIn(
  body: unknown,
  { checkAnswer, readError }: Pick<Dialect, 'checkAnswer' | 'readError'>,
): SupplierError | undefined {
  const isSound = isRecord(body) && (body.error ?? null) === null && checkAnswer(body) === undefined;
  return isSound ? undefined : readError(body);
}

/** Reads a whole answer with the means of a stream, so that the two can never disagree. */
export function readAnswer(
  body: unknown,
  reply: Partial<ReplyContext>,
  side: Pick<Dialect, 'checkAnswer' | 'readError'>,
  read: (reading: AnswerReading) => Fault | undefined,
): DecodedAnswer {
  const events: CanonicalEvent[] = [];
  const tally = new Tally();
  const emission = new Emission({ emit: (event) => events.push(event), ...reply });
  const error = errorIn(body, side);
  let failure: Fault | undefined;
  if (error) failure = supplierFault(error);
  else if (!isRecord(body)) failure = fault('upstream_invalid_response');
  else failure = side.checkAnswer(body) ?? read({ body, emission, tally });
  if (failure) emission.fault(failure);
  return { events, usage: emission.usage, dropped: tally.list() };
}

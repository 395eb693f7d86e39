import { type Fault, fault } from '../kernel';
import {
  type CanonicalEvent,
  type DecodedResponse,
  type Dialect,
  Emission,
  type ReplyContext,
  type SupplierError,
  supplierFault,
  Tally,
} from './canonical';
import { isRecord } from './usage';

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export interface ResponseReading {
  readonly body: Record<string, unknown>;
  readonly emission: Emission;
  readonly tally: Tally;
}

/** The failure that a body with a successful status reports; valid responses can contain text that looks like one. */
export function errorIn(
  body: unknown,
  { checkAnswer, readError }: Pick<Dialect, 'checkAnswer' | 'readError'>,
): SupplierError | undefined {
  const isValid = isRecord(body) && (body.error ?? null) === null && checkAnswer(body) === undefined;
  return isValid ? undefined : readError(body);
}

/** Reads a complete response through the stream events, so that both modes give equal results. */
export function readResponse(
  body: unknown,
  reply: Partial<ReplyContext>,
  dialect: Pick<Dialect, 'checkAnswer' | 'readError'>,
  read: (reading: ResponseReading) => Fault | undefined,
): DecodedResponse {
  const events: CanonicalEvent[] = [];
  const tally = new Tally();
  const emission = new Emission({ emit: (event) => events.push(event), ...reply });
  const error = errorIn(body, dialect);
  let failure: Fault | undefined;
  if (error) failure = supplierFault(error);
  else if (!isRecord(body)) failure = fault('upstream_invalid_response');
  else failure = dialect.checkAnswer(body) ?? read({ body, emission, tally });
  if (failure) emission.fault(failure);
  return { events, usage: emission.usage, dropped: tally.list() };
}

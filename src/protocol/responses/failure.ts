import { type Fault, formatEvent, gatewayError } from '../../kernel';
import { type JsonObject } from '../canonical';

/** The last event of a stream that ends in a failure. */
export function failureEvent(
  sequence: number,
  response: JsonObject,
  output: readonly JsonObject[],
  problem: Fault,
  requestId: string,
): string {
  const error = gatewayError(problem, requestId);
  // Some clients pass over a failed response, but none passes over an `error` beside it.
  return formatEvent({
    event: 'response.failed',
    data: JSON.stringify({
      type: 'response.failed',
      sequence_number: sequence,
      response: { ...response, status: 'failed', output, error },
      error,
    }),
  });
}

import { type Fault, formatEvent, gatewayError } from '../../kernel';
import { type JsonObject } from '../canonical';

export function failureEvent(
  sequence: number,
  response: JsonObject,
  output: readonly JsonObject[],
  problem: Fault,
  requestId: string,
): string {
  const error = gatewayError(problem, requestId);
  // Some clients ignore a failed response, but none ignores an `error` next to it.
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

import { type Fault, fault } from '../../kernel';

/** The failure: an error event, or the connection; neither where the stream just ended too early. */
interface Failed {
  readonly told: Fault | null;
  readonly broken: Fault | null;
}

/**
 * The one rule for failures inside a stream. After output the code is `stream_error` or `stream_interrupted`, since a
 * repetition would give another answer. Before output it is the failure itself, and failover follows.
 */
export function failureOf({ told, broken }: Failed, hasOutput: boolean, sawEvent: boolean): Fault {
  const isCut =
    told === null || told.code === 'agentcli_incomplete_stream' || told.code === 'stream_interrupted';
  const cause = told ?? broken ?? undefined;
  if (hasOutput) {
    if (cause?.code === 'stream_interrupted') return cause;
    if (isCut) return fault('stream_interrupted', { cause });
    const { supplier } = told.options.details ?? {};
    return fault('stream_error', {
      cause: told,
      ...(supplier === undefined ? {} : { details: { supplier } }),
    });
  }
  if (told === null && broken !== null) return broken;
  if (told !== null && !isCut) return told.code === 'empty_response' ? fault('empty_stream') : told;
  return fault(sawEvent ? 'upstream_invalid_response' : 'empty_stream', {
    ...(sawEvent ? { message: 'The stream of the supplier ended before its answer was complete.' } : {}),
    cause,
  });
}

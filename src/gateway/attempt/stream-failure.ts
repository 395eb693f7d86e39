import { type Fault, fault } from '../../kernel';

/** An error event, or the connection's failure; neither if the stream ended too early. */
interface BrokenStream {
  readonly reported: Fault | null;
  readonly broken: Fault | null;
}

/**
 * Returns `stream_error` or `stream_interrupted` for a stream that broke after output, as a retry would give a
 * different response. Before output, returns the failure itself, and failover follows.
 */
export function failureOf(
  { reported: told, broken }: BrokenStream,
  hasOutput: boolean,
  sawEvent: boolean,
): Fault {
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

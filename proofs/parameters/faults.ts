import type { ReadResponse } from '../operations/http';

const MAX_SHOWN = 60;

export type ErrorLocation = readonly (string | number)[];

/** Returns the locations that a validation error names, or the problem with its body. */
export function locationsOf({ text }: ReadResponse): readonly ErrorLocation[] | string {
  const body = JSON.parse(text) as Record<string, unknown>;
  if (body['code'] !== 'validation_error') return `422 with code ${String(body['code'])}`;
  if (!('message' in body) || !('human_message' in body)) return '422 without its texts';
  const detail = body['detail'] as { loc?: ErrorLocation; msg?: unknown; type?: unknown }[] | undefined;
  if (!Array.isArray(detail) || detail.length === 0) return '422 without a list of details';
  const isComplete = detail.every(
    ({ loc, msg, type }) =>
      Array.isArray(loc) &&
      ['path', 'query', 'body'].includes(String(loc[0])) &&
      typeof msg === 'string' &&
      typeof type === 'string',
  );
  return isComplete ? detail.map(({ loc = [] }) => loc) : `422 with ${JSON.stringify(detail).slice(0, 200)}`;
}

export function printFailures(failures: readonly string[]): void {
  for (const line of failures.slice(0, MAX_SHOWN)) process.stdout.write(`wrong   ${line}\n`);
}

import type { Answer } from '../operations/http';

const MOST_SHOWN = 60;

export type Place = readonly (string | number)[];

/** The places that a refusal names, or what is wrong with its body. */
export function placesOf({ text }: Answer): readonly Place[] | string {
  const body = JSON.parse(text) as Record<string, unknown>;
  if (body['code'] !== 'validation_error') return `422 with code ${String(body['code'])}`;
  if (!('message' in body) || !('human_message' in body)) return '422 without its texts';
  const detail = body['detail'] as { loc?: Place; msg?: unknown; type?: unknown }[] | undefined;
  if (!Array.isArray(detail) || detail.length === 0) return '422 without a list of details';
  const isWhole = detail.every(
    ({ loc, msg, type }) =>
      Array.isArray(loc) &&
      ['path', 'query', 'body'].includes(String(loc[0])) &&
      typeof msg === 'string' &&
      typeof type === 'string',
  );
  return isWhole ? detail.map(({ loc = [] }) => loc) : `422 with ${JSON.stringify(detail).slice(0, 200)}`;
}

export function tell(wrong: readonly string[]): void {
  for (const line of wrong.slice(0, MOST_SHOWN)) process.stdout.write(`wrong   ${line}\n`);
}

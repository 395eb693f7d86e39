import { operationNames, OPERATIONS, probeFor, type WireDialect } from '../suppliers/kit';

/** Operations with a probe; a connectivity test uses the first that the style serves. */
export const PROBED_OPERATIONS = operationNames.filter((name) => OPERATIONS[name].probe !== undefined);

/** The model is part of the URL in `gemini`, and of the body in all other dialects. */
export function probeBody(wire: WireDialect, model: string): Record<string, unknown> | undefined {
  const probe = probeFor(wire);
  return probe && { ...(wire !== 'gemini' && { model }), ...probe.body };
}

/**
 * Name of the list that the response lacks; undefined if it is valid. The list can be empty if reasoning used up the
 * few tokens.
 */
export function missingList(wire: WireDialect, body: unknown): string | undefined {
  const list = probeFor(wire)?.list ?? '';
  const isValid = typeof body === 'object' && body !== null && Array.isArray(Reflect.get(body, list));
  return isValid ? undefined : list;
}

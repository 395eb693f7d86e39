import { operationNames, OPERATIONS, probeIn, type WireDialect } from '../suppliers/kit';

/** A connectivity test asks for the first of these that a style serves. */
export const PROBED_OPERATIONS = operationNames.filter((name) => OPERATIONS[name].probe !== undefined);

/** The model stands in the address of a call in `gemini`, and in the body of all others. */
export function probeBody(wire: WireDialect, model: string): Record<string, unknown> | undefined {
  const probe = probeIn(wire);
  return probe && { ...(wire !== 'gemini' && { model }), ...probe.body };
}

/** What an answer lacks of its form; undefined when nothing. A model that spends its few tokens on thought says nothing. */
export function lackOf(wire: WireDialect, body: unknown): string | undefined {
  const list = probeIn(wire)?.list ?? '';
  const isSound = typeof body === 'object' && body !== null && Array.isArray(Reflect.get(body, list));
  return isSound ? undefined : list;
}

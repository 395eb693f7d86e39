import { Resolver } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** Number of days for which a proof holds after the record was last seen. */
export const GRACE_DAYS = 7;

const LABEL = '_switchboard';
const PREFIX = 'switchboard-verification=';
const DEADLINE_MS = 5_000;
const ATTEMPT_TIMEOUT_MS = 1_500;
const MAX_FOUND_LENGTH = 200;

/** Result of a look-up of the record; `found` is shown to administrators. */
export interface RecordLookup {
  readonly result: 'seen' | 'other' | 'absent' | 'unanswered';
  readonly found: string | null;
}

/** SQL condition on rows of `reseller_domain`. */
export const isProven = (table: string): string =>
  `(${table}.proven_at IS NOT NULL AND coalesce(${table}.seen_at > now() - interval '${GRACE_DAYS} days', false))`;

/** Depends only on the name of the host: one record proves it for every port, each with its own value. */
export const recordNameOf = (host: string): string => `${LABEL}.${host.replace(/:\d+$/, '')}`;

export const recordValueOf = (proofValue: string): string => PREFIX + proofValue;

/** Queries the name servers for at most five seconds. */
export async function lookUpRecord(
  host: string,
  proofValue: string,
  servers: readonly string[],
): Promise<RecordLookup> {
  const resolver = new Resolver({ timeout: ATTEMPT_TIMEOUT_MS, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  const completion = new AbortController();
  const timeout = delay(DEADLINE_MS, undefined, { signal: completion.signal, ref: false }).then(
    () => resolver.cancel(),
    () => undefined,
  );
  try {
    const records = await resolver.resolveTxt(recordNameOf(host));
    return evaluateRecords(
      records.map((parts) => parts.join('').trim()),
      recordValueOf(proofValue),
    );
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    // The name or its TXT records do not exist, which is a valid answer.
    if (code === 'ENOTFOUND' || code === 'ENODATA') return { result: 'absent', found: null };
    return { result: 'unanswered', found: code.slice(0, MAX_FOUND_LENGTH) };
  } finally {
    completion.abort();
    await timeout;
  }
}

function evaluateRecords(records: readonly string[], expected: string): RecordLookup {
  if (records.includes(expected)) return { result: 'seen', found: null };
  const other = records.find((record) => record.startsWith(PREFIX));
  return other === undefined
    ? { result: 'absent', found: null }
    : { result: 'other', found: other.slice(0, MAX_FOUND_LENGTH) };
}

import { createHash } from 'node:crypto';
import type { SettledRecord } from '#extension';
import { SECOND_MS } from '../../kernel';
import { addressRedactor, type OutgoingClient, type Settings, webhookHeaders } from '../../platform';
import type { Sink } from './registered-tap';
import { refusal } from './sinks/post';

const MAX_RESPONSE_BYTES = 65_536;

// Standard Webhooks 1.0.0, "Delivery success and failure": these statuses ask for time, with Retry-After if present.
const kinds = { 429: 'busy', 503: 'busy' } as const;

/** Services in any language that receive batches of records as signed JSON. Any 2xx confirms receipt. */
export const webhookSinks = (
  { httpTaps: taps, httpTapSecrets }: Settings,
  outgoing: OutgoingClient,
): Sink[] =>
  // Settings without a secret for each tap were rejected.
  taps.map((tap) => webhookSink(tap, httpTapSecrets.get(tap.name)!, outgoing));

const webhookSink = (
  { name, url, timeoutMs }: Settings['httpTaps'][number],
  secrets: readonly Buffer[],
  outgoing: OutgoingClient,
): Sink => ({
  ...{ name, kind: 'webhook', target: displayUrl(url), timeoutMs },
  async send(records, signal) {
    const body = JSON.stringify({ type: 'requests.settled', timestamp: newestTime(records), records });
    const response = await outgoing.read(
      {
        url,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...webhookHeaders(secrets, { id: messageId(body), body, now: Date.now() }),
        },
        body,
        signal,
      },
      // The signal fires first, at the tap's own deadline.
      { mostBytes: MAX_RESPONSE_BYTES, deadlineMs: timeoutMs + SECOND_MS },
    );
    if (response.status < 200 || response.status > 299) throw refusal(response, kinds, addressRedactor(url));
    return String(response.status);
  },
});

/** Hides path and query, because some services have a secret there. */
function displayUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname === '/' && search === '' ? '' : '/…'}`;
}

/** Start of the newest record: identical for identical records. */
const newestTime = (records: readonly SettledRecord[]): string =>
  records.reduce((newest, { created_at: at }) => (at > newest ? at : newest), '');

/** Identical records get the same id when they are sent again, so that a receiver can deduplicate them. */
const messageId = (body: string): string =>
  `msg_${createHash('sha256').update(body).digest('base64url').slice(0, 27)}`;

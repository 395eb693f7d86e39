import { createHash } from 'node:crypto';
import type { SettledRecord } from '#extension';
import { SECOND_MS } from '../../kernel';
import { addressRedactor, type OutgoingClient, type Settings, webhookHeaders } from '../../platform';
import type { Sink } from './held-tap';
import { refusal } from './sinks/post';

/** What a service says in its answer is of little use. */
const MOST_ANSWER_BYTES = 65_536;

// Standard Webhooks 1.0.0, "Delivery success and failure": these ask for time, with Retry-After where they have it.
const kinds = { 429: 'busy', 503: 'busy' } as const;

/** Services in any language that take batches of records as signed JSON. Any 2xx says that they have them. */
export const webhookSinks = (
  { httpTaps: listed, httpTapSecrets }: Settings,
  outgoing: OutgoingClient,
): Sink[] =>
  // The settings were refused without a secret for each.
  listed.map((tap) => webhookSink(tap, httpTapSecrets.get(tap.name)!, outgoing));

const webhookSink = (
  { name, url, timeoutMs }: Settings['httpTaps'][number],
  secrets: readonly Buffer[],
  outgoing: OutgoingClient,
): Sink => ({
  ...{ name, kind: 'webhook', target: shown(url), timeoutMs },
  async send(records, signal) {
    const body = JSON.stringify({ type: 'requests.settled', timestamp: newestOf(records), records });
    const answer = await outgoing.read(
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
      // The signal comes first, at the tap's own deadline.
      { mostBytes: MOST_ANSWER_BYTES, deadlineMs: timeoutMs + SECOND_MS },
    );
    if (answer.status < 200 || answer.status > 299) throw refusal(answer, kinds, addressRedactor(url));
    return String(answer.status);
  },
});

/** Some services have a secret in the path or the query of their address. */
function shown(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname === '/' && search === '' ? '' : '/…'}`;
}

/** When the newest of them began: the same for the same records. */
const newestOf = (records: readonly SettledRecord[]): string =>
  records.reduce((newest, { created_at: at }) => (at > newest ? at : newest), '');

/** The same records have the same id when they are sent once more, so that a receiver can tell. */
const messageId = (body: string): string =>
  `msg_${createHash('sha256').update(body).digest('base64url').slice(0, 27)}`;

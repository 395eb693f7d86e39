import { createHash } from 'node:crypto';
import type { Tap } from '#extension';
import { type OutgoingClient, type Settings, webhookHeaders } from '../../platform';

const TIMEOUT_MS = 10_000;
/** What a service says in its answer is of no use. */
const MOST_ANSWER_BYTES = 65_536;

/** Services in any language that take batches of records as signed JSON. Any 2xx says that they have them. */
export const httpTaps = (settings: Settings, outgoing: OutgoingClient): Tap[] =>
  settings.httpTaps.map(({ name, url }) => httpTap(name, url, settings.httpTapsSecret ?? '', outgoing));

const httpTap = (name: string, url: string, secret: string, outgoing: OutgoingClient): Tap => ({
  name,
  batchSize: 100,
  timeoutMs: TIMEOUT_MS,
  async deliver(records, signal) {
    const body = JSON.stringify({ type: 'requests.settled', records });
    const { status } = await outgoing.read(
      {
        url,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...webhookHeaders(secret, { id: messageId(body), body, now: Date.now() }),
        },
        body,
        signal,
      },
      { mostBytes: MOST_ANSWER_BYTES, deadlineMs: TIMEOUT_MS },
    );
    if (status < 200 || status > 299) throw new Error(`it answered with status ${status}`);
  },
});

/** The same records have the same id when they are sent once more, so that a receiver can tell. */
const messageId = (body: string): string =>
  `msg_${createHash('sha256').update(body).digest('base64url').slice(0, 27)}`;

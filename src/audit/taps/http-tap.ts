import { createHash } from 'node:crypto';
import type { Tap } from '#extension';
import { SECOND_MS } from '../../kernel';
import { type OutgoingClient, type Settings, webhookHeaders } from '../../platform';

/** What a service says in its answer is of no use. */
const MOST_ANSWER_BYTES = 65_536;

/** Services in any language that take batches of records as signed JSON. Any 2xx says that they have them. */
export const httpTaps = ({ httpTaps: listed, httpTapSecrets }: Settings, outgoing: OutgoingClient): Tap[] =>
  // The settings were refused without a secret for each.
  listed.map((tap) => httpTap(tap, httpTapSecrets.get(tap.name)!, outgoing));

const httpTap = (
  { name, url, timeoutMs }: Settings['httpTaps'][number],
  secret: Buffer,
  outgoing: OutgoingClient,
): Tap => ({
  name,
  timeoutMs,
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
      // The signal comes first, at the tap's own deadline.
      { mostBytes: MOST_ANSWER_BYTES, deadlineMs: timeoutMs + SECOND_MS },
    );
    if (status < 200 || status > 299) throw new Error(`it answered with status ${status}`);
  },
});

/** The same records have the same id when they are sent once more, so that a receiver can tell. */
const messageId = (body: string): string =>
  `msg_${createHash('sha256').update(body).digest('base64url').slice(0, 27)}`;

import { hash } from 'node:crypto';
import type { Inbound } from './inbound';

/** Longer ids are cut, not refused, as they only express a preference. */
const MAX_ID_LENGTH = 128;
const MAX_USER_ID_LENGTH = 1_024;
/** Characters of a text that the fingerprint uses. */
const MAX_SAMPLE_LENGTH = 2_048;
const MAX_SAMPLE_PARTS = 16;

type SessionSource = Pick<Inbound, 'headers' | 'body'>;

/** Session id for lane affinity: the conversation's id, or else fields of another purpose; null without any. */
export const sessionOf = ({ headers, body }: SessionSource): string | null =>
  conversationOf({ headers, body }) ?? idText(body.prompt_cache_key) ?? idText(body.user);

/** Id of the conversation that a request names, never of a wider group such as an end user's requests; null if none. */
export function conversationOf({ headers, body }: SessionSource): string | null {
  const { metadata } = body;
  return (
    idText(headers['x-session-id']) ??
    idText(fieldOf(metadata, 'session_id')) ??
    idText(fieldOf(metadata, 'sticky_key')) ??
    idText(headers['x-claude-code-session-id']) ??
    idText(headers['session-id'] ?? headers.session_id ?? headers['thread-id']) ??
    sessionWithin(fieldOf(metadata, 'user_id'))
  );
}

/** Key under which a conversation's lane is remembered, separate per API key; a fingerprint if no session is named. */
export function stickyKey(
  { caller, body }: Inbound,
  { session, model }: { readonly session: string | null; readonly model: string },
): string {
  if (session !== null) return `${caller.keyId}\n${session}`;
  const opening = [
    model,
    sample(body.system ?? body.instructions),
    sample(openingOf(body.messages ?? body.input)),
  ];
  return `${caller.keyId}\n${hash('sha256', opening.join('\n'), 'base64')}`;
}

/** Some agents put the session into the user field, at its end or as JSON. */
function sessionWithin(userId: unknown): string | null {
  if (typeof userId !== 'string' || userId.length > MAX_USER_ID_LENGTH) return null;
  return idText(/session_(?:id"\s*:\s*")?([\w-]{8,})/.exec(userId)?.[1]);
}

const idText = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, MAX_ID_LENGTH) : null;

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/** The turns up to the first question, which stay the same from turn to turn. */
function openingOf(turns: unknown): unknown {
  // Later turns repeat as an item what the first turn sent as a text.
  if (!Array.isArray(turns)) return [{ role: 'user', content: turns }];
  const first = turns.findIndex((turn) => fieldOf(turn, 'role') === 'user');
  return turns.slice(0, first + 1 || 1);
}

/** Concatenates roles and texts at any depth up to a maximum length, as hashing a long prompt would cost too much. */
function sample(value: unknown): string {
  let text = '';
  const gather = (part: unknown): void => {
    if (text.length >= MAX_SAMPLE_LENGTH) return;
    if (typeof part === 'string') text += `${part.slice(0, MAX_SAMPLE_LENGTH - text.length)}\n`;
    else if (Array.isArray(part)) part.slice(0, MAX_SAMPLE_PARTS).forEach(gather);
    else if (typeof part === 'object' && part !== null)
      for (const name of ['role', 'text', 'content']) gather(Reflect.get(part, name));
  };
  gather(value);
  return text;
}

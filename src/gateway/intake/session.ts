import { hash } from 'node:crypto';
import type { Inbound } from './inbound';

/** Longer identifiers say no more; they are cut, not refused, since they only ask for a preference. */
const LONGEST = 128;
const LONGEST_USER_ID = 1_024;
/** The fingerprint uses so much of a text. */
const SAMPLE = 2_048;
const SAMPLE_PARTS = 16;

type Naming = Pick<Inbound, 'headers' | 'body'>;

/** The requests of a conversation go to one lane by its name, or by fields of other purpose; null without any. */
export const sessionOf = ({ headers, body }: Naming): string | null =>
  conversationOf({ headers, body }) ?? named(body.prompt_cache_key) ?? named(body.user);

/** The conversation that a request names, and no wider group such as all requests of one end user; null when none. */
export function conversationOf({ headers, body }: Naming): string | null {
  const { metadata } = body;
  return (
    named(headers['x-session-id']) ??
    named(fieldOf(metadata, 'session_id')) ??
    named(fieldOf(metadata, 'sticky_key')) ??
    named(headers['x-claude-code-session-id']) ??
    named(headers['session-id'] ?? headers.session_id ?? headers['thread-id']) ??
    sessionWithin(fieldOf(metadata, 'user_id'))
  );
}

/**
 * The key under which a conversation's lane is remembered, separate for every API key; a fingerprint when none is
 * named.
 */
export function stickyKey(
  { caller, body }: Inbound,
  { session, model }: { readonly session: string | null; readonly model: string },
): string {
  if (session !== null) return `${caller.keyId}\n${session}`;
  const opening = [
    model,
    sample(body.system ?? body.instructions),
    sample(firstIn(body.messages ?? body.input)),
  ];
  return `${caller.keyId}\n${hash('sha256', opening.join('\n'), 'base64')}`;
}

/** Some agents put the session into the user field, at its end or as JSON. */
function sessionWithin(userId: unknown): string | null {
  if (typeof userId !== 'string' || userId.length > LONGEST_USER_ID) return null;
  return named(/session_(?:id"\s*:\s*")?([\w-]{8,})/.exec(userId)?.[1]);
}

const named = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, LONGEST) : null;

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/** A fingerprint of the instructions and the first question: they stay the same from turn to turn. */
function firstIn(turns: unknown): unknown {
  // Later turns repeat as an item what a first turn says as a text.
  if (!Array.isArray(turns)) return [{ role: 'user', content: turns }];
  const first = turns.findIndex((turn) => fieldOf(turn, 'role') === 'user');
  return turns.slice(0, first + 1 || 1);
}

/** The sample has speakers and words however they are wrapped, as far as it goes: a long prompt would cost too much. */
function sample(value: unknown): string {
  let text = '';
  const gather = (part: unknown): void => {
    if (text.length >= SAMPLE) return;
    if (typeof part === 'string') text += `${part.slice(0, SAMPLE - text.length)}\n`;
    else if (Array.isArray(part)) part.slice(0, SAMPLE_PARTS).forEach(gather);
    else if (typeof part === 'object' && part !== null)
      for (const name of ['role', 'text', 'content']) gather(Reflect.get(part, name));
  };
  gather(value);
  return text;
}

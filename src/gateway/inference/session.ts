import { hash } from 'node:crypto';
import type { Inbound } from './inbound';

/** Longer identifiers say no more; they are cut, not refused, since they only ask for a preference. */
const LONGEST = 128;
/** How much of a text goes into the guess. */
const SAMPLE = 2_048;

/**
 * Which conversation a request says it belongs to, the explicit ways before the ones that clients have for other
 * purposes; null when it says nothing.
 */
export function sessionOf({ headers, body }: Pick<Inbound, 'headers' | 'body'>): string | null {
  const { metadata } = body;
  return (
    named(headers['x-session-id']) ??
    named(fieldOf(metadata, 'session_id')) ??
    named(fieldOf(metadata, 'sticky_key')) ??
    named(headers['x-claude-code-session-id']) ??
    named(headers['session-id'] ?? headers.session_id) ??
    named(body.prompt_cache_key) ??
    named(body.user)
  );
}

/** What the lane of a conversation is remembered under, always of one key only; guessed when nothing is said. */
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

const named = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, LONGEST) : null;

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/** The instructions and the first thing that was asked: what a conversation keeps from turn to turn. */
function firstIn(turns: unknown): unknown {
  if (!Array.isArray(turns)) return turns;
  const first = turns.findIndex((turn) => fieldOf(turn, 'role') === 'user');
  return turns.slice(0, first + 1 || 1);
}

const sample = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, SAMPLE);

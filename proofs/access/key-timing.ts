import { checksumOf, generateKey } from '#inside/keys/key-text';
import type { Client } from '../operations/http';

const ROUNDS = 600;
/** By chance alone the share leaves this distance of a half once in a million runs. */
const MOST_BIAS = 0.09;

export interface TimingResult {
  readonly asked: number;
  /** One kind of refusal was slower than the other in this share of all pairs; a half says nothing. */
  readonly share: number;
  readonly isBiased: boolean;
}

/** Whether the time of a refusal tells that a key of this public id exists. */
export async function runKeyTiming(client: Client, publicId: string): Promise<TimingResult> {
  const unknown: number[] = [];
  const wrong: number[] = [];
  const measure = async (into: number[], key: string): Promise<void> => {
    const startedAt = performance.now();
    const { status } = await client.with({ authorization: `Bearer ${key}` }).get('/v1/key');
    into.push(performance.now() - startedAt);
    if (status !== 401) throw new Error(`a made-up key was answered with ${status}`);
  };
  const wrongSecret = (): string => {
    const body = publicId + generateKey().text.slice(12, -6);
    return `svc_${body}${checksumOf(body)}`;
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const [first, second] = [generateKey().text, wrongSecret()];
    // Each goes first in half of the rounds, so that what the other leaves behind counts for neither.
    if (round % 2 === 0) await measure(unknown, first);
    await measure(wrong, second);
    if (round % 2 === 1) await measure(unknown, first);
  }
  let slower = 0;
  for (const one of unknown) for (const other of wrong) slower += one > other ? 1 : one === other ? 0.5 : 0;
  const share = slower / (unknown.length * wrong.length);
  return { asked: 2 * ROUNDS, share, isBiased: Math.abs(share - 0.5) > MOST_BIAS };
}

import { checksumOf, generateKey } from '#inside/keys/key-text';
import type { Client } from '../operations/http';

const ROUNDS = 600;
/** With no timing difference, the share deviates this far from one half once in a million runs. */
const MAX_BIAS = 0.09;

export interface TimingResult {
  readonly requestCount: number;
  /** Share of all pairs in which one kind of rejection was slower; one half means no difference. */
  readonly share: number;
  readonly isBiased: boolean;
}

/** Measures whether rejection times reveal that a key with this public id exists. */
export async function runKeyTiming(client: Client, publicId: string): Promise<TimingResult> {
  const unknownKeyTimes: number[] = [];
  const wrongSecretTimes: number[] = [];
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
    // Alternates the order, so that effects of the first request on the second cancel out.
    if (round % 2 === 0) await measure(unknownKeyTimes, first);
    await measure(wrongSecretTimes, second);
    if (round % 2 === 1) await measure(unknownKeyTimes, first);
  }
  let slowerPairs = 0;
  for (const one of unknownKeyTimes)
    for (const other of wrongSecretTimes) slowerPairs += one > other ? 1 : one === other ? 0.5 : 0;
  const share = slowerPairs / (unknownKeyTimes.length * wrongSecretTimes.length);
  return { requestCount: 2 * ROUNDS, share, isBiased: Math.abs(share - 0.5) > MAX_BIAS };
}

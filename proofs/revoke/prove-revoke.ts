import { setTimeout as delay } from 'node:timers/promises';
import { Findings, runProof } from '../../test/system/findings';
import { startGateway } from '../../test/system/gateway';
import type { ProofNode } from '../../test/system/node';
import { AnnouncementGate } from './announcement-gate';

/** Two nodes share one database: a key is revoked on one, and the other is called until it rejects the key. */

const GIVE_UP_MS = 10_000;
const findings = new Findings('prove:revoke');

const sendRequest = (
  node: ProofNode,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<Response> =>
  fetch(node.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(GIVE_UP_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** Returns the time in ms from the acknowledged revocation to the other node's first rejection. */
async function revokeOnce(firstNode: ProofNode, secondNode: ProofNode, root: string): Promise<number> {
  const createResponse = await sendRequest(firstNode, root, 'POST', '/v1/manage/keys', {
    name: 'to be revoked',
  });
  const { id, key } = (await createResponse.json()) as { id: string; key: string };
  if ((await sendRequest(secondNode, key, 'GET', '/v1/key')).status !== 200)
    throw new Error('a new key was refused');
  await sendRequest(firstNode, root, 'DELETE', `/v1/manage/keys/${id}`);
  const startedAt = performance.now();
  while ((await sendRequest(secondNode, key, 'GET', '/v1/key')).status !== 401) {
    if (performance.now() - startedAt > GIVE_UP_MS) return Infinity;
    await delay(2);
  }
  return performance.now() - startedAt;
}

async function prove(
  title: string,
  rounds: number,
  mostMs: number,
  revokeAndMeasure: () => Promise<number>,
): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await revokeAndMeasure());
  times.sort((a, b) => a - b);
  const inTime = times.filter((time) => time <= mostMs).length;
  const [middle = 0, longest = 0] = [times[Math.floor(rounds / 2)], times.at(-1)];
  const within = `${inTime} of ${rounds}; half within ${middle.toFixed(1)} ms, all within ${longest.toFixed(1)} ms`;
  findings.addCases(`${title}: refused elsewhere within ${mostMs} ms`, rounds, rounds - inTime, within);
}

async function main(): Promise<void> {
  const gateway = await startGateway({
    KEY_PEPPER: 'the same on both nodes',
    KEY_FAILURES_PER_MINUTE: '1000000',
    WORKERS: 'off',
  });
  let gate: AnnouncementGate | undefined;
  try {
    gate = await AnnouncementGate.open(gateway.databaseUrl);
    const firstNode = gateway.node;
    const secondNode = await gateway.another('there', { DATABASE_URL: gate.url });
    const revokeAndMeasure = (): Promise<number> => revokeOnce(firstNode, secondNode, firstNode.keys.root);
    await prove('announced', 100, 1_000, revokeAndMeasure);
    gate.close();
    await prove('announcements cut', 100, 3_000, revokeAndMeasure);
    findings.end();
  } finally {
    await gateway.stopService();
    gate?.stop();
    await gateway.stop();
  }
}

runProof(main);

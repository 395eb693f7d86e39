import 'reflect-metadata';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { migrations } from '../../migrations';
import { type RunningService, startService } from '../../src/boot/start-service';
import { loadSettings, Logger } from '../../src/platform';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded-postgres';
import { migrate } from '../../src/platform/database/migrate';
import { AnnouncementGate } from './announcement-gate';

/** Two nodes on one database: a key is revoked on the one, and the other is asked until it refuses. */

const GIVE_UP_MS = 10_000;

function startNode(folder: string, name: string, url: string, ownerUrl: string): Promise<RunningService> {
  const settings = loadSettings({
    NODE_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    DATA_FOLDER: join(folder, name),
    DATABASE_URL: url,
    MIGRATION_DATABASE_URL: ownerUrl,
    KEY_PEPPER: 'the same on both nodes',
    KEY_FAILURES_PER_MINUTE: '1000000',
    SANDBOX: 'off',
    WORKERS: 'off',
  });
  return startService(settings, Logger.create(settings, { write: () => undefined }));
}

const ask = (
  node: RunningService,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<Response> =>
  fetch(node.url + path, {
    method,
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(GIVE_UP_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** How long after the revocation was acknowledged the other node refused for the first time. */
async function revokeOnce(here: RunningService, there: RunningService, root: string): Promise<number> {
  const made = await ask(here, root, 'POST', '/v1/manage/keys', { name: 'to be revoked' });
  const { id, key } = (await made.json()) as { id: string; key: string };
  if ((await ask(there, key, 'GET', '/v1/key')).status !== 200) throw new Error('a new key was refused');
  await ask(here, root, 'DELETE', `/v1/manage/keys/${id}`);
  const startedAt = performance.now();
  while ((await ask(there, key, 'GET', '/v1/key')).status !== 401) {
    if (performance.now() - startedAt > GIVE_UP_MS) return Infinity;
    await delay(2);
  }
  return performance.now() - startedAt;
}

async function prove(
  title: string,
  rounds: number,
  mostMs: number,
  once: () => Promise<number>,
): Promise<boolean> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await once());
  times.sort((a, b) => a - b);
  const inTime = times.filter((time) => time <= mostMs).length;
  const [middle = 0, longest = 0] = [times[Math.floor(rounds / 2)], times.at(-1)];
  process.stdout.write(
    `${title}: refused elsewhere within ${mostMs} ms in ${inTime} of ${rounds}; ` +
      `half within ${middle.toFixed(1)} ms, all within ${longest.toFixed(1)} ms\n`,
  );
  return inTime === rounds;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-proof-'));
  chmodSync(folder, 0o711);
  const database = await startEmbeddedPostgres({ dataFolder: folder, durable: false });
  const nodes: RunningService[] = [];
  let gate: AnnouncementGate | undefined;
  try {
    const { url, ownerUrl } = database;
    await migrate({ url: ownerUrl, serviceUrl: url, migrations, queue: true });
    gate = await AnnouncementGate.open(url);
    const here = await startNode(folder, 'here', url, ownerUrl);
    nodes.push(here);
    const there = await startNode(folder, 'there', gate.url, ownerUrl);
    nodes.push(there);
    const root = here.firstKeys?.root ?? '';
    const once = (): Promise<number> => revokeOnce(here, there, root);
    const announced = await prove('announced', 100, 1_000, once);
    gate.close();
    const cut = await prove('announcements cut', 100, 3_000, once);
    process.exitCode = announced && cut ? 0 : 1;
  } finally {
    for (const node of nodes) await node.close();
    gate?.stop();
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});

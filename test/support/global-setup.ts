import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { migrations } from '#migrations';
import {
  DataFolderInUse,
  startEmbeddedPostgres,
  stopAbandonedPostgres,
} from '#inside/platform/database/embedded-postgres';
import { migrate } from '#inside/platform/database/migrate';
import { administer, inDatabase } from './postgres';
import { announceTestServer } from './test-server';
import { makeScratchFolder, scratchRoot } from './scratch';

const prefix = 'switchboard-test-';

/** Starts one server per run with a migrated template; the global teardown stops it. */
export default async function globalSetup(): Promise<void> {
  await removeKilledRuns();
  const databaseUrl = process.env['TEST_DATABASE_URL'];
  const server = databaseUrl
    ? { url: databaseUrl, ownerUrl: databaseUrl, stop: () => Promise.resolve() }
    : await startOwnServer();
  const template = `template_${randomBytes(6).toString('hex')}`;
  try {
    await administer(server.ownerUrl, `CREATE DATABASE ${template}`);
    await migrate({
      url: inDatabase(server.ownerUrl, template),
      serviceUrl: server.url,
      migrations,
      queue: true,
    });
  } catch (error) {
    await server.stop();
    throw error;
  }
  announceTestServer({ url: server.url, ownerUrl: server.ownerUrl, template });
  globalThis.endTestServer = async () => {
    await administer(server.ownerUrl, `DROP DATABASE ${template} WITH (FORCE)`);
    await server.stop();
  };
}

async function startOwnServer() {
  const folder = makeScratchFolder(prefix);
  // The server may run under another account, which must be able to traverse the folder.
  chmodSync(folder, 0o711);
  const compiled = join(folder, 'compiled');
  mkdirSync(compiled);
  process.env['SWITCHBOARD_TEST_COMPILED'] = compiled;
  const server = await startEmbeddedPostgres({ dataFolder: folder, durable: false });
  for (const url of [server.url, server.ownerUrl]) await useFastLogins(server.ownerUrl, new URL(url));
  // A login that its client abandons blocks each new database until this timeout, a minute by default.
  await administer(server.ownerUrl, `ALTER SYSTEM SET authentication_timeout = '10s'`);
  await administer(server.ownerUrl, 'SELECT pg_reload_conf()');
  const stop = async () => {
    await server.stop();
    for (const path of [server.folder, folder]) rmSync(path, { recursive: true, force: true });
  };
  return { ...server, stop };
}

/** Stores the password with a single SCRAM iteration, because the tests log in thousands of times. */
async function useFastLogins(ownerUrl: string, { username, password }: URL): Promise<void> {
  await administer(ownerUrl, `SET scram_iterations = 1; ALTER ROLE ${username} PASSWORD '${password}'`);
}

/** Removes what killed runs left behind. */
async function removeKilledRuns(): Promise<void> {
  const folders = readdirSync(scratchRoot()).filter((name) => name.startsWith(prefix));
  for (const folder of folders.map((name) => join(scratchRoot(), name)).filter(isFinished)) {
    try {
      await stopAbandonedPostgres(folder);
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (!(error instanceof DataFolderInUse)) throw error;
    }
  }
}

/** A test folder whose owner has ended; a recent folder without an owner may belong to a run that is starting. */
function isFinished(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (!stats || stats.uid !== process.getuid?.()) return false;
  return existsSync(join(folder, 'postgres', 'owner.json')) || Date.now() - stats.mtimeMs > 600_000;
}

declare global {
  var endTestServer: (() => Promise<void>) | undefined;
}

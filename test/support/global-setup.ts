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
import { makeScratchFolder, scratch } from './scratch';

const prefix = 'switchboard-test-';

/** One server a run, with a migrated template; what it started is ended by the global teardown. */
export default async function globalSetup(): Promise<void> {
  await removeKilledRuns();
  const given = process.env['TEST_DATABASE_URL'];
  const server = given ? { url: given, ownerUrl: given, stop: () => Promise.resolve() } : await ownServer();
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

async function ownServer() {
  const folder = makeScratchFolder(prefix);
  // The server may run under another account and has to pass through.
  chmodSync(folder, 0o711);
  const compiled = join(folder, 'compiled');
  mkdirSync(compiled);
  process.env['SWITCHBOARD_TEST_COMPILED'] = compiled;
  const server = await startEmbeddedPostgres({ dataFolder: folder, durable: false });
  for (const url of [server.url, server.ownerUrl]) await logInQuickly(server.ownerUrl, new URL(url));
  // A login that its client leaves half done holds up every new database until this time, a minute by default.
  await administer(server.ownerUrl, `ALTER SYSTEM SET authentication_timeout = '10s'`);
  await administer(server.ownerUrl, 'SELECT pg_reload_conf()');
  const stop = async () => {
    await server.stop();
    for (const path of [server.folder, folder]) rmSync(path, { recursive: true, force: true });
  };
  return { ...server, stop };
}

/** Thousands of connections log in: of passwords kept with one iteration each computes little. */
async function logInQuickly(ownerUrl: string, { username, password }: URL): Promise<void> {
  await administer(ownerUrl, `SET scram_iterations = 1; ALTER ROLE ${username} PASSWORD '${password}'`);
}

/** A run that was killed could not end its server. */
async function removeKilledRuns(): Promise<void> {
  const folders = readdirSync(scratch()).filter((name) => name.startsWith(prefix));
  for (const folder of folders.map((name) => join(scratch(), name)).filter(isFinished)) {
    try {
      await stopAbandonedPostgres(folder);
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (!(error instanceof DataFolderInUse)) throw error;
    }
  }
}

/** A folder of ours that once had an owner; a young one without an owner may belong to a run that just begins. */
function isFinished(folder: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!found || found.uid !== process.getuid?.()) return false;
  return existsSync(join(folder, 'postgres', 'owner.json')) || Date.now() - found.mtimeMs > 600_000;
}

declare global {
  var endTestServer: (() => Promise<void>) | undefined;
}

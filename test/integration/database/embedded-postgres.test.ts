import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  DataFolderInUse,
  type EmbeddedPostgres,
  type SupervisorEvent,
  startEmbeddedPostgres,
  stopAbandonedPostgres,
} from '#inside/platform/database/embedded-postgres';
import { runningProcess } from '#inside/platform/database/embedded/processes';
import { RestoredPostgres } from '#product/platform';
import { runChild } from '../../support/child';
import { inSession } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';

const instance = join(__dirname, 'embedded-instance.process.ts');
/** Folders with this name are removed by the global setup of a later run if a run was killed. */
const scratchFolder = makeScratchFolder('switchboard-test-');
const dataFolder = join(scratchFolder, 'data');
const serverFolder = join(dataFolder, 'postgres');

beforeAll(() => chmodSync(scratchFolder, 0o711));

afterAll(async () => {
  await stopAbandonedPostgres(dataFolder);
  rmSync(scratchFolder, { recursive: true, force: true });
});

const start = () => startEmbeddedPostgres({ dataFolder, durable: false });

const query = (url: string, sql: string): Promise<unknown[][]> =>
  inSession(url, async (session) => (await session.query<unknown[]>({ text: sql, rowMode: 'array' })).rows);

const postmaster = () =>
  Number(readFileSync(join(serverFolder, 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0]);
const readNotes = async (url: string) => (await query(url, 'SELECT text FROM note')).flat();

async function withServer<T>(work: (server: EmbeddedPostgres) => Promise<T>): Promise<T> {
  const server = await start();
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** Polls, because the system does not notify about the end of a process that is not a child. */
async function waitForExit(pid: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (runningProcess(pid)) {
    if (performance.now() > deadline) throw new Error(`process ${pid} does not end`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('the first start creates a cluster, and the next one finds its data', async () => {
  const pid = await withServer(async (server) => {
    await query(server.ownerUrl, 'CREATE TABLE note AS SELECT 1 AS id, $$kept$$ AS text');
    await query(server.ownerUrl, 'GRANT SELECT ON note TO PUBLIC');
    return postmaster();
  });
  expect(runningProcess(pid)).toBeUndefined();
  await withServer(async (server) => expect(await readNotes(server.url)).toEqual(['kept']));
});

test('the login of the service owns no objects, and the passwords are readable only by their owner', async () => {
  await withServer(async (server) => {
    await expect(query(server.url, 'CREATE TABLE other (id int)')).rejects.toThrow('permission denied');
    await expect(query(server.url, 'CREATE ROLE other')).rejects.toThrow('permission denied');
    const guessedUrl = server.url.replace(/:[0-9a-f]+@/, ':guess@');
    await expect(query(guessedUrl, 'SELECT 1')).rejects.toThrow('password authentication failed');
  });
  expect(statSync(join(serverFolder, 'passwords.json')).mode & 0o777).toBe(0o600);
});

test('a second instance is refused while the first is running', async () => {
  await withServer(async (server) => {
    const refusal = await start().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(DataFolderInUse);
    expect(String(refusal)).toContain(
      `The data folder ${dataFolder} is in use by the process ${process.pid}.`,
    );
    const { code, complaint } = await runChild(instance, [dataFolder]).finish();
    expect([code, complaint]).toEqual([1, expect.stringContaining('DataFolderInUse: ')]);
    expect(await readNotes(server.url)).toEqual(['kept']);
  });
});

test('the server of a killed process is taken over', async () => {
  const killedChild = runChild(instance, [dataFolder]);
  const url = await killedChild.line();
  const orphan = postmaster();
  killedChild.kill();
  await killedChild.ended;
  await withServer(async (server) => {
    expect(postmaster()).toBe(orphan);
    expect(server.url).toBe(url);
    expect(await readNotes(server.url)).toEqual(['kept']);
  });
  expect(runningProcess(orphan)).toBeUndefined();
});

test('the data is recovered after both processes were killed', async () => {
  const killedChild = runChild(instance, [dataFolder]);
  await killedChild.line();
  const pid = postmaster();
  killedChild.kill();
  process.kill(pid, 'SIGKILL');
  await killedChild.ended;
  await withServer(async (server) => {
    expect(postmaster()).not.toBe(pid);
    expect(await readNotes(server.url)).toEqual(['kept']);
  });
});

test('SIGTERM to the process that holds the server leaves no process running', async () => {
  const child = runChild(instance, [dataFolder]);
  await child.line();
  const pid = postmaster();
  child.signal('SIGTERM');
  expect(await child.finish()).toMatchObject({ code: 0, complaint: '' });
  expect(runningProcess(pid)).toBeUndefined();
  expect(existsSync(join(serverFolder, 'owner.json'))).toBe(false);
});

/** Starts a server and lets the test wait for supervisor events. */
async function startSupervised(giveUpMs: number) {
  const events: SupervisorEvent[] = [];
  let wake = (): void => undefined;
  const server = await startEmbeddedPostgres({
    dataFolder,
    durable: false,
    supervision: {
      giveUpMs,
      report: (event) => {
        events.push(event);
        wake();
      },
    },
  });
  const waitForEvent = async (kind: SupervisorEvent['kind'], times = 1): Promise<void> => {
    while (events.filter((event) => event.kind === kind).length < times)
      await new Promise<void>((resolve) => (wake = resolve));
  };
  return { server, happened: waitForEvent };
}

test('a server that crashes is restarted at the same address every time', async () => {
  const { server, happened } = await startSupervised(60_000);
  for (const times of [1, 2]) {
    process.kill(postmaster(), 'SIGKILL');
    await happened('restarted', times);
    expect(await readNotes(server.url)).toEqual(['kept']);
  }
  const pid = postmaster();
  await server.stop();
  expect(runningProcess(pid)).toBeUndefined();
});

test('a server that was taken over is restarted as well', async () => {
  const killedChild = runChild(instance, [dataFolder]);
  await killedChild.line();
  killedChild.kill();
  await killedChild.ended;
  const { server, happened } = await startSupervised(60_000);
  process.kill(postmaster(), 'SIGKILL');
  await happened('restarted');
  expect(await readNotes(server.url)).toEqual(['kept']);
  await server.stop();
});

test('a server that cannot be restarted is reported', async () => {
  const { server, happened } = await startSupervised(0);
  const version = join(serverFolder, 'cluster', 'PG_VERSION');
  const text = readFileSync(version);
  writeFileSync(version, 'none');
  try {
    process.kill(postmaster(), 'SIGKILL');
    await happened('given-up');
    await server.exited;
    await server.stop();
  } finally {
    writeFileSync(version, text);
  }
});

test('a process with the pid of an earlier server is not mistaken for it', async () => {
  writeFileSync(join(serverFolder, 'cluster', 'postmaster.pid'), `${process.pid}\n${serverFolder}\n0\n1\n`);
  await withServer(async (server) => expect(await readNotes(server.url)).toEqual(['kept']));
});

test('a server whose account cannot reach the data folder uses another folder, and finds it again', async () => {
  const [home, moved, sharedFolder] = [
    join(scratchFolder, 'home'),
    join(scratchFolder, 'moved'),
    join(scratchFolder, 'shared'),
  ];
  const startAndStop = (folder: string) =>
    startEmbeddedPostgres({ dataFolder: join(folder, 'data'), sharedFolder, durable: false });
  mkdirSync(home, { mode: 0o700 });
  const firstStart = await startAndStop(home);
  try {
    // Only root starts the server under another account.
    expect(firstStart.folder.startsWith(process.getuid?.() === 0 ? sharedFolder : home)).toBe(true);
    await query(firstStart.ownerUrl, 'CREATE TABLE note AS SELECT $$kept$$ AS text');
  } finally {
    await firstStart.stop();
  }
  renameSync(home, moved);
  const secondStart = await startAndStop(moved);
  try {
    expect(await readNotes(secondStart.ownerUrl)).toEqual(['kept']);
  } finally {
    await secondStart.stop();
  }
});

test('a server without any reachable folder does not start, and the message names the account to use', async () => {
  const [home, sharedFolder] = [join(scratchFolder, 'closed'), join(scratchFolder, 'closed-too')];
  for (const folder of [home, sharedFolder]) mkdirSync(folder, { mode: 0o700 });
  const dataFolder = join(home, 'data');
  const restored = RestoredPostgres.prepare(dataFolder, sharedFolder);
  // A non-root user needs no other account.
  if (process.getuid?.() === 0)
    await expect(restored).rejects.toThrow(/cannot enter .* Run this as the user/);
  else await expect(restored).resolves.toBeDefined();
  expect(readdirSync(sharedFolder)).toEqual([]);
});

test('a moved server folder is reported as missing instead of being created again', async () => {
  const otherFolder = join(scratchFolder, 'elsewhere');
  mkdirSync(join(otherFolder, 'postgres'), { recursive: true });
  writeFileSync(join(otherFolder, 'postgres', 'location'), join(scratchFolder, 'deleted'));
  await expect(startEmbeddedPostgres({ dataFolder: otherFolder })).rejects.toThrow('which is gone');
});

test('a cluster without its password file is not opened, and the message names the file', async () => {
  const passwords = join(serverFolder, 'passwords.json');
  const passwordsContent = readFileSync(passwords);
  rmSync(passwords);
  try {
    await expect(start()).rejects.toThrow(`The file ${passwords} is missing`);
  } finally {
    writeFileSync(passwords, passwordsContent, { mode: 0o600 });
  }
});

test('the server of a killed process can be stopped by another process', async () => {
  const killedChild = runChild(instance, [dataFolder]);
  await killedChild.line();
  const orphan = postmaster();
  await expect(stopAbandonedPostgres(dataFolder)).rejects.toThrow(DataFolderInUse);
  killedChild.kill();
  await killedChild.ended;
  await stopAbandonedPostgres(dataFolder);
  await waitForExit(orphan);
});

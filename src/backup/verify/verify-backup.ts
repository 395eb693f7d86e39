import { createReadStream, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { ActivityLog, AuditChain, ChainBreaks, headsIn, verifyExport } from '../../audit';
import { verifyMoney, wholeFrames } from '../../billing';
import { mispricedRecords } from '../../catalogue';
import {
  Database,
  type Logger,
  readOrCreateSecrets,
  removeServerFolder,
  Settings,
  startEmbeddedPostgres,
  survivesLostConnections,
} from '../../platform';
import type { Choice } from '../backups';
import { type Manifest, markVerified } from '../manifest';
import { type Restored, restoreBackup, type RestoreProgress } from '../restore/restore-backup';
import type { BackupKey } from '../seal/backup-key';
import type { BackupTarget } from '../target/backup-target';

export interface VerifyOptions {
  readonly target: BackupTarget;
  readonly key: BackupKey;
  readonly choice: Choice;
  /** The restored database lies below this folder for the moment. */
  readonly scratch: string;
  readonly settings: Settings;
  /** Of the application: prices are read by them. */
  readonly entities: DataSourceOptions['entities'];
  readonly logger: Logger;
  readonly progress?: (progress: RestoreProgress) => void;
  readonly signal?: AbortSignal;
}

interface Examined {
  readonly name: string;
  /** Empty: it holds. */
  readonly wrong: readonly string[];
}

export interface Verification {
  readonly restored: Restored;
  readonly examined: readonly Examined[];
  readonly holds: boolean;
}

const MOST_TOLD = 20;

/** Restores a backup aside, examines what came of it as `money:verify` and `audit:verify` do, and removes it again. */
export async function verifyBackup(options: VerifyOptions): Promise<Verification> {
  const { target, key, choice, scratch, progress, signal } = options;
  await mkdir(scratch, { recursive: true, mode: 0o711 });
  const folder = await mkdtemp(join(scratch, 'verify-'));
  try {
    const restored = await restoreBackup({
      ...choice,
      target,
      key,
      into: folder,
      ...(progress === undefined ? {} : { progress }),
      ...(signal === undefined ? {} : { signal }),
    });
    const { cluster, files } = choice.manifest;
    const examined = cluster === null ? examineFiles(folder, files) : await examine(folder, options);
    const holds = examined.every(({ wrong }) => wrong.length === 0);
    if (holds)
      await markVerified(target, key, choice.manifest.id, {
        at: new Date().toISOString(),
        moment: restored.moment.toISOString(),
      });
    return { restored, examined, holds };
  } finally {
    removeServerFolder(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** All that can be known without the database. Unpacking has compared the checksums. */
function examineFiles(folder: string, files: Manifest['files']): Examined[] {
  const sizeOf = (path: string): number => statSync(join(folder, path)).size;
  const cut = files.filter(({ path, bytes }) => sizeOf(path) !== bytes).map(({ path }) => path);
  const torn = files
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.journal'))
    .filter((path) => {
      const content = readFileSync(join(folder, path));
      return wholeFrames(content).length !== content.length;
    });
  return [
    { name: 'every file is whole', wrong: cut },
    { name: 'every journal can be read to its end', wrong: torn },
  ];
}

async function examine(folder: string, options: VerifyOptions): Promise<Examined[]> {
  const { signal } = options;
  const server = await startEmbeddedPostgres({ dataFolder: folder });
  // Checks of a large database take long: they end with their connections.
  const cut = (): void => void server.stop().catch(() => undefined);
  signal?.addEventListener('abort', cut, { once: true });
  try {
    signal?.throwIfAborted();
    const source = new DataSource({
      type: 'postgres',
      url: server.ownerUrl,
      extra: survivesLostConnections,
      poolSize: 2,
      entities: options.entities ?? [],
    });
    const database = new Database(await source.initialize());
    try {
      return [...(await money(database)), await prices(database), await audit(database, folder, options)];
    } finally {
      await source.destroy();
    }
  } finally {
    signal?.removeEventListener('abort', cut);
    await server.stop();
  }
}

async function money(database: Database): Promise<Examined[]> {
  const { checks } = await verifyMoney(database, { full: true });
  return checks.map(({ name, wrong }) => ({ name, wrong: wrong.map((each) => JSON.stringify(each)) }));
}

async function prices(database: Database): Promise<Examined> {
  const wrong: string[] = [];
  for await (const { requestId, storedNano, recomputedNano } of mispricedRecords(database)) {
    wrong.push(`request ${requestId} costs ${storedNano}, at its price ${recomputedNano ?? 'unknown'}`);
    if (wrong.length === MOST_TOLD) break;
  }
  return { name: 'a record costs what its usage does at its price', wrong };
}

/** An export of all chains, compared with the anchor that was in the same backup. */
async function audit(
  database: Database,
  folder: string,
  { settings, logger }: VerifyOptions,
): Promise<Examined> {
  const path = join(folder, 'audit-export.jsonl');
  const anchor = await readFile(join(folder, 'audit', 'anchor.jsonl'), 'utf8').catch(() => '');
  const masterKey = (settings as Partial<Settings>).masterKey ?? readOrCreateSecrets(folder).masterKey;
  const there = Object.freeze(Object.assign(new Settings(), settings, { dataFolder: folder, masterKey }));
  const chain = new AuditChain(database, logger, there, new ChainBreaks(database, new ActivityLog(database)));
  const file = await open(path, 'wx', 0o600);
  try {
    await chain.export(async (lines) => void (await file.write(lines)));
  } finally {
    await file.close();
  }
  const { findings, count } = await verifyExport(createReadStream(path), {
    everySignature: false,
    anchor: headsIn(anchor),
  });
  const told = findings.slice(0, MOST_TOLD).map((finding) => JSON.stringify(finding));
  return {
    name: 'the activity log is as it was sealed',
    wrong: count > told.length ? [...told, `${count} in all`] : told,
  };
}

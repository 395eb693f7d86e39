import { createReadStream, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { ActivityLog, AuditChain, ChainBreaks, headsIn, verifyExport } from '../../audit';
import { verifyMoney, completeFrames } from '../../billing';
import { mispricedRecords } from '../../catalogue';
import {
  Database,
  type Logger,
  readOrCreateSecrets,
  removeServerFolder,
  Settings,
  startEmbeddedPostgres,
  resilientPoolOptions,
} from '../../platform';
import type { ChosenBackup } from '../backups';
import { type Manifest, markVerified } from '../manifest';
import { type RestoreResult, restoreBackup, type RestoreProgress } from '../restore/restore-backup';
import type { BackupKey } from '../seal/backup-key';
import type { BackupTarget } from '../target/backup-target';

export interface VerifyBackupOptions {
  readonly target: BackupTarget;
  readonly key: BackupKey;
  readonly choice: ChosenBackup;
  readonly scratch: string;
  readonly settings: Settings;
  readonly entities: DataSourceOptions['entities'];
  readonly logger: Logger;
  readonly progress?: (progress: RestoreProgress) => void;
  readonly signal?: AbortSignal;
}

interface BackupCheck {
  readonly name: string;
  readonly wrong: readonly string[];
}

export interface BackupVerification {
  readonly restored: RestoreResult;
  readonly examined: readonly BackupCheck[];
  readonly holds: boolean;
}

const MAX_REPORTED = 20;

export async function verifyBackup(options: VerifyBackupOptions): Promise<BackupVerification> {
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
    const checks = cluster === null ? checkFiles(folder, files) : await checkDatabase(folder, options);
    const holds = checks.every(({ wrong }) => wrong.length === 0);
    if (holds)
      await markVerified(target, key, choice.manifest.id, {
        at: new Date().toISOString(),
        moment: restored.moment.toISOString(),
      });
    return { restored, examined: checks, holds };
  } finally {
    removeServerFolder(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Checks everything that can be known without the database. Unpacking has compared the checksums. */
function checkFiles(folder: string, files: Manifest['files']): BackupCheck[] {
  const sizeOf = (path: string): number => statSync(join(folder, path)).size;
  const truncated = files.filter(({ path, bytes }) => sizeOf(path) !== bytes).map(({ path }) => path);
  const torn = files
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.journal'))
    .filter((path) => {
      const content = readFileSync(join(folder, path));
      return completeFrames(content).length !== content.length;
    });
  return [
    { name: 'every file is whole', wrong: truncated },
    { name: 'every journal can be read to its end', wrong: torn },
  ];
}

async function checkDatabase(folder: string, options: VerifyBackupOptions): Promise<BackupCheck[]> {
  const { signal } = options;
  const server = await startEmbeddedPostgres({ dataFolder: folder });
  // Checks of a large database take long; on abort they end with their connections.
  const stop = (): void => void server.stop().catch(() => undefined);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    signal?.throwIfAborted();
    const source = new DataSource({
      type: 'postgres',
      url: server.ownerUrl,
      extra: resilientPoolOptions,
      poolSize: 2,
      entities: options.entities ?? [],
    });
    const database = new Database(await source.initialize());
    try {
      return [
        ...(await checkMoney(database)),
        await checkPrices(database),
        await checkAudit(database, folder, options),
      ];
    } finally {
      await source.destroy();
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    await server.stop();
  }
}

async function checkMoney(database: Database): Promise<BackupCheck[]> {
  const { checks } = await verifyMoney(database, { full: true });
  return checks.map(({ name, wrong }) => ({ name, wrong: wrong.map((each) => JSON.stringify(each)) }));
}

async function checkPrices(database: Database): Promise<BackupCheck> {
  const wrong: string[] = [];
  for await (const { requestId, storedNano, recomputedNano } of mispricedRecords(database)) {
    wrong.push(`request ${requestId} costs ${storedNano}, at its price ${recomputedNano ?? 'unknown'}`);
    if (wrong.length === MAX_REPORTED) break;
  }
  return { name: 'a record costs what its usage does at its price', wrong };
}

async function checkAudit(
  database: Database,
  folder: string,
  { settings, logger }: VerifyBackupOptions,
): Promise<BackupCheck> {
  const path = join(folder, 'audit-export.jsonl');
  const anchor = await readFile(join(folder, 'audit', 'anchor.jsonl'), 'utf8').catch(() => '');
  const masterKey = (settings as Partial<Settings>).masterKey ?? readOrCreateSecrets(folder).masterKey;
  const restoredSettings = Object.freeze(
    Object.assign(new Settings(), settings, { dataFolder: folder, masterKey }),
  );
  const chain = new AuditChain(
    database,
    logger,
    restoredSettings,
    new ChainBreaks(database, new ActivityLog(database)),
  );
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
  const reported = findings.slice(0, MAX_REPORTED).map((finding) => JSON.stringify(finding));
  return {
    name: 'the activity log is as it was sealed',
    wrong: count > reported.length ? [...reported, `${count} in all`] : reported,
  };
}

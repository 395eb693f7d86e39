import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { DAY_MS, parseJsonText } from '../../kernel';
import { Database, Logger, ownFolder, Settings, type Tx } from '../../platform';
import { BLOCK_VERSION, bytesOf, digestOfLine, HASH_BYTES } from './block';
import { type ActivityLineRow, lineOf } from './entry-line';
import type { Finding } from './verify/findings';

interface WitnessedEntry {
  readonly id: string;
  readonly chain: number;
  readonly digest: string;
  readonly occurredAt: string;
}

interface EntrySealState {
  readonly id: string;
  /** Null if the entry is in no block. */
  readonly digest: Buffer | null;
  readonly version: number | null;
  readonly waits: boolean;
}

/** More entries wait only if nothing was sealed for hours, which is reported by then. */
const MAX_AWAITED = 100_000;
const BATCH_SIZE = 1_000;
/** Retention keeps the last month; older entries from an earlier run might have been removed by it. */
const MAX_AGE_MS = 25 * DAY_MS;

/** A single statement, and so a single snapshot: an entry waits, is in a block, or is gone. */
const SEAL_STATES = `
  SELECT wanted.id::text, sealed.digest, sealed.version,
         EXISTS (SELECT FROM activity_unsealed u JOIN activity a ON a.id = u.entry_id
                  WHERE u.entry_id = wanted.id) AS waits
    FROM unnest($1::bigint[]) AS wanted (id)
    LEFT JOIN (SELECT entry.id, b.version,
                      substring(b.digests FROM ((entry.place - 1) * ${HASH_BYTES} + 1)::integer FOR ${HASH_BYTES}) AS digest
                 FROM activity_block b, unnest(b.entries) WITH ORDINALITY AS entry (id, place)
                WHERE b.sealed_at >= $2::timestamptz - interval '1 hour' AND b.entries && $1::bigint[]) AS sealed
      ON sealed.id = wanted.id`;

/**
 * Remembers outside the database every entry that this node committed, until it was sealed as written. Only this
 * detects entries changed or removed before their seal; rolled-back entries are never remembered.
 */
@Injectable()
export class SealWitness {
  private readonly written = new WeakMap<Tx, WitnessedEntry[]>();
  private readonly awaited = new Map<string, WitnessedEntry>();
  private readonly path: string;
  private isFileWritable = true;

  constructor(
    private readonly database: Database,
    settings: Settings,
    private readonly logger: Logger,
  ) {
    this.path = join(ownFolder(settings.dataFolder), 'audit', 'awaited.jsonl');
    for (const entry of readAwaited(this.path)) this.awaited.set(entry.id, entry);
    database.afterCommit((tx) => this.committed(tx));
  }

  recordWritten(tx: Tx, row: ActivityLineRow): void {
    const entry = {
      id: row.id,
      chain: row.organisation_id ?? 0,
      digest: digestOfLine(Buffer.from(lineOf(row))).toString('base64url'),
      occurredAt: row.occurred_at,
    };
    this.written.set(tx, [...(this.written.get(tx) ?? []), entry]);
  }

  /** Time of the oldest entry that was not yet seen sealed; null without one. */
  get waitingSince(): Date | null {
    const [oldest] = this.awaited.values();
    return oldest === undefined ? null : new Date(oldest.occurredAt);
  }

  /** Reports the outcome of awaited entries; an entry stays awaited until its report is saved. */
  async check(report: (findings: readonly Finding[]) => Promise<void>): Promise<void> {
    while (this.awaited.size > 0) {
      const batch = [...this.awaited.values()].slice(0, BATCH_SIZE);
      const since = batch
        .map(({ occurredAt }) => occurredAt)
        .reduce((one, other) => (one < other ? one : other));
      const states = await this.database.query<EntrySealState>(SEAL_STATES, [
        batch.map(({ id }) => id),
        since,
      ]);
      const finished = states.filter(({ digest, waits }) => digest !== null || !waits);
      const findings = finished.flatMap((state) => {
        const entry = this.awaited.get(state.id);
        return entry === undefined ? [] : findingsIn(entry, state);
      });
      if (findings.length > 0) await report(findings);
      for (const { id } of finished) this.awaited.delete(id);
      if (finished.length < batch.length) break;
    }
    if (this.awaited.size === 0) this.clearFile();
  }

  private committed(tx: Tx): void {
    const entries = this.written.get(tx) ?? [];
    this.written.delete(tx);
    if (entries.length === 0 || this.awaited.size >= MAX_AWAITED) return;
    for (const entry of entries) this.awaited.set(entry.id, entry);
    this.tryWrite(() => {
      mkdirSync(dirname(this.path), { recursive: true });
      appendFileSync(this.path, entries.map((entry) => `\n${JSON.stringify(entry)}`).join(''), {
        mode: 0o600,
      });
    });
  }

  private clearFile(): void {
    this.tryWrite(() => {
      if (existsSync(this.path)) truncateSync(this.path);
    });
  }

  /** If the file cannot be written, awaited entries are remembered until the process ends. */
  private tryWrite(write: () => void): void {
    try {
      write();
      this.isFileWritable = true;
    } catch (error) {
      if (this.isFileWritable)
        this.logger.warn('entries that await their seal could not be written down', { error });
      this.isFileWritable = false;
    }
  }
}

const BEFORE_ITS_SEAL = 'before it was sealed, as its writer knows';

function findingsIn(
  { id, chain, digest: expectedDigest }: WitnessedEntry,
  { digest, version }: EntrySealState,
): Finding[] {
  const entry = Number(id);
  if (digest === null) return [{ kind: 'missing', chain, entry, detail: `removed ${BEFORE_ITS_SEAL}` }];
  // Lines of another version differ.
  if (version !== BLOCK_VERSION || digest.toString('base64url') === expectedDigest) return [];
  return [{ kind: 'edited', chain, entry, detail: `changed ${BEFORE_ITS_SEAL}` }];
}

function readAwaited(path: string): WitnessedEntry[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.flatMap((line) => readLine(line) ?? []).slice(-MAX_AWAITED);
}

/** Returns null for a line that a crash cut off, and for one that is too old. */
function readLine(line: string): WitnessedEntry | null {
  try {
    const { id, chain, digest, occurredAt } = parseJsonText(line) as WitnessedEntry;
    const isComplete = /^\d+$/.test(id) && Number.isInteger(chain) && bytesOf(digest, HASH_BYTES).length > 0;
    const isRecent = Date.parse(occurredAt) > Date.now() - MAX_AGE_MS;
    return isComplete && isRecent ? { id, chain, digest, occurredAt } : null;
  } catch {
    return null;
  }
}

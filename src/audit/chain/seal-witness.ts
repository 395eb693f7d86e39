import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { DAY_MS, parseJsonText } from '../../kernel';
import { Database, Logger, ownFolder, Settings, type Tx } from '../../platform';
import { BLOCK_VERSION, bytesOf, digestOfLine, HASH_BYTES } from './block';
import { type LineRow, lineOf } from './entry-line';
import type { Finding } from './verify/findings';

interface Witnessed {
  readonly id: string;
  readonly chain: number;
  /** It covers the entry's line, as it was written. */
  readonly digest: string;
  readonly occurredAt: string;
}

interface Fate {
  readonly id: string;
  /** Null: it is in no block. */
  readonly digest: Buffer | null;
  readonly version: number | null;
  readonly waits: boolean;
}

/** More can wait only while nothing is sealed for hours, which is reported by then. */
const MOST_AWAITED = 100_000;
const MOST_AT_ONCE = 1_000;
/** Retention keeps the last month; what an earlier run left behind longer ago may have gone with it. */
const OLDEST_MS = 25 * DAY_MS;

/** One statement, and so one snapshot: an entry waits, or it is in a block, or it is gone. */
const FATES = `
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
 * Remembers, outside the database, every entry that this node committed, until it has seen it sealed as it was written.
 * Entries that are changed or removed before their seal are found by this alone. An entry of a transaction that was
 * rolled back is never remembered, and no two writers wait for each other.
 */
@Injectable()
export class SealWitness {
  private readonly written = new WeakMap<Tx, Witnessed[]>();
  private readonly awaited = new Map<string, Witnessed>();
  private readonly path: string;
  private isKept = true;

  constructor(
    private readonly database: Database,
    settings: Settings,
    private readonly logger: Logger,
  ) {
    this.path = join(ownFolder(settings.dataFolder), 'audit', 'awaited.jsonl');
    for (const entry of leftBehind(this.path)) this.awaited.set(entry.id, entry);
    database.afterCommit((tx) => this.committed(tx));
  }

  wrote(tx: Tx, row: LineRow): void {
    const entry = {
      id: row.id,
      chain: row.organisation_id ?? 0,
      digest: digestOfLine(Buffer.from(lineOf(row))).toString('base64url'),
      occurredAt: row.occurred_at,
    };
    this.written.set(tx, [...(this.written.get(tx) ?? []), entry]);
  }

  /** The time of the oldest entry that was not seen sealed; null without one. */
  get waitingSince(): Date | null {
    const [oldest] = this.awaited.values();
    return oldest === undefined ? null : new Date(oldest.occurredAt);
  }

  /** Reports what became of the entries that were awaited; an entry is awaited until its report has been kept. */
  async check(report: (findings: readonly Finding[]) => Promise<void>): Promise<void> {
    while (this.awaited.size > 0) {
      const some = [...this.awaited.values()].slice(0, MOST_AT_ONCE);
      const since = some
        .map(({ occurredAt }) => occurredAt)
        .reduce((one, other) => (one < other ? one : other));
      const fates = await this.database.query<Fate>(FATES, [some.map(({ id }) => id), since]);
      const over = fates.filter(({ digest, waits }) => digest !== null || !waits);
      const findings = over.flatMap((fate) => {
        const entry = this.awaited.get(fate.id);
        return entry === undefined ? [] : findingsIn(entry, fate);
      });
      if (findings.length > 0) await report(findings);
      for (const { id } of over) this.awaited.delete(id);
      if (over.length < some.length) break;
    }
    if (this.awaited.size === 0) this.forget();
  }

  private committed(tx: Tx): void {
    const entries = this.written.get(tx) ?? [];
    this.written.delete(tx);
    if (entries.length === 0 || this.awaited.size >= MOST_AWAITED) return;
    for (const entry of entries) this.awaited.set(entry.id, entry);
    this.keep(() => {
      mkdirSync(dirname(this.path), { recursive: true });
      appendFileSync(this.path, entries.map((entry) => `\n${JSON.stringify(entry)}`).join(''), {
        mode: 0o600,
      });
    });
  }

  private forget(): void {
    this.keep(() => {
      if (existsSync(this.path)) truncateSync(this.path);
    });
  }

  /** Without the file, what waits is remembered until the process ends. */
  private keep(write: () => void): void {
    try {
      write();
      this.isKept = true;
    } catch (error) {
      if (this.isKept) this.logger.warn('entries that await their seal could not be written down', { error });
      this.isKept = false;
    }
  }
}

const BEFORE_ITS_SEAL = 'before it was sealed, as its writer knows';

function findingsIn({ id, chain, digest: wanted }: Witnessed, { digest, version }: Fate): Finding[] {
  const entry = Number(id);
  if (digest === null) return [{ kind: 'missing', chain, entry, detail: `removed ${BEFORE_ITS_SEAL}` }];
  // A node of another version has other lines.
  if (version !== BLOCK_VERSION || digest.toString('base64url') === wanted) return [];
  return [{ kind: 'edited', chain, entry, detail: `changed ${BEFORE_ITS_SEAL}` }];
}

function leftBehind(path: string): Witnessed[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.flatMap((line) => readLine(line) ?? []).slice(-MOST_AWAITED);
}

/** It is null for a line that a crash cut, and for one that is too old to be found. */
function readLine(line: string): Witnessed | null {
  try {
    const { id, chain, digest, occurredAt } = parseJsonText(line) as Witnessed;
    const isWhole = /^\d+$/.test(id) && Number.isInteger(chain) && bytesOf(digest, HASH_BYTES).length > 0;
    const isRecent = Date.parse(occurredAt) > Date.now() - OLDEST_MS;
    return isWhole && isRecent ? { id, chain, digest, occurredAt } : null;
  } catch {
    return null;
  }
}

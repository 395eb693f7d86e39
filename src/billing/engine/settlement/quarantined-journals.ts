import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Logger } from '@nestjs/common';
import { readRecord, type WrittenRecord } from '../../../audit';
import type { Database, QuarantineState, TableRow } from '../../../platform';
import type { MoneyStore } from '../store/money-store';
import {
  contentOf,
  journalsIn,
  journalsOfDeadNodes,
  replayJournals,
  type ReplayReport,
} from './journal-replay';

const ROWS_PER_INSERT = 1_000;

/**
 * Journals that might charge requests missing from the restored database. They are kept apart until an operator has
 * decided.
 */
export class QuarantinedJournals {
  private readonly logger = new Logger(QuarantinedJournals.name);
  private readonly sourceFolder: string;
  private readonly targetFolder: string;

  constructor(
    dataFolder: string,
    private readonly database: Database,
    private readonly quarantine: QuarantineState,
  ) {
    this.sourceFolder = join(dataFolder, 'journal');
    this.targetFolder = join(dataFolder, 'set-aside');
  }

  get isActive(): boolean {
    return this.quarantine.open !== null;
  }

  /** Moves the journals of dead nodes here, and first records what they would charge, for the operator. */
  async moveJournals(store: MoneyStore): Promise<void> {
    const { open } = this.quarantine;
    const journals = open === null ? [] : await journalsOfDeadNodes(journalsIn(this.sourceFolder), store);
    if (open === null || journals.length === 0) return;
    mkdirSync(this.targetFolder, { recursive: true, mode: 0o700 });
    for (const journal of journals) {
      const { records } = contentOf(journal);
      for (let at = 0; at < records.length; at += ROWS_PER_INSERT)
        await this.recordCharges(open.id, journal.node, records.slice(at, at + ROWS_PER_INSERT));
      await this.database.query(
        `INSERT INTO quarantine_journal (quarantine_id, file, node, records) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING`,
        [open.id, basename(journal.file), journal.node, records.length],
      );
      renameSync(journal.file, join(this.targetFolder, basename(journal.file)));
      this.logger.warn(`The journal ${journal.file} was set aside: ${records.length} records.`);
    }
  }

  /** Settles after the release, or at a later start if this node was away then. */
  async settle(store: MoneyStore): Promise<ReplayReport | null> {
    if (this.isActive || !existsSync(this.targetFolder)) return null;
    const [last] = await this.database.rows<TableRow<'quarantine', 'moment, decisions'>>(
      'SELECT moment, decisions FROM quarantine WHERE decisions IS NOT NULL ORDER BY id DESC LIMIT 1',
    );
    if (last === undefined) return null;
    const { journals } = last.decisions as { readonly journals?: string };
    return replayJournals(this.targetFolder, store, {
      leaveAfter: journals === 'leave' ? last.moment : null,
    });
  }

  private async recordCharges(id: number, node: string, records: readonly WrittenRecord[]): Promise<void> {
    const rows = records.map(({ requestId, createdMs, keyId, costNano, text }) => ({
      request_id: requestId,
      created_at: new Date(createdMs).toISOString(),
      key_id: keyId,
      model: readRecord(text).model,
      cost_nano: costNano.toString(),
    }));
    await this.database.query(
      `INSERT INTO quarantine_charge (quarantine_id, node, request_id, created_at, key_id, model, cost_nano)
       SELECT $1, $2, n.* FROM jsonb_to_recordset($3::jsonb)
         AS n (request_id uuid, created_at timestamptz, key_id bigint, model text, cost_nano bigint)
        WHERE NOT EXISTS (SELECT FROM request_record r
          WHERE r.request_id = n.request_id AND r.created_at = n.created_at)
       ON CONFLICT DO NOTHING`,
      [id, node, JSON.stringify(rows)],
    );
  }
}

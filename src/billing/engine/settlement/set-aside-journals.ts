import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Logger } from '@nestjs/common';
import { readRecord, type WrittenRecord } from '../../../audit';
import type { Database, QuarantineState, Row } from '../../../platform';
import type { MoneyStore } from '../store/money-store';
import { contentOf, journalsIn, ofDeadNodes, replayJournals, type ReplayReport } from './journal-replay';

const RECORDS_AT_ONCE = 1_000;

/** Journals may charge what the restored database does not know: they wait here until an operator has decided. */
export class SetAsideJournals {
  private readonly logger = new Logger(SetAsideJournals.name);
  private readonly from: string;
  private readonly to: string;

  constructor(
    dataFolder: string,
    private readonly database: Database,
    private readonly quarantine: QuarantineState,
  ) {
    this.from = join(dataFolder, 'journal');
    this.to = join(dataFolder, 'set-aside');
  }

  get isOpen(): boolean {
    return this.quarantine.open !== null;
  }

  /** Moves the journals of dead nodes here. What they would charge is noted first, for the operator to see. */
  async take(store: MoneyStore): Promise<void> {
    const { open } = this.quarantine;
    const found = open === null ? [] : await ofDeadNodes(journalsIn(this.from), store);
    if (open === null || found.length === 0) return;
    mkdirSync(this.to, { recursive: true, mode: 0o700 });
    for (const journal of found) {
      const { records } = contentOf(journal);
      for (let at = 0; at < records.length; at += RECORDS_AT_ONCE)
        await this.note(open.id, journal.node, records.slice(at, at + RECORDS_AT_ONCE));
      await this.database.query(
        `INSERT INTO quarantine_journal (quarantine_id, file, node, records) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING`,
        [open.id, basename(journal.file), journal.node, records.length],
      );
      renameSync(journal.file, join(this.to, basename(journal.file)));
      this.logger.warn(`The journal ${journal.file} was set aside: ${records.length} records.`);
    }
  }

  /** After the release, or at a later start where this node was away then. */
  async settle(store: MoneyStore): Promise<ReplayReport | null> {
    if (this.isOpen || !existsSync(this.to)) return null;
    const [last] = await this.database.rows<Row<'quarantine', 'moment, decisions'>>(
      'SELECT moment, decisions FROM quarantine WHERE decisions IS NOT NULL ORDER BY id DESC LIMIT 1',
    );
    if (last === undefined) return null;
    const { journals } = last.decisions as { readonly journals?: string };
    return replayJournals(this.to, store, { leaveAfter: journals === 'leave' ? last.moment : null });
  }

  private async note(id: number, node: string, records: readonly WrittenRecord[]): Promise<void> {
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

import { Injectable } from '@nestjs/common';
import { fault } from '../../../kernel';
import { Database, readRows, type TableRow, type Tx } from '../../../platform';
import { type ActivityActor, systemActor } from '../../activity/activity';
import { ActivityLog } from '../../activity/activity-log';
import { changesOf } from '../../activity/changes';
import type { Finding } from '../verify/findings';
import { chainName } from '../verify/match-strays';

export interface ChainBreak extends TableRow<'audit_break', typeof COLUMNS> {
  readonly kind: Finding['kind'];
}

const MAX_ROWS = 100;
const MAX_FINDINGS = 500;

/** The entry is 0 if the break concerns no particular one. */
const COLUMNS = 'id, chain, kind, block, last_block, entry, detail, found_at';

const ADD = `
  INSERT INTO audit_break (chain, kind, block, last_block, entry, detail)
  SELECT DISTINCT ON (chain, kind, block, entry) chain, kind, block, last_block, entry, detail
    FROM jsonb_to_recordset($1::jsonb)
         AS found (chain integer, kind text, block bigint, last_block bigint, entry bigint, detail text)
  ON CONFLICT ON CONSTRAINT audit_break_once DO NOTHING
  RETURNING ${COLUMNS}`;

/** Breaks in the chains of the activity log, each position once, until an operator acknowledges them. */
@Injectable()
export class ChainBreaks {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  /** Returns the new breaks, which are also written to the activity log. */
  async add(tx: Tx, findings: readonly Finding[]): Promise<ChainBreak[]> {
    if (findings.length === 0) return [];
    const rows = findings.slice(0, MAX_FINDINGS).map(({ chain, kind, block, lastBlock, entry, detail }) => ({
      chain: chain ?? 0,
      kind,
      block: block ?? 0,
      last_block: lastBlock ?? null,
      entry: entry ?? 0,
      detail: detail ?? null,
    }));
    const added = await readRows<ChainBreak>(tx, ADD, [JSON.stringify(rows)]);
    for (const [chain, breaks] of Map.groupBy(added, (each) => each.chain)) {
      await this.activity.write(tx, {
        action: 'log.break-found',
        object: { type: 'log', label: chainName(chain) },
        // The entry goes into the platform's chain, so that the broken chain stays unchanged.
        concerns: {},
        changes: changesOf(null, { found: breaks.map(breakText) }),
        actor: systemActor('self-check'),
      });
    }
    return added;
  }

  async listOpen(): Promise<ChainBreak[]> {
    return this.database.rows<ChainBreak>(
      `SELECT ${COLUMNS} FROM audit_break WHERE examined_at IS NULL ORDER BY id DESC LIMIT ${MAX_ROWS}`,
    );
  }

  async countOpen(): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM audit_break WHERE examined_at IS NULL',
    );
    return row?.count ?? 0;
  }

  async acknowledge(upTo: number, conclusion: string, actor: ActivityActor): Promise<number> {
    return this.database.transaction(async (tx) => {
      const [rows] = await tx.query<[TableRow<'audit_break', 'id'>[], number]>(
        `UPDATE audit_break SET examined_at = now(), examination = $2
          WHERE examined_at IS NULL AND id <= $1 RETURNING id`,
        [upTo, conclusion],
      );
      if (rows.length === 0)
        throw fault('not_found', {
          message: 'No break up to this number is open.',
          details: { reason: 'gone' },
        });
      await this.activity.write(tx, {
        action: 'log.break-examined',
        object: { type: 'log', label: 'audit chain' },
        concerns: {},
        changes: changesOf(null, { examined: rows.map(({ id }) => id) }),
        reason: conclusion,
        actor,
      });
      return rows.length;
    });
  }

  /** Returns the breaks that no email has reported yet, and marks them as reported. */
  takeUnmailed(tx: Tx): Promise<ChainBreak[]> {
    return readRows<ChainBreak>(
      tx,
      `UPDATE audit_break SET mailed_at = now() WHERE mailed_at IS NULL RETURNING ${COLUMNS}`,
    );
  }
}

/** Reads like `edited: entry 17, block 3`. */
export function breakText({ kind, block, lastBlock, entry, detail }: ChainBreak): string {
  const blocks =
    lastBlock === null || lastBlock === block ? `block ${block}` : `blocks ${block} to ${lastBlock}`;
  const position = entry === '0' ? blocks : `entry ${entry}, ${blocks}`;
  return `${kind}: ${position}${detail === null ? '' : ` (${detail})`}`;
}

import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf, systemActor } from '../../audit';
import { DAY_MS, fault } from '../../kernel';
import { Database, readRows, RepeatingJob, type TableRow, Settings } from '../../platform';
import {
  lookUpRecord,
  GRACE_DAYS,
  isProven,
  type RecordLookup,
  recordNameOf,
  recordValueOf,
} from './host-proof';

export interface HostProof {
  readonly host: string;
  readonly recordName: string;
  readonly recordValue: string;
  readonly isProven: boolean;
  readonly provenAt: Date | null;
  readonly checkedAt: Date | null;
  readonly result: RecordLookup['result'] | null;
  readonly found: string | null;
  /** When the proof ends, if the last look-up has not seen the record. */
  readonly endsAt: Date | null;
}

const OWN_COLUMNS =
  'd.host, d.organisation_id, d.proof_value, d.proven_at, d.seen_at, d.checked_at, d.check_result, d.check_found';
const COLUMNS = `${OWN_COLUMNS}, ${isProven('d')} AS is_proven`;

type ProofRow = TableRow<'reseller_domain', typeof OWN_COLUMNS> & { readonly isProven: boolean };

const MAX_HOSTS = 1_000;
const MAX_CONCURRENT = 16;

/**
 * A TXT record proves that a host belongs to the reseller; it is looked up when the host is entered, and every day (ADR
 * 58).
 */
@Injectable()
export class HostProofs {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  async ofOrganisation(organisationId: number): Promise<HostProof[]> {
    const rows = await this.database.rows<ProofRow>(
      `SELECT ${COLUMNS} FROM reseller_domain d WHERE d.organisation_id = $1 ORDER BY d.host LIMIT ${MAX_HOSTS}`,
      [organisationId],
    );
    return rows.map(proofOf);
  }

  async check(organisationId: number, host: string): Promise<HostProof> {
    const [row] = await this.database.rows<ProofRow>(
      `SELECT ${COLUMNS} FROM reseller_domain d WHERE d.host = $1 AND d.organisation_id = $2`,
      [host, organisationId],
    );
    if (row === undefined) throw fault('not_found', { param: 'host' });
    await this.examine(row);
    const proof = (await this.ofOrganisation(organisationId)).find((each) => each.host === host);
    if (proof === undefined) throw fault('not_found', { param: 'host' });
    return proof;
  }

  /**
   * Hosts that were checked longest ago come first, so that an interrupted job continues with the others the next day.
   */
  @RepeatingJob({ name: 'host-proofs', cron: '20 4 * * *', deadlineMs: 600_000 })
  async checkAll(signal: AbortSignal): Promise<void> {
    const waiting = await this.database.rows<ProofRow>(
      `SELECT ${COLUMNS} FROM reseller_domain d ORDER BY d.checked_at NULLS FIRST, d.host LIMIT ${MAX_HOSTS}`,
    );
    const work = async (): Promise<void> => {
      for (let row = waiting.shift(); row !== undefined && !signal.aborted; row = waiting.shift())
        await this.examine(row);
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
  }

  /**
   * Another owner's record ends a proof immediately. A missing record, or name servers that do not respond, end it
   * after the days of grace.
   */
  private async examine({ host, proofValue: value }: ProofRow): Promise<void> {
    const { result, found } = await lookUpRecord(host, value, this.settings.dnsServers);
    await this.database.transaction(
      async (tx) => {
        // A host that was removed and entered again meanwhile has another value.
        const [before] = await readRows<ProofRow>(
          tx,
          `SELECT ${COLUMNS} FROM reseller_domain d WHERE d.host = $1 AND d.proof_value = $2 FOR UPDATE`,
          [host, value],
        );
        if (before === undefined) return;
        const holds = result === 'seen' || (result !== 'other' && before.isProven);
        await tx.query(
          `UPDATE reseller_domain SET checked_at = now(), check_result = $2, check_found = $3,
             seen_at = CASE WHEN $2 = 'seen' THEN now() ELSE seen_at END,
             proven_at = CASE WHEN NOT $4 THEN NULL WHEN $5 THEN proven_at ELSE now() END
           WHERE host = $1`,
          [host, result, found, holds, before.isProven],
        );
        if (holds === (before.provenAt !== null)) return;
        await this.activity.write(tx, {
          action: holds ? 'organisation.domain-proven' : 'organisation.domain-proof-ended',
          object: { type: 'organisation', id: before.organisationId, label: host },
          actor: systemActor('dns'),
          concerns: { organisationId: before.organisationId },
          changes: changesOf(null, { host, record: result }),
        });
      },
      { withoutActivity: 'a proof that begins or ends writes its own entry' },
    );
  }
}

const proofOf = (row: ProofRow): HostProof => ({
  host: row.host,
  recordName: recordNameOf(row.host),
  recordValue: recordValueOf(row.proofValue),
  isProven: row.isProven,
  provenAt: row.isProven ? row.provenAt : null,
  checkedAt: row.checkedAt,
  result: row.checkResult,
  found: row.checkFound,
  endsAt:
    row.isProven && row.seenAt !== null && row.checkResult !== 'seen'
      ? new Date(row.seenAt.getTime() + GRACE_DAYS * DAY_MS)
      : null,
});

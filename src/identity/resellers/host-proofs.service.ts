import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf, systemActor } from '../../audit';
import { DAY_MS, fault } from '../../kernel';
import { Database, RepeatingJob, Settings } from '../../platform';
import { lookUpRecord, GRACE_DAYS, type RecordLookup, recordNameOf, recordValueOf } from './host-proof';
import {
  findHostProof,
  type HostProofRow,
  listHostProofs,
  listHostsToCheck,
  lockHostProof,
} from './host-proof.query';
import { recordLookup } from './host-proof.store';

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
    return (await listHostProofs(this.database, organisationId)).map(proofOf);
  }

  async check(organisationId: number, host: string): Promise<HostProof> {
    const row = await findHostProof(this.database, host, organisationId);
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
    const waiting = await listHostsToCheck(this.database);
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
  private async examine(row: HostProofRow): Promise<void> {
    const lookup = await lookUpRecord(row.host, row.proofValue, this.settings.dnsServers);
    const { result } = lookup;
    await this.database.transaction(
      async (tx) => {
        // A host that was removed and entered again meanwhile has another value.
        const before = await lockHostProof(tx, row);
        if (before === undefined) return;
        const holds = result === 'seen' || (result !== 'other' && before.isProven);
        await recordLookup(tx, before, lookup, holds);
        if (holds === (before.provenAt !== null)) return;
        await this.activity.write(tx, {
          action: holds ? 'organisation.domain-proven' : 'organisation.domain-proof-ended',
          object: { type: 'organisation', id: before.organisationId, label: before.host },
          actor: systemActor('dns'),
          concerns: { organisationId: before.organisationId },
          changes: changesOf(null, { host: before.host, record: result }),
        });
      },
      { withoutActivity: 'a proof that begins or ends writes its own entry' },
    );
  }
}

const proofOf = (row: HostProofRow): HostProof => ({
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

import { Injectable } from '@nestjs/common';
import type { Repository } from 'typeorm';
import { ActivityLog, changesOf } from '../audit';
import { type Actor, fault } from '../kernel';
import { Database, Settings, type Tx } from '../platform';
import { Organisation } from './organisation.entity';
import { findContentDecision } from './telemetry-content.query';
import { UserAccount } from './user-account.entity';

type Decider = Pick<Actor, 'userId' | 'organisationId'>;

/** Who decides, what was decided, and whether the operator permits it. */
export interface ContentConsent {
  /** Null if the user decides, for their own keys. */
  readonly organisation: string | null;
  readonly isOn: boolean;
  readonly isAllowed: boolean;
}

/** An organisation, or a user without one, decides whether traces contain its requests and responses. */
@Injectable()
export class TelemetryContent {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly settings: Settings,
  ) {}

  async of({ userId }: Pick<Decider, 'userId'>): Promise<ContentConsent> {
    const row = await findContentDecision(this.database, userId);
    return {
      organisation: row?.organisation ?? null,
      isOn: row?.isOn ?? false,
      isAllowed: this.settings.telemetryContent === 'organisations',
    };
  }

  setForOrganisation({ organisationId: id }: Decider, isOn: boolean): Promise<void> {
    if (id === null)
      throw fault('conflict', {
        message: 'You belong to no organisation.',
        details: { reason: 'no-organisation' },
      });
    return this.set(Organisation, id, isOn, (tx, { name: label }, changes) =>
      this.activity.write(tx, {
        action: 'organisation.changed',
        object: { type: 'organisation', id, label },
        concerns: { organisationId: id },
        changes,
      }),
    );
  }

  setForUser({ userId: id, organisationId }: Decider, isOn: boolean): Promise<void> {
    if (organisationId !== null)
      throw fault('conflict', {
        message: 'The owner of your organisation decides this.',
        details: { reason: 'organisation-decides' },
      });
    return this.set(UserAccount, id, isOn, (tx, { email: label }, changes) =>
      this.activity.write(tx, {
        action: 'account.settings-changed',
        object: { type: 'account', id, label },
        changes,
      }),
    );
  }

  private async set<Decided extends Organisation | UserAccount>(
    entity: new () => Decided,
    id: number,
    isOn: boolean,
    record: (tx: Tx, decided: Decided, changes: ReturnType<typeof changesOf>) => Promise<void>,
  ): Promise<void> {
    if (isOn && this.settings.telemetryContent === 'never')
      throw fault('conflict', {
        message: 'The operator lets no content into traces (TELEMETRY_CONTENT).',
        details: { reason: 'telemetry-content' },
      });
    await this.database.transaction(async (tx) => {
      const rows: Repository<Organisation | UserAccount> = tx.getRepository<Organisation | UserAccount>(
        entity,
      );
      const row = await rows.findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      const changes = changesOf({ telemetry_content: row?.telemetryContent }, { telemetry_content: isOn });
      if (row === null || Object.keys(changes).length === 0) return this.activity.reportNoChange();
      await rows.update(id, { telemetryContent: isOn });
      await record(tx, row as Decided, changes);
    });
  }
}

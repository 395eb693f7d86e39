import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../audit';
import { type Actor, fault } from '../kernel';
import { Database, Settings, type Tx } from '../platform';

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
    const [row] = await this.database.rows<{ readonly organisation: string | null; readonly isOn: boolean }>(
      `SELECT o.name AS organisation, coalesce(o.telemetry_content, u.telemetry_content) AS is_on
         FROM user_account u LEFT JOIN organisation o ON o.id = u.organisation_id WHERE u.id = $1`,
      [userId],
    );
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
    return this.set('organisation', id, isOn, (tx, label, changes) =>
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
    return this.set('user_account', id, isOn, (tx, label, changes) =>
      this.activity.write(tx, {
        action: 'account.settings-changed',
        object: { type: 'account', id, label },
        changes,
      }),
    );
  }

  private async set(
    table: 'organisation' | 'user_account',
    id: number,
    isOn: boolean,
    record: (tx: Tx, label: string, changes: ReturnType<typeof changesOf>) => Promise<void>,
  ): Promise<void> {
    if (isOn && this.settings.telemetryContent === 'never')
      throw fault('conflict', {
        message: 'The operator lets no content into traces (TELEMETRY_CONTENT).',
        details: { reason: 'telemetry-content' },
      });
    await this.database.transaction(async (tx) => {
      const name = table === 'organisation' ? 'name' : 'email';
      const [row] = await tx.query<{ readonly label: string; readonly before: boolean }[]>(
        `SELECT ${name} AS label, telemetry_content AS before FROM ${table} WHERE id = $1 FOR UPDATE`,
        [id],
      );
      const changes = changesOf({ telemetry_content: row?.before }, { telemetry_content: isOn });
      if (row === undefined || Object.keys(changes).length === 0) return this.activity.reportNoChange();
      await tx.query(`UPDATE ${table} SET telemetry_content = $2 WHERE id = $1`, [id, isOn]);
      await record(tx, row.label, changes);
    });
  }
}

import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { refuseStale, versionOf } from '../../kernel';
import { Database, readRows, type Row, type Tx } from '../../platform';
import { type AlertKind, alertKind, type AlertKindName, type AlertOwner, kindsOf } from '../catalogue/kinds';
import { type ParameterName, type Parameters as RuleParameters, withUsual } from '../catalogue/parameters';
import type { QuietHours } from './quiet-hours';

/** How an owner is told, whatever the kind. */
export interface AlertSettings extends QuietHours {
  readonly urgentBreaksQuiet: boolean;
  /** An alert that fires on is told again after so long; 0 for never. */
  readonly repeatHours: number;
}

export interface AlertRule {
  readonly enabled: boolean;
  readonly parameters: RuleParameters;
  /** Null for every channel of the owner. */
  readonly channels: readonly number[] | null;
  readonly mutedUntil: Date | null;
}

const usualSettings: AlertSettings = {
  timeZone: 'UTC',
  quietFrom: null,
  quietTo: null,
  urgentBreaksQuiet: true,
  repeatHours: 24,
};

type RuleRow = Row<'alert_rule', 'organisation_id, kind, enabled, channels, muted_until'> & {
  readonly parameters: Readonly<Record<string, unknown>>;
};
type SettingRow = Row<'alert_setting'>;

const RULES = 'SELECT organisation_id, kind, enabled, parameters, channels, muted_until FROM alert_rule';
const SETTINGS = `SELECT organisation_id, time_zone, quiet_from, quiet_to, urgent_breaks_quiet, repeat_hours
  FROM alert_setting`;

const ruleOf = ({ parameters }: AlertKind, row: RuleRow | undefined): AlertRule => ({
  enabled: row?.enabled ?? true,
  parameters: withUsual(parameters, row?.parameters ?? {}),
  channels: row?.channels ?? null,
  mutedUntil: row?.mutedUntil ?? null,
});

function settingsOf(row: SettingRow | undefined): AlertSettings {
  if (row === undefined) return usualSettings;
  const { organisationId: _, ...settings } = row;
  return settings;
}

/** The rules of all owners at one moment. */
export class RuleBook {
  private readonly rules: ReadonlyMap<string, RuleRow>;
  private readonly kept: ReadonlyMap<AlertOwner, SettingRow>;

  constructor(rules: readonly RuleRow[], settings: readonly SettingRow[]) {
    this.rules = new Map(rules.map((row) => [`${row.organisationId} ${row.kind}`, row]));
    this.kept = new Map(settings.map((row) => [row.organisationId, row]));
  }

  rule(owner: AlertOwner, kind: AlertKind): AlertRule {
    return ruleOf(kind, this.rules.get(`${owner} ${kind.name}`));
  }

  /** The least value of a parameter that holds for any owner. */
  least(kind: AlertKind, name: ParameterName): number {
    const rows = [...this.rules.values()].filter((row) => row.kind === kind.name);
    const values = [undefined, ...rows].map((row) => ruleOf(kind, row).parameters[name] ?? 0);
    return Math.min(...values);
  }

  settings(owner: AlertOwner): AlertSettings {
    return settingsOf(this.kept.get(owner));
  }
}

/** What owners say of their alerts; without a row the usual holds. Every change is on record. */
@Injectable()
export class AlertRules {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  async book(): Promise<RuleBook> {
    const [rules, settings] = await Promise.all([
      this.database.rows<RuleRow>(RULES),
      this.database.rows<SettingRow>(SETTINGS),
    ]);
    return new RuleBook(rules, settings);
  }

  async of(owner: AlertOwner): Promise<{ settings: AlertSettings; rules: Map<AlertKindName, AlertRule> }> {
    const [rules, settings] = await Promise.all([
      rulesIn(this.database, owner),
      settingsIn(this.database, owner),
    ]);
    return { settings, rules };
  }

  /** `shown` is the version that was looked at. */
  async setSettings(owner: AlertOwner, settings: AlertSettings, shown: string | undefined): Promise<void> {
    await this.database.transaction(async (tx) => {
      await takeTurns(tx, owner);
      const before = await settingsIn(tx, owner);
      refuseStale(shown, versionOf(before));
      const changes = changesOf(before, settings);
      if (Object.keys(changes).length === 0) return this.activity.nothingChanged();
      const { timeZone, quietFrom, quietTo, urgentBreaksQuiet, repeatHours } = settings;
      await tx.query(
        `INSERT INTO alert_setting (organisation_id, time_zone, quiet_from, quiet_to, urgent_breaks_quiet, repeat_hours)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT ON CONSTRAINT alert_setting_once DO UPDATE SET time_zone = excluded.time_zone,
           quiet_from = excluded.quiet_from, quiet_to = excluded.quiet_to,
           urgent_breaks_quiet = excluded.urgent_breaks_quiet, repeat_hours = excluded.repeat_hours`,
        [owner, timeZone, quietFrom, quietTo, urgentBreaksQuiet, repeatHours],
      );
      await this.activity.write(tx, {
        action: 'alert.settings-changed',
        object: { type: 'alert', label: 'settings' },
        concerns: { organisationId: owner },
        changes,
      });
    });
  }

  async setRule(
    owner: AlertOwner,
    kind: AlertKind,
    rule: AlertRule,
    shown: string | undefined,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      await takeTurns(tx, owner);
      const before = (await rulesIn(tx, owner)).get(kind.name)!;
      refuseStale(shown, versionOf(before));
      const flat = ({ parameters, ...rest }: AlertRule) => ({ ...rest, ...parameters });
      const changes = changesOf(flat(before), flat(rule));
      if (Object.keys(changes).length === 0) return this.activity.nothingChanged();
      await tx.query(
        `INSERT INTO alert_rule (organisation_id, kind, enabled, parameters, channels, muted_until)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT ON CONSTRAINT alert_rule_once DO UPDATE SET enabled = excluded.enabled,
           parameters = excluded.parameters, channels = excluded.channels, muted_until = excluded.muted_until`,
        [owner, kind.name, rule.enabled, JSON.stringify(rule.parameters), rule.channels, rule.mutedUntil],
      );
      await this.activity.write(tx, {
        action: 'alert.rule-changed',
        object: { type: 'alert', id: kind.name, label: kind.name },
        concerns: { organisationId: owner },
        changes,
      });
    });
  }
}

type Readable = Parameters<typeof readRows>[0];

/** Changes of one owner's rules take turns. */
const takeTurns = (tx: Tx, owner: AlertOwner): Promise<unknown> =>
  tx.query(`SELECT pg_advisory_xact_lock(hashtext('alert rules'), coalesce($1::integer, 0))`, [owner]);

async function rulesIn(from: Readable, owner: AlertOwner): Promise<Map<AlertKindName, AlertRule>> {
  const rows = await readRows<RuleRow>(from, `${RULES} WHERE organisation_id IS NOT DISTINCT FROM $1`, [
    owner,
  ]);
  const known = new Map(rows.filter(({ kind }) => alertKind(kind)).map((row) => [row.kind, row]));
  return new Map(kindsOf(owner).map((kind) => [kind.name, ruleOf(kind, known.get(kind.name))]));
}

async function settingsIn(from: Readable, owner: AlertOwner): Promise<AlertSettings> {
  const [row] = await readRows<SettingRow>(
    from,
    `${SETTINGS} WHERE organisation_id IS NOT DISTINCT FROM $1`,
    [owner],
  );
  return settingsOf(row);
}

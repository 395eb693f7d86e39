import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { rejectStale, versionOf } from '../../kernel';
import { Database, readRows, type TableRow, type Tx } from '../../platform';
import { type AlertKind, alertKind, type AlertKindName, type AlertOwner, kindsOf } from '../catalogue/kinds';
import {
  type ParameterName,
  type AlertParameters as RuleParameters,
  withDefaults,
} from '../catalogue/parameters';
import type { QuietHours } from './quiet-hours';

export interface AlertSettings extends QuietHours {
  readonly urgentBreaksQuiet: boolean;
  /** Hours between notifications of an alert that continues to fire; 0 for none. */
  readonly repeatHours: number;
}

export interface AlertRule {
  readonly enabled: boolean;
  readonly parameters: RuleParameters;
  /** Null for every channel of the owner. */
  readonly channels: readonly number[] | null;
  readonly mutedUntil: Date | null;
}

const defaultSettings: AlertSettings = {
  timeZone: 'UTC',
  quietFrom: null,
  quietTo: null,
  urgentBreaksQuiet: true,
  repeatHours: 24,
};

type RuleRow = TableRow<'alert_rule', 'organisation_id, kind, enabled, channels, muted_until'> & {
  readonly parameters: Readonly<Record<string, unknown>>;
};
type AlertSettingRow = TableRow<'alert_setting'>;

const RULES = 'SELECT organisation_id, kind, enabled, parameters, channels, muted_until FROM alert_rule';
const SETTINGS = `SELECT organisation_id, time_zone, quiet_from, quiet_to, urgent_breaks_quiet, repeat_hours
  FROM alert_setting`;

const ruleOf = ({ parameters }: AlertKind, row: RuleRow | undefined): AlertRule => ({
  enabled: row?.enabled ?? true,
  parameters: withDefaults(parameters, row?.parameters ?? {}),
  channels: row?.channels ?? null,
  mutedUntil: row?.mutedUntil ?? null,
});

function settingsOf(row: AlertSettingRow | undefined): AlertSettings {
  if (row === undefined) return defaultSettings;
  const { organisationId: _, ...settings } = row;
  return settings;
}

export class AlertRuleSet {
  private readonly rules: ReadonlyMap<string, RuleRow>;
  private readonly settingRows: ReadonlyMap<AlertOwner, AlertSettingRow>;

  constructor(rules: readonly RuleRow[], settings: readonly AlertSettingRow[]) {
    this.rules = new Map(rules.map((row) => [`${row.organisationId} ${row.kind}`, row]));
    this.settingRows = new Map(settings.map((row) => [row.organisationId, row]));
  }

  rule(owner: AlertOwner, kind: AlertKind): AlertRule {
    return ruleOf(kind, this.rules.get(`${owner} ${kind.name}`));
  }

  minimumOf(kind: AlertKind, name: ParameterName): number {
    const rows = [...this.rules.values()].filter((row) => row.kind === kind.name);
    const values = [undefined, ...rows].map((row) => ruleOf(kind, row).parameters[name] ?? 0);
    return Math.min(...values);
  }

  settings(owner: AlertOwner): AlertSettings {
    return settingsOf(this.settingRows.get(owner));
  }
}

/** Rules and settings of owners; defaults apply without a row. Every change is logged. */
@Injectable()
export class AlertRules {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  async loadAll(): Promise<AlertRuleSet> {
    const [rules, settings] = await Promise.all([
      this.database.rows<RuleRow>(RULES),
      this.database.rows<AlertSettingRow>(SETTINGS),
    ]);
    return new AlertRuleSet(rules, settings);
  }

  async of(owner: AlertOwner): Promise<{ settings: AlertSettings; rules: Map<AlertKindName, AlertRule> }> {
    const [rules, settings] = await Promise.all([
      rulesIn(this.database, owner),
      settingsIn(this.database, owner),
    ]);
    return { settings, rules };
  }

  async setSettings(
    owner: AlertOwner,
    settings: AlertSettings,
    expectedVersion: string | undefined,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lockOwner(tx, owner);
      const before = await settingsIn(tx, owner);
      rejectStale(expectedVersion, versionOf(before));
      const changes = changesOf(before, settings);
      if (Object.keys(changes).length === 0) return this.activity.reportNoChange();
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
    expectedVersion: string | undefined,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lockOwner(tx, owner);
      const before = (await rulesIn(tx, owner)).get(kind.name)!;
      rejectStale(expectedVersion, versionOf(before));
      const flat = ({ parameters, ...rest }: AlertRule) => ({ ...rest, ...parameters });
      const changes = changesOf(flat(before), flat(rule));
      if (Object.keys(changes).length === 0) return this.activity.reportNoChange();
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

const lockOwner = (tx: Tx, owner: AlertOwner): Promise<unknown> =>
  tx.query(`SELECT pg_advisory_xact_lock(hashtext('alert rules'), coalesce($1::integer, 0))`, [owner]);

async function rulesIn(from: Readable, owner: AlertOwner): Promise<Map<AlertKindName, AlertRule>> {
  const rows = await readRows<RuleRow>(from, `${RULES} WHERE organisation_id IS NOT DISTINCT FROM $1`, [
    owner,
  ]);
  const rowsByKind = new Map(rows.filter(({ kind }) => alertKind(kind)).map((row) => [row.kind, row]));
  return new Map(kindsOf(owner).map((kind) => [kind.name, ruleOf(kind, rowsByKind.get(kind.name))]));
}

async function settingsIn(from: Readable, owner: AlertOwner): Promise<AlertSettings> {
  const [row] = await readRows<AlertSettingRow>(
    from,
    `${SETTINGS} WHERE organisation_id IS NOT DISTINCT FROM $1`,
    [owner],
  );
  return settingsOf(row);
}

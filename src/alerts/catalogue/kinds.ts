import type { NoticeTopic } from '../../identity';
import type { AlertParameters } from './parameters';

/** Ordered from least to most severe. */
export const severities = ['info', 'warning', 'urgent'] as const;
export type Severity = (typeof severities)[number];

export const isAtLeastSeverity = (severity: Severity, min: Severity): boolean =>
  severities.indexOf(severity) >= severities.indexOf(min);

interface AlertKindDefinition {
  readonly scope: 'organisation' | 'platform';
  readonly severity: Severity;
  readonly parameters?: AlertParameters;
  /** Users who muted the topic get no email about the alert. */
  readonly topic?: NoticeTopic;
  /** Another email of the product already reports the condition. */
  readonly isMailedElsewhere?: true;
  /** Interval of the detector; defaults to one minute. */
  readonly everyMinutes?: number;
  readonly runbook?: string;
  /** Minutes without the condition before the alert is resolved; defaults to five. */
  readonly goodMinutes?: number;
}

/** Texts of a kind are under `alerts.kind.<name>` in the locales. */
const definitions = {
  'budget-used': {
    scope: 'organisation',
    severity: 'info',
    parameters: { first: 50, second: 80, third: 100 },
    topic: 'budget',
    isMailedElsewhere: true,
  },
  'budget-forecast': { scope: 'organisation', severity: 'warning', topic: 'budget', everyMinutes: 15 },
  'wallet-low': { scope: 'organisation', severity: 'urgent', topic: 'balance', isMailedElsewhere: true },
  'wallet-forecast': {
    scope: 'organisation',
    severity: 'warning',
    parameters: { days: 7 },
    topic: 'balance',
    everyMinutes: 15,
  },
  'key-ending': {
    scope: 'organisation',
    severity: 'warning',
    parameters: { days: 14 },
    everyMinutes: 15,
  },
  'spend-anomaly': {
    scope: 'organisation',
    severity: 'warning',
    parameters: { times: 3, dollars: 5 },
    topic: 'budget',
    everyMinutes: 15,
  },
  'supplier-refuses': {
    scope: 'platform',
    severity: 'urgent',
    runbook: 'CredentialRefused',
    topic: 'suppliers',
  },
  'lane-open': {
    scope: 'platform',
    severity: 'warning',
    runbook: 'LaneOpen',
    parameters: { minutes: 5 },
    topic: 'suppliers',
  },
  'error-rate': {
    scope: 'platform',
    severity: 'urgent',
    runbook: 'RequestsFailing',
    parameters: { percent: 20, minutes: 5 },
    topic: 'suppliers',
  },
  latency: {
    scope: 'platform',
    severity: 'warning',
    runbook: 'FirstTokensSlow',
    parameters: { seconds: 10, minutes: 15 },
    topic: 'suppliers',
    goodMinutes: 15,
  },
  'tap-behind': { scope: 'platform', severity: 'warning', runbook: 'TapBehind', parameters: { minutes: 5 } },
  'seal-late': { scope: 'platform', severity: 'warning', runbook: 'SealLate' },
  'journal-old': {
    scope: 'platform',
    severity: 'urgent',
    runbook: 'SettlementsWait',
    parameters: { minutes: 2 },
  },
  'disk-low': {
    scope: 'platform',
    severity: 'urgent',
    runbook: 'DiskNearlyFull',
    parameters: { percent: 10 },
    goodMinutes: 10,
  },
  'certificate-ending': {
    scope: 'platform',
    severity: 'urgent',
    parameters: { days: 14 },
    everyMinutes: 60,
  },
  'job-overdue': { scope: 'platform', severity: 'urgent', runbook: 'JobOverdue' },
  'backup-old': {
    scope: 'platform',
    severity: 'urgent',
    runbook: 'BackupOld',
    parameters: { hours: 26 },
    everyMinutes: 15,
  },
  'log-behind': {
    scope: 'platform',
    severity: 'urgent',
    runbook: 'LogNotArchived',
    parameters: { minutes: 15 },
    everyMinutes: 5,
  },
} as const satisfies Readonly<Record<string, AlertKindDefinition>>;

export type AlertKindName = keyof typeof definitions;

export interface AlertKind extends Required<Pick<AlertKindDefinition, 'scope' | 'severity' | 'parameters'>> {
  readonly name: AlertKindName;
  readonly topic: NoticeTopic | null;
  readonly isMailedElsewhere: boolean;
  readonly everyMinutes: number;
  readonly goodMinutes: number;
  /** File of the runbook in the project; null if there is none. */
  readonly runbook: string | null;
}

export const alertKinds: readonly AlertKind[] = Object.entries<AlertKindDefinition>(definitions).map(
  ([name, kind]) => ({
    name: name as AlertKindName,
    scope: kind.scope,
    severity: kind.severity,
    parameters: kind.parameters ?? {},
    topic: kind.topic ?? null,
    isMailedElsewhere: kind.isMailedElsewhere ?? false,
    everyMinutes: kind.everyMinutes ?? 1,
    goodMinutes: kind.goodMinutes ?? 5,
    runbook: kind.runbook === undefined ? null : `docs/runbooks/${kind.runbook}.md`,
  }),
);

const byName: ReadonlyMap<string, AlertKind> = new Map(alertKinds.map((kind) => [kind.name, kind]));

/** Undefined for a kind that a newer version wrote. */
export const alertKind = (name: string): AlertKind | undefined => byName.get(name);

/** Organisation id, or null for the platform. */
export type AlertOwner = number | null;

export const kindsOf = (owner: AlertOwner): AlertKind[] =>
  alertKinds.filter(({ scope }) => (scope === 'platform') === (owner === null));

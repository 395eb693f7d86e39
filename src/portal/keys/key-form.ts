import { formatUsd, refused } from '../../kernel';
import type { ManagedKey } from '../../keys';

/** What the fields of the form hold: as they were posted, as the key has it, or as a new one begins. */
export interface KeyFormValues {
  readonly name: string;
  readonly projectId: string;
  readonly budgetLimit: string;
  readonly budgetPeriod: string;
  readonly picksModels: boolean;
  readonly models: readonly string[];
  readonly regions: readonly string[];
  readonly rate: string;
  readonly expiresOn: string;
  /** One `name=value` a line. */
  readonly labels: string;
}

type Posted = Readonly<Record<string, unknown>>;

export const emptyKeyForm: KeyFormValues = {
  name: '',
  projectId: '',
  budgetLimit: '',
  budgetPeriod: 'monthly',
  picksModels: false,
  models: [],
  regions: [],
  rate: '',
  expiresOn: '',
  labels: '',
};

export function valuesOfKey(key: ManagedKey): KeyFormValues {
  return {
    name: key.name,
    projectId: '',
    budgetLimit: key.budget === null ? '' : formatUsd(key.budget.limit),
    budgetPeriod: key.budget?.period ?? 'monthly',
    picksModels: key.allowedModels !== null,
    models: key.allowedModels ?? [],
    regions: key.allowedRegions ?? [],
    rate: key.rateLimitRpm === null ? '' : String(key.rateLimitRpm),
    expiresOn: key.expiresAt?.toISOString().slice(0, 10) ?? '',
    labels: Object.entries(key.metadata)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  };
}

export function valuesOfPost(posted: Posted): KeyFormValues {
  return {
    name: textOf(posted.name),
    projectId: textOf(posted.project_id),
    budgetLimit: textOf(posted.budget_limit),
    budgetPeriod: textOf(posted.budget_period),
    picksModels: posted.models_mode === 'pick',
    models: listOf(posted.allowed_models),
    regions: listOf(posted.allowed_regions),
    rate: textOf(posted.rate_limit_rpm),
    expiresOn: textOf(posted.expires_on),
    labels: textOf(posted.labels),
  };
}

/** The form in the words of the programming interface, whose reader then judges it; empty fields are no restriction. */
export function bodyOfForm(posted: Posted): Record<string, unknown> {
  const values = valuesOfPost(posted);
  const { name, budgetLimit, budgetPeriod, picksModels, models, regions, rate, expiresOn, labels } = values;
  return {
    name,
    budget_limit: budgetLimit === '' ? null : budgetLimit.replace(',', '.'),
    ...(budgetLimit === '' || budgetPeriod === '' ? {} : { budget_period: budgetPeriod }),
    allowed_models: picksModels ? models : null,
    allowed_regions: regions.length === 0 ? null : regions,
    rate_limit_rpm: rate === '' ? null : numberOf(rate),
    expires_at: expiresOn === '' ? null : expiresOn,
    metadata: labels === '' ? null : labelsOf(labels),
  };
}

/** What is no number stays what it is, and is refused as that. */
const numberOf = (text: string): number | string => (/^\d{1,9}$/.test(text) ? Number(text) : text);

function labelsOf(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw refused('metadata', 'one name=value a line');
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim().slice(0, 10_000) : '');

function listOf(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item): item is string => typeof item === 'string' && item !== '');
}

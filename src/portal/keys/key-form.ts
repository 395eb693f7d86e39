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
  readonly tokens: string;
  readonly parallel: string;
  /** An empty one means as the model says. */
  readonly answerModel: string;
  /** An empty one means as the model says. */
  readonly continueStreams: string;
  /** Each line reads `model = amount period`. */
  readonly modelBudgets: string;
  readonly limitsLocked: boolean;
  readonly expiresOn: string;
  /** Each line reads `name=value`. */
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
  tokens: '',
  parallel: '',
  answerModel: '',
  continueStreams: '',
  modelBudgets: '',
  limitsLocked: false,
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
    rate: shownNumber(key.rateLimitRpm),
    tokens: shownNumber(key.rateLimitTpm),
    parallel: shownNumber(key.maxParallel),
    answerModel: key.answerModel ?? '',
    continueStreams: key.continueStreams ?? '',
    modelBudgets: key.modelBudgets
      .map(({ model, state }) => `${model} = ${formatUsd(state.limit)} ${state.period}`)
      .join('\n'),
    limitsLocked: key.limitsLock !== null,
    expiresOn: key.expiresAt?.toISOString().slice(0, 10) ?? '',
    labels: Object.entries(key.metadata)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  };
}

function valuesOfPost(posted: Posted): KeyFormValues {
  return {
    name: textOf(posted.name),
    projectId: textOf(posted.project_id),
    budgetLimit: textOf(posted.budget_limit),
    budgetPeriod: textOf(posted.budget_period),
    picksModels: posted.models_mode === 'pick',
    models: listOf(posted.allowed_models),
    regions: listOf(posted.allowed_regions),
    rate: textOf(posted.rate_limit_rpm),
    tokens: textOf(posted.rate_limit_tpm),
    parallel: textOf(posted.max_parallel),
    answerModel: textOf(posted.answer_model),
    continueStreams: textOf(posted.continue_streams),
    modelBudgets: textOf(posted.model_budgets),
    limitsLocked: posted.limits_locked === 'on',
    expiresOn: textOf(posted.expires_on),
    labels: textOf(posted.labels),
  };
}

/** The form in the words of the programming interface, whose reader then judges it; empty fields are no restriction. */
export function bodyOfForm(posted: Posted): Record<string, unknown> {
  const values = valuesOfPost(posted);
  const { name, budgetLimit, budgetPeriod, picksModels, models, regions, expiresOn, labels } = values;
  const { rate, tokens, parallel, answerModel, continueStreams, modelBudgets } = values;
  return {
    name,
    budget_limit: budgetLimit === '' ? null : budgetLimit.replace(',', '.'),
    ...(budgetLimit === '' || budgetPeriod === '' ? {} : { budget_period: budgetPeriod }),
    allowed_models: picksModels ? models : null,
    allowed_regions: regions.length === 0 ? null : regions,
    rate_limit_rpm: rate === '' ? null : numberOf(rate),
    rate_limit_tpm: tokens === '' ? null : numberOf(tokens),
    max_parallel: parallel === '' ? null : numberOf(parallel),
    answer_model: answerModel === '' ? null : answerModel,
    continue_streams: continueStreams === '' ? null : continueStreams,
    model_budgets: modelBudgets === '' ? null : modelBudgetsOf(modelBudgets),
    expires_at: expiresOn === '' ? null : expiresOn,
    metadata: labels === '' ? null : labelsOf(labels),
  };
}

const shownNumber = (value: number | null): string => (value === null ? '' : String(value));

const MODEL_BUDGET = /^(\S+)\s*=\s*([\d.,]+)(?:\s+(\w+))?$/;

function modelBudgetsOf(lines: string): object[] {
  return lines
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, model, limit, period] = MODEL_BUDGET.exec(line.trim()) ?? [];
      if (model === undefined || limit === undefined)
        throw refused('model_budgets', 'one model = amount period a line');
      return { model, limit: limit.replace(',', '.'), ...(period === undefined ? {} : { period }) };
    });
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

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

function listOf(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item): item is string => typeof item === 'string' && item !== '');
}

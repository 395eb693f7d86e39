import { invalidField } from '../../kernel';
import { keyFields, type KeyValues, type ManagedKey } from '../../keys';

export type KeyFormValues = Pick<ManagedKey, keyof KeyValues | 'budget' | 'modelBudgets' | 'limitsLock'>;

type PostedKeyForm = Readonly<Record<string, unknown>>;

export const emptyKey: KeyFormValues = {
  ...keyFields.pick({ name: '' }),
  budget: null,
  modelBudgets: [],
  limitsLock: null,
};

/** Translates a form into an API body, which the API's parser then validates; empty fields mean no restriction. */
export function toApiBody(posted: PostedKeyForm): Record<string, unknown> {
  const plainFields = keyFields.on('page').map(({ name, property }): [string, unknown] => {
    const value = property.typedField.read(posted[name]);
    return [name, value === undefined ? (property.isNullable ? null : undefined) : property.toJson(value)];
  });
  const regions = listOf(posted.allowed_regions);
  const limit = textOf(posted.budget_limit);
  const period = textOf(posted.budget_period);
  const budgets = textOf(posted.model_budgets);
  const labels = textOf(posted.labels);
  return {
    ...Object.fromEntries(plainFields),
    name: textOf(posted.name),
    budget_limit: limit === '' ? null : limit.replace(',', '.'),
    ...(limit === '' || period === '' ? {} : { budget_period: period }),
    allowed_models: posted.models_mode === 'pick' ? listOf(posted.allowed_models) : null,
    allowed_regions: regions.length === 0 ? null : regions,
    model_budgets: budgets === '' ? null : parseModelBudgets(budgets),
    expires_at: textOf(posted.expires_on) || null,
    metadata: labels === '' ? null : parseLabels(labels),
  };
}

const MODEL_BUDGET = /^(\S+)\s*=\s*([\d.,]+)(?:\s+(\w+))?$/;

function parseModelBudgets(lines: string) {
  return lines
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, model, limit, period] = MODEL_BUDGET.exec(line.trim()) ?? [];
      if (model === undefined || limit === undefined)
        throw invalidField('model_budgets', 'one model = amount period a line');
      return { model, limit: limit.replace(',', '.'), ...(period === undefined ? {} : { period }) };
    });
}

function parseLabels(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const separator = line.indexOf('=');
      if (separator < 1) throw invalidField('metadata', 'one name=value a line');
      return [line.slice(0, separator).trim(), line.slice(separator + 1).trim()];
    }),
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

function listOf(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item): item is string => typeof item === 'string' && item !== '');
}

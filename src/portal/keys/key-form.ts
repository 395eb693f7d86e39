import { refused } from '../../kernel';
import { keyFields, type KeyValues, type ManagedKey } from '../../keys';

/** The form shows a key as it is, or as a new one begins. */
export type ShownKey = Pick<ManagedKey, keyof KeyValues | 'budget' | 'modelBudgets' | 'limitsLock'>;

type Posted = Readonly<Record<string, unknown>>;

export const emptyKey: ShownKey = {
  ...keyFields.pick({ name: '' }),
  budget: null,
  modelBudgets: [],
  limitsLock: null,
};

/** The form in the words of the programming interface, whose reader then judges it; empty fields are no restriction. */
export function bodyOfForm(posted: Posted): Record<string, unknown> {
  const plain = keyFields.on('page').map(({ name, property }): [string, unknown] => {
    const value = property.typedField.read(posted[name]);
    return [name, value === undefined ? (property.isNullable ? null : undefined) : property.toJson(value)];
  });
  const regions = listOf(posted.allowed_regions);
  const limit = textOf(posted.budget_limit);
  const period = textOf(posted.budget_period);
  const budgets = textOf(posted.model_budgets);
  const labels = textOf(posted.labels);
  return {
    ...Object.fromEntries(plain),
    name: textOf(posted.name),
    budget_limit: limit === '' ? null : limit.replace(',', '.'),
    ...(limit === '' || period === '' ? {} : { budget_period: period }),
    allowed_models: posted.models_mode === 'pick' ? listOf(posted.allowed_models) : null,
    allowed_regions: regions.length === 0 ? null : regions,
    model_budgets: budgets === '' ? null : modelBudgetsOf(budgets),
    expires_at: textOf(posted.expires_on) || null,
    metadata: labels === '' ? null : labelsOf(labels),
  };
}

const MODEL_BUDGET = /^(\S+)\s*=\s*([\d.,]+)(?:\s+(\w+))?$/;

function modelBudgetsOf(lines: string) {
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

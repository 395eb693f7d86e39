import type { BudgetScope, LimitRule, Limits, LimitState } from '../billing';
import { type Database, readRows, type TableRow, type Tx } from '../platform';

export interface NewModelBudget extends LimitRule {
  readonly model: string;
}

export interface ModelBudget {
  readonly model: string;
  readonly state: LimitState;
}

type KeyModelRow = TableRow<'key_model'>;

const budgetOf = (id: number): BudgetScope => ({ kind: 'key_model', id });

/** Replaces all budgets. A budget that is set again counts what was spent in its period meanwhile. */
export async function setModelBudgets(
  tx: Tx,
  limits: Limits,
  keyId: number,
  budgets: readonly NewModelBudget[],
): Promise<void> {
  await tx.query(
    'INSERT INTO key_model (key_id, model) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING',
    [keyId, budgets.map(({ model }) => model)],
  );
  const rows = await readRows<KeyModelRow>(
    tx,
    'SELECT id, key_id, model FROM key_model WHERE key_id = $1 ORDER BY id',
    [keyId],
  );
  const currentStates = await limits.states(
    rows.map(({ id }) => budgetOf(Number(id))),
    tx,
  );
  for (const [index, { id, model }] of rows.entries()) {
    const requested = budgets.find((budget) => budget.model === model);
    const current = currentStates[index] ?? null;
    if (requested !== undefined) {
      if (current?.limit !== requested.limit || current.period !== requested.period)
        await limits.set(tx, budgetOf(Number(id)), requested);
    } else if (current !== null) await limits.remove(tx, budgetOf(Number(id)));
  }
}

/** Returns the budgets by key id; keys without any are left out. */
export async function modelBudgetsOf(
  database: Database,
  limits: Limits,
  keyIds: readonly number[],
  tx?: Tx,
): Promise<ReadonlyMap<number, readonly ModelBudget[]>> {
  const rows = await readRows<KeyModelRow>(
    tx ?? database,
    'SELECT id, key_id, model FROM key_model WHERE key_id = ANY ($1::integer[]) ORDER BY key_id, model',
    [keyIds],
  );
  if (rows.length === 0) return new Map();
  const states = await limits.states(
    rows.map(({ id }) => budgetOf(Number(id))),
    tx,
  );
  const budgets = rows.flatMap(({ keyId, model }, index) => {
    const state = states[index] ?? null;
    return state === null ? [] : [{ keyId, budget: { model, state } }];
  });
  return new Map(
    [...Map.groupBy(budgets, ({ keyId }) => keyId)].map(([keyId, ofKey]) => [
      keyId,
      ofKey.map(({ budget }) => budget),
    ]),
  );
}

import type { BudgetScope, LimitRule, Limits, LimitState } from '../billing';
import { type Database, readRows, type Row, type Tx } from '../platform';

/** A key may spend this on one model. */
export interface NewModelBudget extends LimitRule {
  readonly model: string;
}

export interface ModelBudget {
  readonly model: string;
  readonly state: LimitState;
}

type KeyModelRow = Row<'key_model'>;

const budgetOf = (id: number): BudgetScope => ({ kind: 'key_model', id });

/** Sets these in place of all others. A budget that returns counts what was spent in its period meanwhile. */
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
  const before = await limits.states(
    rows.map(({ id }) => budgetOf(Number(id))),
    tx,
  );
  for (const [place, { id, model }] of rows.entries()) {
    const wanted = budgets.find((budget) => budget.model === model);
    const current = before[place] ?? null;
    if (wanted !== undefined) {
      if (current?.limit !== wanted.limit || current.period !== wanted.period)
        await limits.set(tx, budgetOf(Number(id)), wanted);
    } else if (current !== null) await limits.remove(tx, budgetOf(Number(id)));
  }
}

/** They are found by the number of the key; a key without any is left out. */
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
  const found = rows.flatMap(({ keyId, model }, place) => {
    const state = states[place] ?? null;
    return state === null ? [] : [{ keyId, budget: { model, state } }];
  });
  return new Map(
    [...Map.groupBy(found, ({ keyId }) => keyId)].map(([keyId, ofKey]) => [
      keyId,
      ofKey.map(({ budget }) => budget),
    ]),
  );
}

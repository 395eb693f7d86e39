import type { BudgetRaises, BudgetScope, Limits } from '../../billing';
import { DAY_MS, type Nano } from '../../kernel';
import type { Database, Tx } from '../../platform';
import type { DemoKey, DemoOrganisation } from './organisation';

const NANO_PER_CENT = 10_000_000n;
const NANO_PER_DOLLAR = 100n * NANO_PER_CENT;

interface BudgetPlan {
  readonly scope: BudgetScope;
  readonly used: bigint;
}

/** Creates budgets that the traffic of the last thirty days has partly used; one key's budget is raised for a while. */
export async function createBudgets(
  database: Database,
  { limits, raises }: { readonly limits: Limits; readonly raises: BudgetRaises },
  { id, ownerId, keys }: DemoOrganisation,
  now: number,
): Promise<void> {
  const nearlyUsedKey = findKey(keys, 'forecast-api');
  const raisedScope = { kind: 'key', id: findKey(keys, 'help-desk').id } as const;
  const plans: BudgetPlan[] = [
    { scope: { kind: 'key', id: nearlyUsedKey.id }, used: 94n },
    { scope: raisedScope, used: 104n },
    { scope: { kind: 'key', id: findKey(keys, 'notebook').id }, used: 41n },
    { scope: { kind: 'project', id: nearlyUsedKey.projectId }, used: 77n },
    { scope: { kind: 'department', id: nearlyUsedKey.departmentId }, used: 63n },
    { scope: { kind: 'organisation', id }, used: 58n },
  ];
  await database.transaction(async (tx) => {
    const limitsByScope = new Map<BudgetScope, Nano>();
    for (const { scope, used } of plans) {
      const limit = roundUp(((await spendingOf(tx, scope)) * 100n) / used);
      await limits.set(tx, scope, { limit, period: 'rolling' });
      limitsByScope.set(scope, limit);
    }
    await raises.raise(tx, raisedScope, {
      amount: roundUp((limitsByScope.get(raisedScope) ?? NANO_PER_CENT) / 4n),
      reason: 'More callers than usual while the terminal moves',
      endsAt: new Date(now + 12 * DAY_MS),
      by: ownerId,
    });
  });
}

function findKey(keys: readonly DemoKey[], name: string): DemoKey {
  const key = keys.find((one) => one.name === name);
  if (key === undefined) throw new Error(`the key "${name}" was not made`);
  return key;
}

async function spendingOf(tx: Tx, { kind, id }: BudgetScope): Promise<Nano> {
  const [row] = await tx.query<{ spent: string }[]>(
    `SELECT coalesce(sum(cost_nano), 0)::bigint AS spent FROM usage_hour
      WHERE ${kind}_id = $1 AND hour >= date_trunc('hour', now(), 'UTC') - interval '719 hours'`,
    [id],
  );
  return BigInt(row?.spent ?? 0);
}

/** Rounds to full dollars, as users set them; small amounts to cents. */
function roundUp(amount: Nano): Nano {
  const step = amount >= 10n * NANO_PER_DOLLAR ? NANO_PER_DOLLAR : NANO_PER_CENT;
  return (amount / step + 1n) * step;
}

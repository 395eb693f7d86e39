import type { WrittenRecord } from '../../../audit';
import { HOUR_MS, type Nano } from '../../../kernel';
import { limitRefs, type ScopeKind, scopeKey } from '../../scope';

type ChargedRecord = Omit<WrittenRecord, 'text'>;

/** Sum of one caller's records in one hour. Windows of limits start and end on the hour. */
interface CallerSum {
  readonly caller: ChargedRecord;
  readonly hour: number;
  amount: Nano;
}

interface ScopeCharge {
  readonly kind: ScopeKind;
  readonly id: number;
  readonly hour: number;
  amount: Nano;
}

/** Amounts that a batch of records adds to its scopes, per hour, and to its wallets. */
export class ChargeTotals {
  readonly kinds: ScopeKind[] = [];
  readonly owners: number[] = [];
  readonly hours: string[] = [];
  readonly amounts: string[] = [];
  readonly wallets: number[] = [];
  readonly settlements: string[] = [];
  readonly sums: string[] = [];

  constructor(records: readonly WrittenRecord[], settlementOf: ReadonlyMap<number, bigint>) {
    const charges = new Map<string, ScopeCharge>();
    const wallets = new Map<number, Nano>();
    for (const { caller, hour, amount } of callerSums(records)) {
      for (const ref of limitRefs(caller)) {
        // `money_settle` charges both budgets of a user together, so that a node of the previous version does so too.
        if (ref.kind === 'user_budget') continue;
        const key = `${scopeKey(ref)}:${hour}`;
        const charge = charges.get(key);
        if (charge) charge.amount += amount;
        else charges.set(key, { ...ref, hour, amount });
      }
      if (caller.walletId !== null)
        wallets.set(caller.walletId, (wallets.get(caller.walletId) ?? 0n) + amount);
    }
    for (const { kind, id, hour, amount } of charges.values()) {
      this.kinds.push(kind);
      this.owners.push(id);
      this.hours.push(new Date(hour * HOUR_MS).toISOString());
      this.amounts.push(amount.toString());
    }
    for (const [wallet, sum] of wallets) {
      this.wallets.push(wallet);
      this.settlements.push(String(settlementOf.get(wallet)));
      this.sums.push(sum.toString());
    }
  }
}

/** A batch has few callers: summing by caller first saves most of the work by scope. */
function callerSums(records: readonly WrittenRecord[]): CallerSum[] {
  const sumsByKey = new Map<number | null, CallerSum[]>();
  for (const record of records) {
    if (record.costNano === 0n) continue;
    const hour = Math.floor(record.createdMs / HOUR_MS);
    let sums = sumsByKey.get(record.keyId);
    if (sums === undefined) sumsByKey.set(record.keyId, (sums = []));
    const sum = sums.find((callerSum) => callerSum.hour === hour && isSameCaller(callerSum.caller, record));
    if (sum === undefined) sums.push({ caller: record, hour, amount: record.costNano });
    else sum.amount += record.costNano;
  }
  return [...sumsByKey.values()].flat();
}

const isSameCaller = (one: ChargedRecord, other: ChargedRecord): boolean =>
  one.keyId === other.keyId &&
  one.keyModelId === other.keyModelId &&
  one.walletId === other.walletId &&
  one.userId === other.userId &&
  one.projectId === other.projectId &&
  one.departmentId === other.departmentId &&
  one.organisationId === other.organisationId;

import type { WrittenRecord } from '../../../audit';
import { HOUR_MS, type Nano } from '../../../kernel';
import { limitRefs, type ScopeKind, scopeKey } from '../../scope';

type Charged = Omit<WrittenRecord, 'text'>;

/** The records of one caller in one hour are summed here. Windows of limits begin and end on the hour. */
interface CallerSum {
  readonly who: Charged;
  readonly hour: number;
  amount: Nano;
}

interface Charge {
  readonly kind: ScopeKind;
  readonly id: number;
  readonly hour: number;
  amount: Nano;
}

/** A batch of records adds these amounts to its scopes, hour by hour, and to its wallets. */
export class ChargeSheet {
  readonly kinds: ScopeKind[] = [];
  readonly owners: number[] = [];
  readonly hours: string[] = [];
  readonly amounts: string[] = [];
  readonly wallets: number[] = [];
  readonly settlements: string[] = [];
  readonly sums: string[] = [];

  constructor(records: readonly WrittenRecord[], settlementOf: ReadonlyMap<number, bigint>) {
    const charges = new Map<string, Charge>();
    const wallets = new Map<number, Nano>();
    for (const { who, hour, amount } of callerSums(records)) {
      for (const ref of limitRefs(who)) {
        // `money_settle` charges both budgets of a person at once, so that a node of the version before does, too.
        if (ref.kind === 'user_budget') continue;
        const key = `${scopeKey(ref)}:${hour}`;
        const charge = charges.get(key);
        if (charge) charge.amount += amount;
        else charges.set(key, { ...ref, hour, amount });
      }
      if (who.walletId !== null) wallets.set(who.walletId, (wallets.get(who.walletId) ?? 0n) + amount);
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

/** Few callers make up a batch: sums by caller first spare most of the work by scope. */
function callerSums(records: readonly WrittenRecord[]): CallerSum[] {
  const sumsByKey = new Map<number | null, CallerSum[]>();
  for (const record of records) {
    if (record.costNano === 0n) continue;
    const hour = Math.floor(record.createdMs / HOUR_MS);
    let sums = sumsByKey.get(record.keyId);
    if (sums === undefined) sumsByKey.set(record.keyId, (sums = []));
    const sum = sums.find((one) => one.hour === hour && isSameCaller(one.who, record));
    if (sum === undefined) sums.push({ who: record, hour, amount: record.costNano });
    else sum.amount += record.costNano;
  }
  return [...sumsByKey.values()].flat();
}

const isSameCaller = (one: Charged, other: Charged): boolean =>
  one.keyId === other.keyId &&
  one.keyModelId === other.keyModelId &&
  one.walletId === other.walletId &&
  one.userId === other.userId &&
  one.projectId === other.projectId &&
  one.departmentId === other.departmentId &&
  one.organisationId === other.organisationId;

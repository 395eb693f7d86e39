import { type CallerSum, millisecondsPerHour } from '../../../audit';
import type { Nano } from '../../../kernel';
import { limitRefs, type ScopeKind, scopeKey } from '../../scope';

interface Charge {
  readonly kind: ScopeKind;
  readonly id: number;
  readonly hour: number;
  amount: Nano;
}

/** The sums that a batch of records adds to its scopes, hour by hour. All of a caller's count against the same scopes. */
export class ChargeSheet {
  readonly kinds: ScopeKind[] = [];
  readonly owners: number[] = [];
  readonly hours: string[] = [];
  readonly amounts: string[] = [];
  readonly wallets: number[] = [];
  readonly settlements: string[] = [];
  readonly sums: string[] = [];

  constructor(sums: Iterable<CallerSum>, settlementOf: ReadonlyMap<number, bigint>) {
    const charges = new Map<string, Charge>();
    const wallets = new Map<number, Nano>();
    for (const { who, hour, amount } of sums) {
      for (const ref of limitRefs(who)) {
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
      this.hours.push(new Date(hour * millisecondsPerHour).toISOString());
      this.amounts.push(amount.toString());
    }
    for (const [wallet, sum] of wallets) {
      this.wallets.push(wallet);
      this.settlements.push(String(settlementOf.get(wallet)));
      this.sums.push(sum.toString());
    }
  }
}

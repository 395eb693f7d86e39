import type { RequestRecord } from '../../audit';
import type { Nano } from '../../kernel';
import { limitRefs, type ScopeKind, scopeKey } from '../scope';

interface Charge {
  readonly kind: ScopeKind;
  readonly id: number;
  readonly hour: number;
  amount: Nano;
}

const millisecondsPerHour = 3_600_000;

/** The sums that a batch of records adds to its scopes, hour by hour: windows begin and end on the hour. */
export class ChargeSheet {
  readonly kinds: ScopeKind[] = [];
  readonly owners: number[] = [];
  readonly hours: string[] = [];
  readonly amounts: string[] = [];
  readonly wallets: number[] = [];
  readonly settlements: string[] = [];
  readonly sums: string[] = [];

  constructor(records: Iterable<RequestRecord>, settlementOf: ReadonlyMap<number, bigint>) {
    const charges = new Map<string, Charge>();
    const wallets = new Map<number, Nano>();
    for (const record of records) {
      if (record.costNano === 0n) continue;
      const hour = Math.floor(record.createdAt.getTime() / millisecondsPerHour);
      for (const ref of limitRefs(record)) {
        const key = `${scopeKey(ref)}:${hour}`;
        const charge = charges.get(key);
        if (charge) charge.amount += record.costNano;
        else charges.set(key, { ...ref, hour, amount: record.costNano });
      }
      if (record.walletId !== null) {
        wallets.set(record.walletId, (wallets.get(record.walletId) ?? 0n) + record.costNano);
      }
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

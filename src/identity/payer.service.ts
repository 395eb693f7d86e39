import { Injectable } from '@nestjs/common';
import { invoiceAccountOf } from '../kernel';
import { Database, type Tx } from '../platform';
import { type OwnerStandingRow, readOwnerStanding } from './owner-standing.query';
import { isInUse } from './user-status';
import type { Ownership, OwnerStanding } from './owner-standing.query';

export type { Ownership, OwnerStanding, PriceFactorVersion } from './owner-standing.query';

@Injectable()
export class PayerService {
  constructor(private readonly database: Database) {}

  async standingOf(owner: Ownership, tx?: Tx): Promise<OwnerStanding> {
    const row = await readOwnerStanding(tx ?? this.database, owner);
    return { ...row, chargedAccount: accountOf(row) };
  }
}

function accountOf({
  billingExempt,
  payerUserId: id,
  payerStatus,
  payerChain,
  payerBillingType,
}: OwnerStandingRow): number | null {
  if (billingExempt || id === null) return null;
  const isDelegate = payerChain.length > 1;
  if (isDelegate && payerStatus !== null && !isInUse(payerStatus)) return null;
  return payerBillingType === 'invoiced' ? invoiceAccountOf(id) : id;
}

import { Injectable } from '@nestjs/common';
import { invoiceAccountOf, type UnknownFieldMode } from '../kernel';
import { Database, type Tx } from '../platform';
import type { BillingType } from './billing-type';
import { type OwnerStandingRow, readOwnerStanding } from './owner-standing.query';
import { isInUse, type UserStatus } from './user-status';

export interface Ownership {
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
}

export interface OwnerStanding extends Ownership {
  readonly userStatus: UserStatus | null;
  readonly organisationRegions: readonly string[] | null;
  /** The project's billing user, else the organisation's, else the user; or the delegate who pays for that one. */
  readonly payerUserId: number | null;
  /** All accounts up to and including the payer: a change of any of them can change who pays. */
  readonly payerChain: readonly number[];
  readonly payerBillingType: BillingType | null;
  /**
   * The payer's wallet or invoice account; null if there is no payer, a suspended delegate would pay, or nothing is
   * charged.
   */
  readonly chargedAccount: number | null;
  readonly billingExempt: boolean;
  /** Whether the organisation, or a user without one, allows content in traces. */
  readonly telemetryContent: boolean;
  /** The organisation's choice; null uses the setting of the installation. */
  readonly unknownFields: UnknownFieldMode | null;
  /** Shares of a price that the organisation pays, latest version first; null if it never had a mark-up. */
  readonly priceFactors: readonly PriceFactorVersion[] | null;
}

export interface PriceFactorVersion {
  /** Milliseconds since the epoch. */
  readonly from: number;
  /** In millionths. */
  readonly factor: number;
}

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

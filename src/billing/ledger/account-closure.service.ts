import { Injectable } from '@nestjs/common';
import { fault, formatUsd } from '../../kernel';
import { BeforeUserErasure, type Tx } from '../../platform';
import { Invoices } from './invoices';
import { Ledger } from './ledger';

/** Decides whether an account can be closed. */
@Injectable()
export class AccountClosure {
  constructor(
    private readonly ledger: Ledger,
    private readonly invoices: Invoices,
  ) {}

  /** Requires that an account has no money, no debt and no requests in flight. */
  @BeforeUserErasure()
  async assertSettled(_: Tx, userId: number): Promise<void> {
    const { balance, escrowed } = await this.ledger.wallet(userId);
    if (balance !== 0n) {
      throw fault('conflict', {
        message: `This account's wallet holds ${formatUsd(balance)} USD; pay it out or write it off first.`,
        details: { reason: 'balance', balance: formatUsd(balance) },
      });
    }
    const { owed, escrowed: invoiced } = await this.invoices.state(userId);
    if (owed !== 0n) {
      throw fault('conflict', {
        message: `This account owes ${formatUsd(owed)} USD by invoice; record the payment first, or change the type of billing.`,
        details: { reason: 'owed', balance: formatUsd(owed) },
      });
    }
    if (escrowed !== 0n || invoiced !== 0n) {
      throw fault('conflict', {
        message: 'Requests of this account are still being settled.',
        details: { reason: 'settling' },
      });
    }
  }
}

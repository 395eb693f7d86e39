import { Injectable } from '@nestjs/common';
import { ActivityLog, systemActor } from '../../audit';
import { formatUsd, nanoPerCent } from '../../kernel';
import { readRows, type Tx } from '../../platform';
import type { Payment } from './payments';
import { concernsOfWallet } from './wallet-concern';

/** Automatic top-ups are switched off after this many failures in a row, because repeating does not fix a card. */
const MAX_FAILURES = 5;
/** Pauses double, from an hour up to nearly three days. */
const MAX_DOUBLINGS = 6;
const MAX_CODE_LENGTH = 100;

@Injectable()
export class AutomaticFailures {
  constructor(private readonly activity: ActivityLog) {}

  /** Counts a payment's failure once, whether its event or the response to its call comes first. */
  async fail(tx: Tx, { id, walletId, netCents }: Payment, code: string): Promise<boolean> {
    const failure = code.slice(0, MAX_CODE_LENGTH);
    const [failed] = await tx.query<[object[], number]>(
      `UPDATE payment SET state = 'failed', failure_code = $2 WHERE id = $1 AND state = 'open' RETURNING id`,
      [id, failure],
    );
    if (failed.length === 0) return false;
    const accounts = await readRows<{ wasOn: boolean; isOn: boolean }>(
      tx,
      `UPDATE billing_account a SET failures = a.failures + 1, failure_code = $2,
              automatic = a.automatic AND a.failures + 1 < ${MAX_FAILURES},
              paused_until = now() + interval '1 hour' * 2 ^ least(a.failures, ${MAX_DOUBLINGS})
         FROM (SELECT automatic FROM billing_account WHERE wallet_id = $1 FOR NO KEY UPDATE) before
        WHERE a.wallet_id = $1 RETURNING before.automatic AS was_on, a.automatic AS is_on`,
      [walletId, failure],
    );
    const actor = systemActor('payment processor');
    const concerns = await concernsOfWallet(tx, walletId);
    await this.activity.write(tx, {
      action: 'billing.payment-failed',
      actor,
      object: { type: 'payment', id, label: `${formatUsd(netCents * nanoPerCent, { fixed: 2 })} USD` },
      concerns,
      changes: { failure: [null, failure] },
    });
    if (accounts[0]?.wasOn === true && !accounts[0].isOn) {
      await this.activity.write(tx, {
        action: 'billing.auto-top-up-changed',
        actor,
        object: { type: 'setting', id: walletId },
        concerns,
        changes: { enabled: ['true', 'false'] },
      });
    }
    return true;
  }

  resetFailures(tx: Tx, { walletId }: Payment): Promise<unknown> {
    return tx.query(
      `UPDATE billing_account SET failures = 0, failure_code = NULL, paused_until = NULL
        WHERE wallet_id = $1 AND failures > 0`,
      [walletId],
    );
  }
}

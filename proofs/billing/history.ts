import type { ProcessorAccount } from '../../simulator/processor/account';
import type { SeededRandom } from '../../test/system/seeded-random';

const NANO_PER_CENT = 10_000_000n;

/** Events of one payment, and the expected final credit in nano-dollars, computed independently. */
export interface PaymentHistory {
  readonly steps: string;
  readonly expected: bigint;
}

/** Simulates one payment from its checkout to its end at the processor with random events. */
export function simulatePayment(
  account: ProcessorAccount,
  sessionId: string,
  netCents: bigint,
  chance: SeededRandom,
): PaymentHistory {
  const steps: string[] = [];
  const isPaid = pay(account, sessionId, chance, steps);
  if (!isPaid) return { steps: steps.join(', '), expected: 0n };
  const session = account.sessions.get(sessionId);
  const intent = String(session?.['payment_intent']);
  const gross = BigInt(Number(session?.['amount_total']));
  let takenCents = 0n;
  for (let round = chance.integer(0, 3); round > 0 && takenCents < gross; round -= 1) {
    const remainingCents = Number(gross - takenCents);
    const cents = chance.flip(0.25) ? remainingCents : chance.integer(1, remainingCents);
    const { id } = account.refundsAndDisputes.refund(intent, cents);
    steps.push(`refund ${cents}`);
    // The portion that still counts towards the charge total cannot be refunded again.
    const isDeducted = chance.flip();
    if (chance.flip(0.3) && (isDeducted || round === 1)) {
      account.refundsAndDisputes.failRefund(id, isDeducted);
      steps.push(`which failed ${isDeducted ? 'and left' : 'but stayed in'} the total`);
    } else takenCents += BigInt(cents);
  }
  if (chance.flip(0.3)) takenCents += dispute(account, intent, gross, chance, steps);
  const credit = netCents * NANO_PER_CENT;
  const lostCents = takenCents < gross ? takenCents : gross;
  return { steps: steps.join(', '), expected: credit - (credit * lostCents) / gross };
}

function pay(account: ProcessorAccount, sessionId: string, chance: SeededRandom, steps: string[]): boolean {
  if (chance.flip(0.2)) {
    account.pay(sessionId, chance.pick(['4000000000000002', '4000000000009995']));
    steps.push('declined');
  }
  const outcome = chance.pick(['card', 'card', 'card', 'secure', 'days', 'days-failed', 'expired']);
  steps.push(outcome);
  switch (outcome) {
    case 'card':
      account.pay(sessionId);
      return true;
    case 'secure':
      account.pay(sessionId, '4000002760003184', false);
      account.pay(sessionId, '4000002760003184', true);
      return true;
    case 'days':
    case 'days-failed':
      account.payDelayed(sessionId);
      account.settleDelayedPayment(sessionId, outcome === 'days');
      return outcome === 'days';
    default:
      account.expire(sessionId);
      return false;
  }
}

/** Simulates a dispute and returns the amount it takes: 0 if it is won. */
function dispute(
  account: ProcessorAccount,
  intent: string,
  gross: bigint,
  chance: SeededRandom,
  steps: string[],
): bigint {
  // A dispute can exceed the charge.
  const cents = chance.flip() ? Number(gross) : chance.integer(1, Math.ceil(Number(gross) * 1.05));
  const { id } = account.refundsAndDisputes.dispute(intent, cents);
  const disputedCents = chance.flip(0.3) ? cents + chance.integer(1, 500) : cents;
  if (disputedCents > cents) account.refundsAndDisputes.increaseDispute(id, disputedCents);
  const end = chance.pick(['won', 'lost', 'open', 'lost and won'] as const);
  steps.push(`dispute ${cents}, ${disputedCents} ${end}`);
  if (end === 'lost and won') {
    account.refundsAndDisputes.closeDispute(id, 'lost');
    account.refundsAndDisputes.reopenDispute(id);
    account.refundsAndDisputes.closeDispute(id, 'won');
  } else if (end !== 'open') account.refundsAndDisputes.closeDispute(id, end);
  return end === 'won' || end === 'lost and won' ? 0n : BigInt(disputedCents);
}

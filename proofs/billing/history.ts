import type { ProcessorAccount } from '../../simulator/processor/account';
import type { Chance } from '../../test/system/chance';

const nanoPerCent = 10_000_000n;

/** The credit at the end, in nano-dollars, computed independently from the events. */
export interface History {
  readonly told: string;
  readonly expected: bigint;
}

/** Takes one payment from its checkout to its end at the processor, by random events. */
export function live(
  account: ProcessorAccount,
  sessionId: string,
  netCents: bigint,
  chance: Chance,
): History {
  const told: string[] = [];
  const isPaid = pay(account, sessionId, chance, told);
  if (!isPaid) return { told: told.join(', '), expected: 0n };
  const session = account.sessions.get(sessionId);
  const intent = String(session?.['payment_intent']);
  const gross = BigInt(Number(session?.['amount_total']));
  let taken = 0n;
  for (let round = chance.whole(0, 3); round > 0 && taken < gross; round -= 1) {
    const left = Number(gross - taken);
    const cents = chance.flip(0.25) ? left : chance.whole(1, left);
    const { id } = account.back.refund(intent, cents);
    told.push(`refund ${cents}`);
    // The part that stays in the total of the charge cannot be refunded a second time.
    const isTakenOff = chance.flip();
    if (chance.flip(0.3) && (isTakenOff || round === 1)) {
      account.back.failRefund(id, isTakenOff);
      told.push(`which failed ${isTakenOff ? 'and left' : 'but stayed in'} the total`);
    } else taken += BigInt(cents);
  }
  if (chance.flip(0.3)) taken += dispute(account, intent, gross, chance, told);
  const credit = netCents * nanoPerCent;
  const lost = taken < gross ? taken : gross;
  return { told: told.join(', '), expected: credit - (credit * lost) / gross };
}

function pay(account: ProcessorAccount, sessionId: string, chance: Chance, told: string[]): boolean {
  if (chance.flip(0.2)) {
    account.pay(sessionId, chance.pick(['4000000000000002', '4000000000009995']));
    told.push('declined');
  }
  const way = chance.pick(['card', 'card', 'card', 'secure', 'days', 'days-failed', 'expired']);
  told.push(way);
  switch (way) {
    case 'card':
      account.pay(sessionId);
      return true;
    case 'secure':
      account.pay(sessionId, '4000002760003184', false);
      account.pay(sessionId, '4000002760003184', true);
      return true;
    case 'days':
    case 'days-failed':
      account.promise(sessionId);
      account.settleDelayedPayment(sessionId, way === 'days');
      return way === 'days';
    default:
      account.expire(sessionId);
      return false;
  }
}

/** A dispute takes this in the end: nothing when it is won. */
function dispute(
  account: ProcessorAccount,
  intent: string,
  gross: bigint,
  chance: Chance,
  told: string[],
): bigint {
  // It may be of more than the charge.
  const cents = chance.flip() ? Number(gross) : chance.whole(1, Math.ceil(Number(gross) * 1.05));
  const { id } = account.back.dispute(intent, cents);
  const raised = chance.flip(0.3) ? cents + chance.whole(1, 500) : cents;
  if (raised > cents) account.back.raise(id, raised);
  const end = chance.pick(['won', 'lost', 'open', 'lost and won'] as const);
  told.push(`dispute ${cents}, ${raised} ${end}`);
  if (end === 'lost and won') {
    account.back.closeDispute(id, 'lost');
    account.back.appeal(id);
    account.back.closeDispute(id, 'won');
  } else if (end !== 'open') account.back.closeDispute(id, end);
  return end === 'won' || end === 'lost and won' ? 0n : BigInt(raised);
}

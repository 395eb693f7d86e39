import { ordinaryOutcome } from '../../proofs/money/record';
import type { SettleOutcome } from '../../src/billing';

/** A call that counts against all limits a typical call counts against. */
export const recordOf = (costNano: bigint): SettleOutcome =>
  ordinaryOutcome({
    costNano,
    keyId: 1,
    walletId: 1,
    userId: 1,
    organisationId: 1,
    projectId: 1,
    firstTokenMs: 120,
  });

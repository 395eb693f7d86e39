import { ordinaryOutcome } from '../../proofs/money/record';
import { type RequestRecord, type WrittenRecord, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';

/** An ordinary record, apart from what a test says. */
export const aRecord = (rest: Partial<RequestRecord> = {}): RequestRecord => ({
  ...ordinaryOutcome(),
  requestId: uuidv7(),
  createdAt: new Date(),
  settlementId: null,
  ...rest,
});

export const written = (record: RequestRecord): WrittenRecord =>
  serialiseRecord(record.requestId, record.createdAt.getTime(), record);

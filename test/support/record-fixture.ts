import { ordinaryOutcome } from '../../proofs/money/record';
import { type RequestRecord, type WrittenRecord, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';

export const createRecord = (overrides: Partial<RequestRecord> = {}): RequestRecord => ({
  ...ordinaryOutcome(),
  requestId: uuidv7(),
  createdAt: new Date(),
  settlementId: null,
  ...overrides,
});

export const toWrittenRecord = (record: RequestRecord): WrittenRecord =>
  serialiseRecord(record.requestId, record.createdAt.getTime(), record);

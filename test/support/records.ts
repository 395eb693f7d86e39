import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { NO_USAGE } from '#product/kernel';
import { createRecord, toWrittenRecord } from './record-fixture';
import type { TestApp } from './app';

/** Creates the record of an ordinary successful chat request, with overrides. */
export const createChatRecord = (
  userId: number | null,
  keyId: number,
  fields: Partial<RequestRecord> = {},
): RequestRecord =>
  createRecord({
    ...NO_USAGE,
    keyId,
    userId,
    model: 'alpha',
    servedModel: 'alpha',
    supplier: 'north',
    priceId: null,
    costNano: 1_500_000_000n,
    stream: true,
    latencyMs: 840,
    firstTokenMs: 210,
    ...fields,
  });

export const storeRecords = (
  { database }: TestApp,
  records: readonly RequestRecord[],
): Promise<Set<number>> =>
  database.transaction((tx) => insertRequestRecords(tx, records.map(toWrittenRecord)));

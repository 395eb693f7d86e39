import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { NO_USAGE } from '#product/kernel';
import { aRecord, written } from './a-record';
import type { TestApp } from './app';

/** The record of an ordinary chat request that was answered, apart from what a test says. */
export const chatRecord = (
  userId: number | null,
  keyId: number,
  fields: Partial<RequestRecord> = {},
): RequestRecord =>
  aRecord({
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

export const putRecords = ({ database }: TestApp, records: readonly RequestRecord[]): Promise<Set<number>> =>
  database.transaction((tx) => insertRequestRecords(tx, records.map(written)));

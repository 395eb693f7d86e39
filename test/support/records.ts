import { insertRequestRecords, type RequestRecord } from '#product/audit';
import { NO_USAGE, uuidv7 } from '#product/kernel';
import { written } from './a-record';
import type { TestApp } from './app';

/** The record of an ordinary chat request that was answered, apart from what a test says. */
export const chatRecord = (
  userId: number | null,
  keyId: number,
  fields: Partial<RequestRecord> = {},
): RequestRecord => ({
  ...NO_USAGE,
  requestId: uuidv7(),
  createdAt: new Date(),
  settlementId: null,
  keyId,
  userId,
  organisationId: null,
  departmentId: null,
  projectId: null,
  walletId: null,
  surface: 'chat',
  model: 'alpha',
  servedModel: 'alpha',
  supplier: 'north',
  region: 'eu',
  priceId: null,
  usageSource: 'supplier',
  costNano: 1_500_000_000n,
  status: 200,
  code: null,
  stream: true,
  failover: false,
  attempts: null,
  latencyMs: 840,
  firstTokenMs: 210,
  finishReason: 'stop',
  sessionKey: null,
  dropped: null,
  endUser: null,
  tags: null,
  keyModelId: null,
  priceFactor: null,
  autoDecision: null,
  clientRequestId: null,
  ...fields,
});

export const putRecords = ({ database }: TestApp, records: readonly RequestRecord[]): Promise<Set<number>> =>
  database.transaction((tx) => insertRequestRecords(tx, records.map(written)));

import type { RequestRecord } from '../../audit';

/** Every field a record in the journal has; the settlement's id is given at each attempt anew. */
type Field = Exclude<keyof RequestRecord, 'settlementId'>;

const present: Readonly<Record<Field, true>> = {
  requestId: true,
  createdAt: true,
  keyId: true,
  userId: true,
  organisationId: true,
  departmentId: true,
  projectId: true,
  walletId: true,
  surface: true,
  model: true,
  servedModel: true,
  supplier: true,
  region: true,
  priceId: true,
  inputTokens: true,
  cacheReadTokens: true,
  cacheWriteTokens: true,
  cacheWriteLongTokens: true,
  outputTokens: true,
  reasoningTokens: true,
  audioInputTokens: true,
  audioOutputTokens: true,
  imageTokens: true,
  calls: true,
  audioMilliseconds: true,
  usageSource: true,
  costNano: true,
  status: true,
  code: true,
  stream: true,
  failover: true,
  attempts: true,
  latencyMs: true,
  firstTokenMs: true,
  finishReason: true,
  sessionKey: true,
};

export const recordFields = Object.keys(present) as readonly Field[];

/** A record as a list of values in the order that the journal's header names. */
export function encodeRecord(record: RequestRecord): string {
  const values: unknown[] = [];
  for (const field of recordFields) {
    const value = record[field];
    if (typeof value === 'bigint') values.push(value.toString());
    else values.push(field === 'createdAt' ? record.createdAt.getTime() : value);
  }
  return JSON.stringify(values);
}

/** Reads with the fields of the journal's own header, so that an older journal is still understood. */
export function decodeRecord(text: string, fields: readonly string[]): RequestRecord {
  const values = JSON.parse(text) as unknown[];
  const given = new Map(fields.map((field, place) => [field, values[place]]));
  // What an older version did not write yet is null; where the database wants more it refuses, and says so.
  const named = Object.fromEntries(recordFields.map((field) => [field, given.get(field) ?? null]));
  return {
    ...(named as unknown as RequestRecord),
    createdAt: new Date(Number(named['createdAt'])),
    costNano: BigInt(String(named['costNano'])),
    settlementId: null,
  };
}

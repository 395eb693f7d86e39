import type { RequestRecord } from '../../audit';

/** Every field a record in the journal has, in order; the settlement's id is given at each attempt anew. */
export const recordFields = [
  'requestId',
  'createdAt',
  'costNano',
  'keyId',
  'userId',
  'organisationId',
  'departmentId',
  'projectId',
  'walletId',
  'surface',
  'model',
  'servedModel',
  'supplier',
  'region',
  'priceId',
  'inputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWriteLongTokens',
  'outputTokens',
  'reasoningTokens',
  'audioInputTokens',
  'audioOutputTokens',
  'imageTokens',
  'calls',
  'audioMilliseconds',
  'usageSource',
  'status',
  'code',
  'stream',
  'failover',
  'attempts',
  'latencyMs',
  'firstTokenMs',
  'finishReason',
  'sessionKey',
  'dropped',
] as const satisfies readonly (keyof RequestRecord)[];

type Journalled = (typeof recordFields)[number];
type Values<Fields extends readonly Journalled[]> = {
  -readonly [Place in keyof Fields]: Cell<Fields[Place]>;
};
type Cell<Field extends Journalled> = Field extends 'createdAt'
  ? number
  : Field extends 'costNano'
    ? string
    : RequestRecord[Field];

/** Does not compile while the journal forgets a field of the record. */
type Complete =
  Exclude<keyof RequestRecord, Journalled | 'settlementId'> extends never ? RequestRecord : never;

/** The values without their names: written out, because a loop over the names takes twice as long. */
export function encodeRecord(r: Complete): string {
  const values: Values<typeof recordFields> = [
    r.requestId,
    r.createdAt.getTime(),
    r.costNano.toString(),
    r.keyId,
    r.userId,
    r.organisationId,
    r.departmentId,
    r.projectId,
    r.walletId,
    r.surface,
    r.model,
    r.servedModel,
    r.supplier,
    r.region,
    r.priceId,
    r.inputTokens,
    r.cacheReadTokens,
    r.cacheWriteTokens,
    r.cacheWriteLongTokens,
    r.outputTokens,
    r.reasoningTokens,
    r.audioInputTokens,
    r.audioOutputTokens,
    r.imageTokens,
    r.calls,
    r.audioMilliseconds,
    r.usageSource,
    r.status,
    r.code,
    r.stream,
    r.failover,
    r.attempts,
    r.latencyMs,
    r.firstTokenMs,
    r.finishReason,
    r.sessionKey,
    r.dropped,
  ];
  return JSON.stringify(values);
}

/** Reads with the fields of the journal's own header, so that an older journal is still understood. */
export function decodeRecord(text: string, fields: readonly string[]): RequestRecord {
  const values = JSON.parse(text) as unknown[];
  const given = new Map(fields.map((field, place) => [field, values[place]]));
  // What an older version did not write yet is null; where the database wants more it refuses, and says so.
  const named = Object.fromEntries(recordFields.map((field) => [field, given.get(field) ?? null]));
  const { createdAt, costNano } = named as { createdAt: number; costNano: string };
  return {
    ...(named as unknown as RequestRecord),
    createdAt: new Date(createdAt),
    costNano: BigInt(costNano),
    settlementId: null,
  };
}

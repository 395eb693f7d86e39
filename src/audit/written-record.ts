import { parseJsonText } from '../kernel';
import type { Attribution, RequestRecord } from './request-record';

/** Every field a record is written with, in order; its settlement is known only to whoever settles it. */
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

/** What happened, apart from which request it was and when. */
export type RecordFacts = Omit<RequestRecord, 'requestId' | 'createdAt' | 'settlementId'>;

/** A record as the journal and the database get it, and what of it is summed. */
export interface WrittenRecord extends Attribution {
  readonly requestId: string;
  readonly createdMs: number;
  readonly costNano: bigint;
  /** The values of all fields as JSON, without their names. */
  readonly text: string;
}

type Written = (typeof recordFields)[number];
type Values<Fields extends readonly Written[]> = { -readonly [Place in keyof Fields]: Cell<Fields[Place]> };
type Cell<Field extends Written> = Field extends 'createdAt'
  ? number
  : Field extends 'costNano'
    ? string
    : RequestRecord[Field];

/** Does not compile while a field of the record is forgotten. */
type Complete = Exclude<keyof RequestRecord, Written | 'settlementId'> extends never ? RecordFacts : never;

/** Once, when the request ends: what is written then is what the journal keeps and the database reads. */
export function writtenRecord(requestId: string, createdMs: number, r: Complete): WrittenRecord {
  // Written out, because a loop over the names takes twice as long.
  const values: Values<typeof recordFields> = [
    requestId,
    createdMs,
    r.costNano.toString(),
    r.keyId,
    r.userId,
    r.organisationId,
    r.departmentId,
    r.projectId,
    r.walletId,
    r.surface,
    storableOrNull(r.model),
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
    storableOrNull(r.finishReason),
    storableOrNull(r.sessionKey),
    r.dropped === null ? null : storableNames(r.dropped),
  ];
  return withText(requestId, createdMs, r, JSON.stringify(values));
}

function withText(
  requestId: string,
  createdMs: number,
  { costNano, keyId, userId, organisationId, departmentId, projectId, walletId }: RecordFacts,
  text: string,
): WrittenRecord {
  return {
    requestId,
    createdMs,
    costNano,
    keyId,
    userId,
    organisationId,
    departmentId,
    projectId,
    walletId,
    text,
  };
}

/** The same under another id. */
export function renamedRecord(record: WrittenRecord, requestId: string): WrittenRecord {
  const [, ...rest] = parseJsonText(record.text) as unknown[];
  return { ...record, requestId, text: JSON.stringify([requestId, ...rest]) };
}

/** Reads with the fields that the journal's own header names, so that an older journal is still understood. */
export function readRecord(text: string, fields?: readonly string[]): RequestRecord {
  return recordOf(parseJsonText(text) as unknown[], fields);
}

/** The same of several, with commas between. */
export function readRecords(texts: string, fields?: readonly string[]): RequestRecord[] {
  return (parseJsonText(`[${texts}]`) as unknown[][]).map((values) => recordOf(values, fields));
}

function recordOf(values: readonly unknown[], fields: readonly string[] = recordFields): RequestRecord {
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

/** The same record, from its text. */
export function readWritten(text: string): WrittenRecord {
  const { requestId, createdAt, ...facts } = readRecord(text);
  return withText(requestId, createdAt.getTime(), facts, text);
}

const LONGEST_TEXT = 256;
const MOST_DROPPED = 100;
/** Short and printable, as nearly all of them are. */
const plain = /^[\x20-\x7e]{0,256}$/;

/**
 * A text that callers or suppliers chose, as it can be stored: nobody may go unrecorded, and so uncharged, by sending
 * a NUL or half a surrogate pair.
 */
const storable = (text: string): string =>
  plain.test(text) ? text : text.slice(0, LONGEST_TEXT).replaceAll('\0', '\ufffd').toWellFormed();

const storableOrNull = (text: string | null): string | null => (text === null ? null : storable(text));

/** Names of fields are the caller's as well, and there may be any number of them. */
const storableNames = (counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts)
      .slice(0, MOST_DROPPED)
      .map(([name, count]) => [storable(name), count]),
  );

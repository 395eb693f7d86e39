import { NO_USAGE, snakeCased, type UsageCounts } from '../kernel';
import type { RecordAttributes, RequestRecord } from './request-record';

/**
 * How a column is written to the journal, inserted and read back. In text older than its column, `count` is zero and
 * other kinds are null; `foreign` text comes from callers or suppliers.
 */
type ColumnKind = keyof typeof sqlTypes;

const sqlTypes = {
  uuid: 'uuid',
  instant: 'timestamptz',
  nano: 'bigint',
  id: 'bigint',
  count: 'integer',
  small: 'smallint',
  text: 'text',
  foreign: 'text',
  span: 'integer',
  flag: 'boolean',
  json: 'jsonb',
  names: 'jsonb',
  labels: 'jsonb',
} as const;

/** Every column of a record in the order of its text; only the settlement is added later. */
const recordColumns = {
  requestId: 'uuid',
  createdAt: 'instant',
  costNano: 'nano',
  keyId: 'id',
  userId: 'id',
  organisationId: 'id',
  departmentId: 'id',
  projectId: 'id',
  walletId: 'id',
  surface: 'text',
  model: 'foreign',
  servedModel: 'text',
  supplier: 'text',
  region: 'text',
  priceId: 'id',
  inputTokens: 'count',
  cacheReadTokens: 'count',
  cacheWriteTokens: 'count',
  cacheWriteLongTokens: 'count',
  outputTokens: 'count',
  reasoningTokens: 'count',
  audioInputTokens: 'count',
  audioOutputTokens: 'count',
  imageTokens: 'count',
  imageOutputTokens: 'count',
  calls: 'count',
  audioMilliseconds: 'count',
  uses: 'json',
  modes: 'json',
  images: 'json',
  usageSource: 'text',
  status: 'small',
  code: 'text',
  stream: 'flag',
  failover: 'flag',
  attempts: 'json',
  latencyMs: 'count',
  firstTokenMs: 'span',
  finishReason: 'foreign',
  sessionKey: 'foreign',
  dropped: 'names',
  endUser: 'foreign',
  tags: 'labels',
  keyModelId: 'id',
  priceFactor: 'span',
  autoDecision: 'json',
  parts: 'json',
  clientRequestId: 'text',
  surcharges: 'json',
  gates: 'json',
  excess: 'json',
} as const satisfies Readonly<Record<Exclude<keyof RequestRecord, 'settlementId'>, ColumnKind>>;

export type RecordField = keyof typeof recordColumns;

export interface RecordColumn {
  readonly field: RecordField;
  readonly name: string;
  readonly kind: ColumnKind;
  readonly sqlType: string;
}

export const columns: readonly RecordColumn[] = Object.entries(recordColumns).map(([field, kind]) => ({
  field: field as RecordField,
  name: snakeCased(field),
  kind,
  sqlType: sqlTypes[kind],
}));

export const recordFields: readonly RecordField[] = columns.map(({ field }) => field);

/** The first two columns are known before a request ends; the others describe its end. */
const [, , ...attributeColumns] = columns as readonly (RecordColumn & {
  readonly field: keyof RecordAttributes;
})[];

export function cellsOf(requestId: string, createdMs: number, attributes: RecordAttributes): unknown[] {
  const cells: unknown[] = [requestId, createdMs];
  for (const { field, kind } of attributeColumns) cells.push(cellOf(kind, attributes[field]));
  return cells;
}

function cellOf(kind: ColumnKind, value: unknown): unknown {
  if (value === null) return null;
  if (kind === 'nano') return (value as bigint).toString();
  if (kind === 'foreign') return storable(value as string);
  if (kind === 'labels') return (value as readonly string[]).map(storable);
  return kind === 'names' ? storableNames(value as Readonly<Record<string, number>>) : value;
}

/** Inverse of `cellOf`, also for text of an older version that lacks the column. */
export function valueOfCell({ kind }: RecordColumn, cell: unknown): unknown {
  if (kind === 'instant') return new Date(cell as number);
  if (kind === 'nano') return BigInt(cell as string);
  return cell ?? (kind === 'count' ? 0 : null);
}

export function valueOfRow({ kind, name }: RecordColumn, row: Readonly<Record<string, unknown>>): unknown {
  const value = row[name] ?? null;
  if (value === null) return null;
  if (kind === 'nano') return BigInt(value as string);
  return kind === 'id' ? Number(value) : value;
}

const MAX_TEXT_LENGTH = 256;
const MAX_NAMES = 100;
/** Short and printable, like nearly all text. */
const plain = /^[\x20-\x7e]{0,256}$/;

/**
 * Makes text from callers or suppliers storable. A NUL or a lone surrogate must not prevent a request's record, and
 * thereby its charge.
 */
const storable = (text: string): string =>
  plain.test(text) ? text : text.slice(0, MAX_TEXT_LENGTH).replaceAll('\0', '\ufffd').toWellFormed();

/** Field names also come from the caller, in any number. */
const storableNames = (counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts)
      .slice(0, MAX_NAMES)
      .map(([name, count]) => [storable(name), count]),
  );

const usageFields: ReadonlySet<string> = new Set(Object.keys(NO_USAGE));
const usageRecordColumns = columns.filter(({ field }) => usageFields.has(field));

export const usageColumns: readonly string[] = usageRecordColumns.map(({ name }) => name);

export const usageOfRow = (row: Readonly<Record<string, unknown>>): UsageCounts =>
  Object.fromEntries(
    usageRecordColumns.map((column) => [column.field, valueOfRow(column, row)]),
  ) as unknown as UsageCounts;

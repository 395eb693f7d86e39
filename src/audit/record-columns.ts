import { NO_USAGE, snakeCased, type UsageCounts } from '../kernel';
import type { RecordFacts, RequestRecord } from './request-record';

/**
 * The kind says how a column is written to the journal, inserted and read back. In a text that is older than
 * its column `count` is zero and every other kind null. Callers or suppliers chose the text of a `foreign`.
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

/** Every column of a record in the order of its text. The settlement alone is known later. */
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

/** The header of a journal names them like this. */
export const recordFields: readonly RecordField[] = columns.map(({ field }) => field);

/** The columns known before a request ended come first; the others are facts of its end. */
const [, , ...factColumns] = columns as readonly (RecordColumn & { readonly field: keyof RecordFacts })[];

/** The values of all columns as they stand in the text of a record. */
export function cellsOf(requestId: string, createdMs: number, facts: RecordFacts): unknown[] {
  const cells: unknown[] = [requestId, createdMs];
  for (const { field, kind } of factColumns) cells.push(cellOf(kind, facts[field]));
  return cells;
}

function cellOf(kind: ColumnKind, value: unknown): unknown {
  if (value === null) return null;
  if (kind === 'nano') return (value as bigint).toString();
  if (kind === 'foreign') return storable(value as string);
  if (kind === 'labels') return (value as readonly string[]).map(storable);
  return kind === 'names' ? storableNames(value as Readonly<Record<string, number>>) : value;
}

/** The inverse, also for the text of an older version that lacks the column. */
export function valueOfCell({ kind }: RecordColumn, cell: unknown): unknown {
  if (kind === 'instant') return new Date(cell as number);
  if (kind === 'nano') return BigInt(cell as string);
  return cell ?? (kind === 'count' ? 0 : null);
}

/** The value is read from a row, where 64-bit integers are texts. */
export function valueOfRow({ kind, name }: RecordColumn, row: Readonly<Record<string, unknown>>): unknown {
  const value = row[name] ?? null;
  if (value === null) return null;
  if (kind === 'nano') return BigInt(value as string);
  return kind === 'id' ? Number(value) : value;
}

const LONGEST_TEXT = 256;
const MOST_NAMES = 100;
/** Short and printable, as nearly all of them are. */
const plain = /^[\x20-\x7e]{0,256}$/;

/**
 * A text from callers or suppliers in storable form. A NUL or half a surrogate pair must not prevent a request's
 * record, and so its charge.
 */
const storable = (text: string): string =>
  plain.test(text) ? text : text.slice(0, LONGEST_TEXT).replaceAll('\0', '\ufffd').toWellFormed();

/** Names of fields are the caller's as well, and there may be any number of them. */
const storableNames = (counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts)
      .slice(0, MOST_NAMES)
      .map(([name, count]) => [storable(name), count]),
  );

const usageFields: ReadonlySet<string> = new Set(Object.keys(NO_USAGE));
const ofUsage = columns.filter(({ field }) => usageFields.has(field));

/** The columns that a charge is computed from. */
export const usageColumns: readonly string[] = ofUsage.map(({ name }) => name);

export const usageOfRow = (row: Readonly<Record<string, unknown>>): UsageCounts =>
  Object.fromEntries(
    ofUsage.map((column) => [column.field, valueOfRow(column, row)]),
  ) as unknown as UsageCounts;

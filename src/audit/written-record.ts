import { parseJsonText } from '../kernel';
import { cellsOf, columns, recordFields, valueOfCell } from './record-columns';
import type { Attribution, RecordAttributes, RequestRecord } from './request-record';

export interface WrittenRecord extends Attribution {
  readonly requestId: string;
  readonly createdMs: number;
  readonly costNano: bigint;
  readonly keyModelId: number | null;
  readonly text: string;
}

/** Called once when the request ends: the journal stores the text and the database parses it. */
export function serialiseRecord(
  requestId: string,
  createdMs: number,
  attributes: RecordAttributes,
): WrittenRecord {
  return withText(
    requestId,
    createdMs,
    attributes,
    JSON.stringify(cellsOf(requestId, createdMs, attributes)),
  );
}

function withText(
  requestId: string,
  createdMs: number,
  {
    costNano,
    keyId,
    userId,
    organisationId,
    departmentId,
    projectId,
    walletId,
    keyModelId,
  }: RecordAttributes,
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
    keyModelId,
    text,
  };
}

export function withRequestId(record: WrittenRecord, requestId: string): WrittenRecord {
  const [, ...rest] = parseJsonText(record.text) as unknown[];
  return { ...record, requestId, text: JSON.stringify([requestId, ...rest]) };
}

/** Reads with the field names of the journal's own header, so that an older journal is still understood. */
export function readRecord(text: string, fields?: readonly string[]): RequestRecord {
  return recordOf(parseJsonText(text) as unknown[], fields);
}

export function readRecords(texts: string, fields?: readonly string[]): RequestRecord[] {
  return (parseJsonText(`[${texts}]`) as unknown[][]).map((values) => recordOf(values, fields));
}

function recordOf(values: readonly unknown[], fields: readonly string[] = recordFields): RequestRecord {
  const cells = new Map(fields.map((field, index) => [field, values[index]]));
  const entries = columns.map((column) => [column.field, valueOfCell(column, cells.get(column.field))]);
  return { ...(Object.fromEntries(entries) as Omit<RequestRecord, 'settlementId'>), settlementId: null };
}

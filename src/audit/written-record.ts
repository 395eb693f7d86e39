import { parseJsonText } from '../kernel';
import { cellsOf, columns, recordFields, valueOfCell } from './record-columns';
import type { Attribution, RecordFacts, RequestRecord } from './request-record';

/** A record as the journal and the database store it, with its summed quantities. */
export interface WrittenRecord extends Attribution {
  readonly requestId: string;
  readonly createdMs: number;
  readonly costNano: bigint;
  readonly keyModelId: number | null;
  /** The values of all fields as JSON, without their names. */
  readonly text: string;
}

/** It is made once, when the request ends: the journal stores this text and the database parses it. */
export function writtenRecord(requestId: string, createdMs: number, facts: RecordFacts): WrittenRecord {
  return withText(requestId, createdMs, facts, JSON.stringify(cellsOf(requestId, createdMs, facts)));
}

function withText(
  requestId: string,
  createdMs: number,
  { costNano, keyId, userId, organisationId, departmentId, projectId, walletId, keyModelId }: RecordFacts,
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
  const named = columns.map((column) => [column.field, valueOfCell(column, given.get(column.field))]);
  return { ...(Object.fromEntries(named) as Omit<RequestRecord, 'settlementId'>), settlementId: null };
}

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRecord, type WrittenRecord } from '../../../audit';

export const refusedFile = (folder: string): string => join(folder, 'refused-records.jsonl');

/** Saves a record that the database refused permanently, for an operator to read. */
export function saveRefusedRecord(folder: string, { text }: WrittenRecord, reason: Error): void {
  const line = JSON.stringify({ reason: reason.message, record: readRecord(text) }, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  appendFileSync(refusedFile(folder), `${line}\n`, { mode: 0o600 });
}

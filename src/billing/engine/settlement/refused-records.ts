import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRecord, type WrittenRecord } from '../../../audit';

export const refusedFile = (folder: string): string => join(folder, 'refused-records.jsonl');

/** Keeps a record that the database refused for good, for an operator to read. */
export function setAside(folder: string, { text }: WrittenRecord, reason: Error): void {
  const line = JSON.stringify({ reason: reason.message, record: readRecord(text) }, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  appendFileSync(refusedFile(folder), `${line}\n`, { mode: 0o600 });
}

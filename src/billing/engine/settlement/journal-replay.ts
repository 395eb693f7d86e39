import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { readRecords, type RequestRecord, type WrittenRecord, serialiseRecord } from '../../../audit';
import type { MoneyStore } from '../store/money-store';
import { readFrames } from './journal-frames';
import { headerOf, type JournalHeader, isWriterRunning } from './journal-owner';
import { saveRefusedRecord } from './refused-records';
import { settleSplitting } from './settle-splitting';

export interface ReplayReport {
  readonly files: number;
  readonly records: number;
  readonly torn: readonly { readonly file: string; readonly at: number }[];
  /** Number of records that the database refused permanently; they are kept in the file for refused records. */
  readonly refused: number;
  /** Journals of nodes that an operator gave up: renamed, and not charged. */
  readonly forgotten: readonly string[];
}

/** `leaveAfter` skips records created later: an operator's decision after a restore from a backup. */
export interface ReplayOptions {
  readonly leaveAfter?: Date | null;
}

export interface AbandonedJournal {
  readonly file: string;
  readonly node: string;
  readonly header: JournalHeader | null;
}

interface JournalContent {
  readonly records: readonly WrittenRecord[];
  readonly tornAt: number | null;
}

const RECORDS_PER_BATCH = 500;
const MAX_HEADER_BYTES = 4_096;

/**
 * Settles what dead nodes left in their journals, then takes back what they held. Safe to repeat, and safe for records
 * that were committed already, because their ids are known.
 */
export async function replayJournals(
  folder: string,
  store: MoneyStore,
  { leaveAfter = null }: ReplayOptions = {},
): Promise<ReplayReport> {
  const report = {
    files: 0,
    records: 0,
    torn: [] as { file: string; at: number }[],
    refused: 0,
    forgotten: [] as string[],
  };
  const journals = await journalsOfDeadNodes(journalsIn(folder), store);
  if (journals.length === 0) return report;
  const forgottenNodes = new Set(await store.forgottenNodes([...new Set(journals.map(({ node }) => node))]));
  for (const { file } of journals.filter(({ node }) => forgottenNodes.has(node))) {
    renameSync(file, `${file}.forgotten`);
    report.forgotten.push(file);
  }
  const dead = journals
    .filter(({ node }) => !forgottenNodes.has(node))
    .map((each) => ({ ...each, ...contentOf(each) }))
    .map(({ records: allRecords, ...each }) => {
      const records = allRecords.filter(
        ({ createdMs }) => leaveAfter === null || createdMs <= leaveAfter.getTime(),
      );
      return { ...each, records, isPartial: records.length < allRecords.length };
    });

  for (const { file, records, tornAt } of dead) {
    report.files += 1;
    report.records += records.length;
    if (tornAt !== null) report.torn.push({ file, at: tornAt });
    for (let from = 0; from < records.length; from += RECORDS_PER_BATCH) {
      await settleSplitting(
        records.slice(from, from + RECORDS_PER_BATCH),
        async (some) => {
          await store.settle({ lease: null, number: 0, records: some, releases: [] });
        },
        (record, reason) => {
          report.refused += 1;
          saveRefusedRecord(folder, record, reason);
        },
      );
    }
  }
  // Released only after the spending is counted.
  for (const node of new Set(dead.map(({ node }) => node))) await store.sweep(node);
  for (const { file, tornAt, isPartial } of dead) {
    if (isPartial) renameSync(file, `${file}.left`);
    else if (tornAt === null) rmSync(file, { force: true });
    else renameSync(file, `${file}.torn`);
  }
  return report;
}

/**
 * Keeps the journals of dead nodes: a writer on this machine is looked up among the processes, any other among the
 * leases.
 */
export async function journalsOfDeadNodes(
  journals: readonly AbandonedJournal[],
  store: MoneyStore,
): Promise<AbandonedJournal[]> {
  const isRunning = journals.map(({ header }) => (header === null ? null : isWriterRunning(header)));
  const liveNodes = isRunning.includes(null) ? await store.liveNodes() : [];
  return journals.filter(({ node }, index) => !(isRunning[index] ?? liveNodes.includes(node)));
}

export function journalsIn(folder: string): AbandonedJournal[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.journal'));
  return names.sort().map((name) => {
    const file = join(folder, name);
    return {
      file,
      node: name.split('.')[0] ?? '',
      header: headerOf(readFrames(readHeader(file)).payloads[0]),
    };
  });
}

function readHeader(path: string): Buffer {
  const bytes = Buffer.alloc(MAX_HEADER_BYTES);
  const file = openSync(path, 'r');
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, MAX_HEADER_BYTES, 0));
  } finally {
    closeSync(file);
  }
}

export function contentOf({ file, header }: AbandonedJournal): JournalContent {
  const { payloads, tornAt } = readFrames(readFileSync(file));
  if (header === null) return { records: [], tornAt: tornAt ?? 0 };
  const records = payloads
    .filter((payload) => !payload.startsWith('{'))
    .flatMap((payload) => readRecords(payload, header.fields))
    .map(toWrittenRecord);
  return { records, tornAt };
}

function toWrittenRecord({ requestId, createdAt, ...facts }: RequestRecord): WrittenRecord {
  return serialiseRecord(requestId, createdAt.getTime(), facts);
}

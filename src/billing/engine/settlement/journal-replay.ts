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
import { readRecords, type RequestRecord, type WrittenRecord, writtenRecord } from '../../../audit';
import type { MoneyStore } from '../store/money-store';
import { readFrames } from './journal-frames';
import { headerOf, type JournalHeader, writerRuns } from './journal-owner';
import { setAside } from './refused-records';
import { settleSplitting } from './settle-splitting';

export interface ReplayReport {
  readonly files: number;
  readonly records: number;
  readonly torn: readonly { readonly file: string; readonly at: number }[];
  /** Records that the database refused for good; they lie in the file of this name. */
  readonly refused: number;
  /** Journals of nodes that an operator gave up: put aside, and nothing of them is charged. */
  readonly forgotten: readonly string[];
}

/** An operator decided that of a restored installation's journals nothing is charged that began after this. */
export interface ReplayOptions {
  readonly leaveAfter?: Date | null;
}

export interface AbandonedJournal {
  readonly file: string;
  readonly node: string;
  readonly header: JournalHeader | null;
}

interface Content {
  readonly records: readonly WrittenRecord[];
  readonly tornAt: number | null;
}

const recordsAtOnce = 500;
/** A header is shorter. */
const headerBytes = 4_096;

/**
 * Settles what dead nodes left in their journals, then takes back what they held. Safe to repeat, and safe against
 * records that were committed already: their ids are known.
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
  const left = await ofDeadNodes(journalsIn(folder), store);
  if (left.length === 0) return report;
  const givenUp = new Set(await store.forgotten([...new Set(left.map(({ node }) => node))]));
  for (const { file } of left.filter(({ node }) => givenUp.has(node))) {
    renameSync(file, `${file}.forgotten`);
    report.forgotten.push(file);
  }
  const dead = left
    .filter(({ node }) => !givenUp.has(node))
    .map((each) => ({ ...each, ...contentOf(each) }))
    .map(({ records: all, ...each }) => {
      const records = all.filter(({ createdMs }) => leaveAfter === null || createdMs <= leaveAfter.getTime());
      return { ...each, records, isLeft: records.length < all.length };
    });

  for (const { file, records, tornAt } of dead) {
    report.files += 1;
    report.records += records.length;
    if (tornAt !== null) report.torn.push({ file, at: tornAt });
    for (let from = 0; from < records.length; from += recordsAtOnce) {
      await settleSplitting(
        records.slice(from, from + recordsAtOnce),
        async (some) => {
          await store.settle({ lease: null, number: 0, records: some, releases: [] });
        },
        (record, reason) => {
          report.refused += 1;
          setAside(folder, record, reason);
        },
      );
    }
  }
  // The dead node's escrow is released only now that its spending is counted.
  for (const node of new Set(dead.map(({ node }) => node))) await store.sweep(node);
  for (const { file, tornAt, isLeft } of dead) {
    if (isLeft) renameSync(file, `${file}.left`);
    else if (tornAt === null) rmSync(file, { force: true });
    else renameSync(file, `${file}.torn`);
  }
  return report;
}

/** A writer on this machine is looked up among its processes, any other among the leases. */
export async function ofDeadNodes(
  left: readonly AbandonedJournal[],
  store: MoneyStore,
): Promise<AbandonedJournal[]> {
  const known = left.map(({ header }) => (header === null ? null : writerRuns(header)));
  const living = known.includes(null) ? await store.liveNodes() : [];
  return left.filter(({ node }, place) => !(known[place] ?? living.includes(node)));
}

export function journalsIn(folder: string): AbandonedJournal[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.journal'));
  return names.sort().map((name) => {
    const file = join(folder, name);
    return {
      file,
      node: name.split('.')[0] ?? '',
      header: headerOf(readFrames(beginningOf(file)).payloads[0]),
    };
  });
}

function beginningOf(path: string): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  const file = openSync(path, 'r');
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, headerBytes, 0));
  } finally {
    closeSync(file);
  }
}

export function contentOf({ file, header }: AbandonedJournal): Content {
  const { payloads, tornAt } = readFrames(readFileSync(file));
  if (header === null) return { records: [], tornAt: tornAt ?? 0 };
  const records = payloads
    .filter((payload) => !payload.startsWith('{'))
    .flatMap((payload) => readRecords(payload, header.fields))
    .map(rewritten);
  return { records, tornAt };
}

/** The record is written as this version writes it. */
function rewritten({ requestId, createdAt, ...facts }: RequestRecord): WrittenRecord {
  return writtenRecord(requestId, createdAt.getTime(), facts);
}

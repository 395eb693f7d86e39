import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import type { Findings } from '../../test/system/findings';
import { Books } from '../outages/books';
import { plainShot, models } from '../outages/catalogue';
import { call, isServed } from '../outages/load';
import { seconds } from '../outages/report';
import type { RestoreFixture } from './restore-fixture';

const CALL_COUNT = 3;

/** Restore that a drill requests. */
export interface RestoreRequest {
  /** Defaults to the newest moment of the archive. */
  readonly at?: Date;
  /** Folder of an interrupted restore. */
  readonly folder?: string;
  /** Defaults to the target in the settings. */
  readonly target?: string;
}

export interface RestoreRow {
  readonly drill: string;
  readonly moment: string;
  readonly before: number;
  readonly after: number;
  /** Records from before the moment without exactly one charge. */
  readonly missing: number;
  /** Records of calls that were sent after the moment. */
  readonly present: number;
  readonly duration: string;
}

const NO_COUNTS = { before: 0, after: 0, missing: 0, present: 0 };

/** Restores to the moment, starts the product there, and compares it with what was observed from outside. */
export async function restoreAndExamine(
  fixture: RestoreFixture,
  name: string,
  { at, folder: into = fixture.newRestoreFolder(), target }: RestoreRequest,
  findings: Findings,
): Promise<RestoreRow> {
  const startedAt = performance.now();
  const args = [
    'restore',
    ...(target === undefined ? [] : [target]),
    '--into',
    into,
    ...(at === undefined ? [] : ['--at', at.toISOString()]),
  ];
  const { code, text } = await fixture.run(args);
  const durationMs = performance.now() - startedAt;
  findings.check(`${name}: restored`, 'exit code 0', code === 0 ? '0' : text, code === 0);
  if (code !== 0) return { drill: name, moment: 'none', ...NO_COUNTS, duration: seconds(durationMs) };
  const moment = new Date(/ is as of (\S+Z);/.exec(text)?.[1] ?? NaN);
  const before = fixture.witness.committedBy(moment);
  const after = fixture.witness.sentAfter(moment);
  const node = await fixture.startRestored(into);
  let counts: Pick<RestoreRow, 'missing' | 'present'>;
  try {
    const calls = await Promise.all(
      Array.from({ length: CALL_COUNT }, (_, place) =>
        call(fixture.endpointOf(node), plainShot(models.chat, place)),
      ),
    );
    const servedCount = calls.filter(isServed).length;
    findings.check(
      `${name}: it serves`,
      `${CALL_COUNT} of ${CALL_COUNT}`,
      `${servedCount} of ${CALL_COUNT}`,
      servedCount === CALL_COUNT,
    );
    counts = await examineBooks(name, into, { before, after }, findings);
    await examineByCommand(fixture, name, into, findings);
  } finally {
    await node.stop();
  }
  return {
    drill: name,
    moment: moment.toISOString(),
    before: before.length,
    after: after.length,
    ...counts,
    duration: seconds(durationMs),
  };
}

async function examineBooks(
  name: string,
  folder: string,
  { before, after }: { readonly before: readonly string[]; readonly after: readonly string[] },
  findings: Findings,
): Promise<Pick<RestoreRow, 'missing' | 'present'>> {
  const books = await Books.open(runningEmbeddedPostgres(folder)!.ownerUrl);
  try {
    const lostCount = await books.countLost(before, 2_000);
    findings.expectNoneWrong(
      `${name}: from before the moment, without exactly one charge`,
      before.length,
      lostCount,
      `${lostCount} of ${before.length}`,
    );
    const laterCount = (await books.records(after)).length;
    findings.check(
      `${name}: from after the moment`,
      '0',
      `${laterCount} of ${after.length}`,
      laterCount === 0,
    );
    const chargedTwiceCount = await books.countChargedTwice();
    findings.check(`${name}: charged twice`, '0', `${chargedTwiceCount}`, chargedTwiceCount === 0);
    return { missing: lostCount, present: laterCount };
  } finally {
    await books.close();
  }
}

/** Verifies with the commands that an operator uses. */
async function examineByCommand(
  fixture: RestoreFixture,
  name: string,
  folder: string,
  findings: Findings,
): Promise<void> {
  const restoredEnvironment = { DATA_FOLDER: folder };
  const money = await fixture.run(['money:verify', '--full'], restoredEnvironment);
  findings.check(`${name}: money:verify --full`, 'all hold', lastLine(money.text), money.code === 0);
  const file = join(folder, 'export.jsonl');
  const anchor = join(folder, 'audit', 'anchor.jsonl');
  const exported = await fixture.run(['audit:export', file], restoredEnvironment);
  const anchors =
    existsSync(anchor) && readFileSync(anchor, 'utf8').trim() !== '' ? ['--anchor', anchor] : [];
  const audit = await fixture.run(['audit:verify', file, ...anchors], restoredEnvironment);
  const isIntact = exported.code === 0 && audit.code === 0;
  findings.check(
    `${name}: audit:verify`,
    'all as sealed',
    lastLine(isIntact ? audit.text : exported.text + audit.text),
    isIntact,
  );
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

/** A restore that must fail with a matching error. */
export async function expectRefusal(
  fixture: RestoreFixture,
  name: string,
  {
    words,
    says,
    more = {},
  }: { readonly words: readonly string[]; readonly says: RegExp; readonly more?: Record<string, string> },
  findings: Findings,
): Promise<void> {
  const { code, complaint } = await fixture.run(
    ['restore', ...words, '--into', fixture.newRestoreFolder()],
    more,
  );
  findings.check(`${name}: refused`, says.source, lastLine(complaint), code === 1 && says.test(complaint));
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import type { Findings } from '../../test/system/findings';
import { Books } from '../outages/books';
import { plain, models } from '../outages/catalogue';
import { call, isServed } from '../outages/load';
import { seconds } from '../outages/report';
import type { House } from './house';

const CALLS = 3;

/** What a drill wants restored. */
export interface Wish {
  /** Left out: the newest moment that the archive has. */
  readonly at?: Date;
  /** A folder that a restore was broken off in. */
  readonly into?: string;
  /** Defaults to that of the settings. */
  readonly target?: string;
}

export interface Row {
  readonly drill: string;
  readonly moment: string;
  readonly before: number;
  readonly after: number;
  /** Records from before the moment without exactly one charge. */
  readonly missing: number;
  /** Records of calls that were sent after the moment. */
  readonly present: number;
  readonly took: string;
}

const NONE = { before: 0, after: 0, missing: 0, present: 0 };

/** Restores to the moment, starts the product there, and compares with what was seen from outside. */
export async function restoreAndExamine(
  house: House,
  name: string,
  { at, into = house.place(), target }: Wish,
  findings: Findings,
): Promise<Row> {
  const startedAt = performance.now();
  const words = [
    'restore',
    ...(target === undefined ? [] : [target]),
    '--into',
    into,
    ...(at === undefined ? [] : ['--at', at.toISOString()]),
  ];
  const { code, text } = await house.run(words);
  const took = performance.now() - startedAt;
  findings.check(`${name}: restored`, 'exit code 0', code === 0 ? '0' : text, code === 0);
  if (code !== 0) return { drill: name, moment: 'none', ...NONE, took: seconds(took) };
  const moment = new Date(/ is as of (\S+Z);/.exec(text)?.[1] ?? NaN);
  const before = house.witness.committedBy(moment);
  const after = house.witness.sentAfter(moment);
  const node = await house.startRestored(into);
  let counts: Pick<Row, 'missing' | 'present'>;
  try {
    const calls = await Promise.all(
      Array.from({ length: CALLS }, (_, place) => call(house.endpointOf(node), plain(models.chat, place))),
    );
    const served = calls.filter(isServed).length;
    findings.check(`${name}: it serves`, `${CALLS} of ${CALLS}`, `${served} of ${CALLS}`, served === CALLS);
    counts = await examineBooks(name, into, { before, after }, findings);
    await examineByCommand(house, name, into, findings);
  } finally {
    await node.stop();
  }
  return {
    drill: name,
    moment: moment.toISOString(),
    before: before.length,
    after: after.length,
    ...counts,
    took: seconds(took),
  };
}

async function examineBooks(
  name: string,
  folder: string,
  { before, after }: { readonly before: readonly string[]; readonly after: readonly string[] },
  findings: Findings,
): Promise<Pick<Row, 'missing' | 'present'>> {
  const books = await Books.open(runningEmbeddedPostgres(folder)!.ownerUrl);
  try {
    const lost = await books.lost(before, 2_000);
    findings.over(
      `${name}: from before the moment, without exactly one charge`,
      before.length,
      lost,
      `${lost} of ${before.length}`,
    );
    const later = (await books.records(after)).length;
    findings.check(`${name}: from after the moment`, '0', `${later} of ${after.length}`, later === 0);
    const twice = await books.chargedTwice();
    findings.check(`${name}: charged twice`, '0', `${twice}`, twice === 0);
    return { missing: lost, present: later };
  } finally {
    await books.close();
  }
}

/** As an operator does it. */
async function examineByCommand(
  house: House,
  name: string,
  folder: string,
  findings: Findings,
): Promise<void> {
  const there = { DATA_FOLDER: folder };
  const money = await house.run(['money:verify', '--full'], there);
  findings.check(`${name}: money:verify --full`, 'all hold', lastLine(money.text), money.code === 0);
  const file = join(folder, 'export.jsonl');
  const anchor = join(folder, 'audit', 'anchor.jsonl');
  const exported = await house.run(['audit:export', file], there);
  const anchors =
    existsSync(anchor) && readFileSync(anchor, 'utf8').trim() !== '' ? ['--anchor', anchor] : [];
  const audit = await house.run(['audit:verify', file, ...anchors], there);
  const holds = exported.code === 0 && audit.code === 0;
  findings.check(
    `${name}: audit:verify`,
    'all as sealed',
    lastLine(holds ? audit.text : exported.text + audit.text),
    holds,
  );
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

/** A restore that must not succeed, with the words that say why. */
export async function refused(
  house: House,
  name: string,
  {
    words,
    says,
    more = {},
  }: { readonly words: readonly string[]; readonly says: RegExp; readonly more?: Record<string, string> },
  findings: Findings,
): Promise<void> {
  const { code, complaint } = await house.run(['restore', ...words, '--into', house.place()], more);
  findings.check(`${name}: refused`, says.source, lastLine(complaint), code === 1 && says.test(complaint));
}

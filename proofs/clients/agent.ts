import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientsFolder } from './clients-folder';
import type { Outside } from './outside';
import type { Findings } from '../../test/system/findings';
import { type Outcome, Program } from '../../test/system/program';
import type { Product } from './product';

/** A client runs here, and finds this in its environment. */
export interface Place {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A client, to its end or to the deadline; nothing of it may outlive the proof. */
export const run = (
  [file = '', ...words]: readonly string[],
  { cwd, environment }: Place,
  deadlineMs: number,
): Promise<Outcome> =>
  Program.run(file, words, environment, { folder: cwd, isLeader: true, isKept: true }).finish(deadlineMs);

/** An agent is tried with this. */
export interface Trial {
  readonly product: Product;
  readonly outside: Outside;
  readonly findings: Findings;
  readonly folder: string;
}

export const NOTE = 'the note says violet';
export const WRONG_KEY = 'svc_wrong';

const TURN_DEADLINE_MS = 60_000;

/** A home of its own with nothing in it, and a folder to work in that holds one note. */
export function makeHome(folder: string, name: string): { home: string; work: string; note: string } {
  const home = join(folder, name);
  const work = join(home, 'work');
  // Codex warns when its own folder lies below the one for temporary files.
  for (const path of [work, join(home, 'tmp'), join(home, '.codex')]) mkdirSync(path, { recursive: true });
  const note = join(work, 'note.txt');
  writeFileSync(note, `${NOTE}\n`);
  return { home, work, note };
}

export function placeOf(
  { home, work }: { home: string; work: string },
  outside: Outside,
  rest: Record<string, string>,
): Place {
  const { PATH = '' } = process.env;
  const environment = {
    PATH,
    HOME: home,
    TMPDIR: join(home, 'tmp'),
    SHELL: '/bin/bash',
    ...outside.environment,
    ...rest,
  };
  return { cwd: work, environment };
}

export type Event = Record<string, unknown>;

export interface Turn extends Outcome {
  readonly events: readonly Event[];
}

/** One turn of an agent that prints an event a line. */
export async function takeTurn(script: string, words: readonly string[], place: Place): Promise<Turn> {
  const file = join(clientsFolder, 'node_modules', script);
  const outcome = await run([process.execPath, file, ...words], place, TURN_DEADLINE_MS);
  if (outcome.late) throw new Error(`no end after ${TURN_DEADLINE_MS} ms:\n${outcome.output}`);
  const lines = outcome.output.split('\n').filter((line) => line.startsWith('{'));
  return { ...outcome, events: lines.map((line) => JSON.parse(line) as Event) };
}

/** Both agents are configured to call only the gateway. Their proxy records any other connection. */
export function checkOutside({ outside, findings }: Trial, client: string): Promise<void> {
  return findings.attempt(`${client} · nothing else was called`, () => {
    const wanted = [...outside.wanted];
    outside.wanted.clear();
    if (wanted.length > 0) return Promise.reject(new Error(`wanted to reach ${wanted.join(', ')}`));
    return Promise.resolve();
  });
}

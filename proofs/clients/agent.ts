import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientsFolder } from './clients-folder';
import type { EgressProxy } from './egress-proxy';
import type { Findings } from '../../test/system/findings';
import { type ProgramOutcome, Program } from '../../test/system/program';
import type { InstalledProduct } from './product';

/** Working directory and environment of a client. */
export interface ClientContext {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs a client to its end or the deadline; no process of it survives the proof. */
export const run = (
  [file = '', ...args]: readonly string[],
  { cwd, environment }: ClientContext,
  deadlineMs: number,
): Promise<ProgramOutcome> =>
  Program.run(file, args, environment, { folder: cwd, isLeader: true, isKept: true }).finish(deadlineMs);

/** Context in which an agent is tried. */
export interface AgentTrial {
  readonly product: InstalledProduct;
  readonly outside: EgressProxy;
  readonly findings: Findings;
  readonly folder: string;
}

export const NOTE = 'the note says violet';
export const WRONG_KEY = 'svc_wrong';

const TURN_DEADLINE_MS = 60_000;

/** Creates an empty home and a working folder with one note. */
export function makeHome(folder: string, name: string): { home: string; work: string; note: string } {
  const home = join(folder, name);
  const work = join(home, 'work');
  // Codex warns if its folder is below the folder for temporary files.
  for (const path of [work, join(home, 'tmp'), join(home, '.codex')]) mkdirSync(path, { recursive: true });
  const note = join(work, 'note.txt');
  writeFileSync(note, `${NOTE}\n`);
  return { home, work, note };
}

export function clientContextOf(
  { home, work }: { home: string; work: string },
  outside: EgressProxy,
  variables: Record<string, string>,
): ClientContext {
  const { PATH = '' } = process.env;
  const environment = {
    PATH,
    HOME: home,
    TMPDIR: join(home, 'tmp'),
    SHELL: '/bin/bash',
    ...outside.environment,
    ...variables,
  };
  return { cwd: work, environment };
}

export type AgentEvent = Record<string, unknown>;

export interface AgentTurn extends ProgramOutcome {
  readonly events: readonly AgentEvent[];
}

/** Runs one turn of an agent that prints one event per line. */
export async function takeTurn(
  script: string,
  args: readonly string[],
  place: ClientContext,
): Promise<AgentTurn> {
  const file = join(clientsFolder, 'node_modules', script);
  const outcome = await run([process.execPath, file, ...args], place, TURN_DEADLINE_MS);
  if (outcome.late) throw new Error(`no end after ${TURN_DEADLINE_MS} ms:\n${outcome.output}`);
  const lines = outcome.output.split('\n').filter((line) => line.startsWith('{'));
  return { ...outcome, events: lines.map((line) => JSON.parse(line) as AgentEvent) };
}

/** Both agents are configured to call only the gateway; their proxy records any other connection. */
export function checkOutside({ outside, findings }: AgentTrial, client: string): Promise<void> {
  return findings.attempt(`${client} · nothing else was called`, () => {
    const targets = [...outside.targets];
    outside.targets.clear();
    if (targets.length > 0) return Promise.reject(new Error(`wanted to reach ${targets.join(', ')}`));
    return Promise.resolve();
  });
}

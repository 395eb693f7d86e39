import { Fault } from '../../kernel';
import type { Database, Settings, Tx } from '../../platform';
import { performOrRehearse } from '../rehearse';
import { CredentialKeeper } from './credential-keeper';
import { type FileFault, FileFaults, type Place } from './file-fault';
import { makePlan } from './plan';
import type { FileReading } from './read-file';
import type { Plan, Step } from './step';

export interface ApplyOptions {
  /** What the file is called, in faults and as the source of its prices. */
  readonly file: string;
  readonly prune: boolean;
  /** False: everything is tried, nothing is kept. */
  readonly commit: boolean;
}

/** All of it or none of it. Throws FileFaults. */
export async function applyFile(
  database: Database,
  settings: Settings,
  reading: FileReading,
  { file, prune, commit }: ApplyOptions,
): Promise<Plan> {
  const keeper = new CredentialKeeper(settings);
  return performOrRehearse(database, commit, async (tx) => {
    const faults = [...reading.faults];
    const plan = await makePlan(tx, reading.desired, { keeper, source: `file ${file}`, faults });
    await runSteps(tx, [...plan.steps, ...(prune ? plan.gone : [])], faults);
    if (faults.length > 0) throw new FileFaults(file, faults);
    return plan;
  });
}

/** Each step on a savepoint of its own, so that the faults behind the first one come to light too. */
async function runSteps(tx: Tx, steps: readonly Step[], faults: FileFault[]): Promise<void> {
  const failed = new Set<string>();
  for (const step of steps) {
    if (faults.some((fault) => concerns(fault, step.at))) failed.add(step.what);
    // What could not be tried is missing for the steps that need it, too.
    if (step.needs.some((need) => failed.has(need))) failed.add(step.what);
    if (failed.has(step.what)) continue;
    try {
      await tx.transaction((inner) => step.run(inner));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      failed.add(step.what);
      const { path, line } = step.at;
      faults.push({ path, line, problem: error.humanMessage });
    }
  }
}

/** Whether the fault is of that place or of something below it. */
const concerns = (fault: Place, { path }: Place): boolean =>
  path !== '' &&
  (fault.path === path || fault.path.startsWith(`${path}.`) || fault.path.startsWith(`${path}[`));

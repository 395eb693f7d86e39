import { Fault } from '../../../kernel';
import type { Database, SecretBox, Tx } from '../../../platform';
import { applyOrDryRun } from '../apply-or-dry-run';
import { chosenOf, fingerprintOf, type PlanApproval, type PlanRow, rowsOf } from '../plan-rows';
import { modelNamed, nameOf, providerNamed, type Step, type Steps } from '../step';
import type { Desired } from './desired';
import { CredentialKeeper } from './credential-keeper';
import { type FileFault, FileFaults, type Place } from './file-fault';
import type { KeyPlanner } from './plan-keys';
import { stepsFor } from './plan-steps';
import type { FileReading } from './read-file';

export interface GatewayFilePlan {
  readonly rows: readonly PlanRow[];
  /** A file kept these once, and this one does no longer: they are put away only where `prune` says so. */
  readonly gone: readonly PlanRow[];
  /** A warning is about something that is allowed and most likely not meant. */
  readonly warnings: readonly string[];
  /** The file lists these, such as `model gpt-large`, and the catalogue has them already. */
  readonly untouched: readonly string[];
  readonly fingerprint: string;
}

export interface GatewayFileOptions {
  /** The file has this name in faults and as the source of its prices. */
  readonly file: string;
  readonly prune: boolean;
  readonly box: SecretBox;
  /** It is read once, from a page: it keeps nothing from then on, and what a file keeps is left alone. */
  readonly once?: boolean;
  /** Left out, keys of the file are left alone. */
  readonly keys?: KeyPlanner;
}

/** Tries everything and keeps nothing. Throws FileFaults. */
export const planGatewayFile = (
  database: Database,
  reading: FileReading,
  options: GatewayFileOptions,
): Promise<GatewayFilePlan> => tryAll(database, reading, options, null);

/** It applies all of it or none of it. Throws FileFaults. */
export const applyGatewayFile = (
  database: Database,
  reading: FileReading,
  options: GatewayFileOptions & PlanApproval,
): Promise<GatewayFilePlan> => tryAll(database, reading, options, options);

function tryAll(
  database: Database,
  reading: FileReading,
  { file, prune, box, once = false, keys }: GatewayFileOptions,
  approval: PlanApproval | null,
): Promise<GatewayFilePlan> {
  return applyOrDryRun(database, approval !== null, async (tx) => {
    const faults = [...reading.faults];
    const source = approval === null ? `file ${file}` : `file ${file} by ${approval.actor}`;
    const steps = await stepsFor(tx, reading.desired, {
      keeper: new CredentialKeeper(box),
      source,
      faults,
      once,
      keys,
    });
    const plan = planOf(steps, reading.desired);
    const wanted = [...steps.steps, ...(prune ? steps.gone : [])];
    const chosen = chosenOf(wanted, plan.fingerprint, approval ?? {});
    await runSteps(tx, chosen, faults);
    if (faults.length > 0) throw new FileFaults(file, faults);
    await approval?.record?.(tx, rowsOf(chosen));
    return plan;
  });
}

function planOf({ steps, gone, warnings }: Steps, desired: Desired): GatewayFilePlan {
  const shown = { rows: rowsOf(steps), gone: rowsOf(gone), warnings };
  const touched = new Set(steps.map(nameOf));
  const untouched = [
    ...desired.providers.map(({ name }) => providerNamed(name)),
    ...desired.models.map(({ name }) => modelNamed(name)),
    ...desired.aliases.map(({ name }) => nameOf({ kind: 'alias', name })),
    ...desired.organisations.map(({ slug }) => nameOf({ kind: 'organisation', name: slug })),
    ...desired.keys.map(({ name }) => nameOf({ kind: 'key', name })),
  ].filter((name) => !touched.has(name));
  return { ...shown, untouched, fingerprint: fingerprintOf(shown) };
}

/** Each step has a savepoint of its own, so that the faults behind the first one come to light too. */
async function runSteps(tx: Tx, steps: readonly Step[], faults: FileFault[]): Promise<void> {
  const failed = new Set<string>();
  for (const step of steps) {
    if (faults.some((fault) => concerns(fault, step.at))) failed.add(nameOf(step));
    // A step that could not be tried is missing for the steps that need it, too.
    if (step.needs.some((need) => failed.has(need))) failed.add(nameOf(step));
    if (failed.has(nameOf(step))) continue;
    try {
      await tx.transaction((inner) => step.run(inner));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      failed.add(nameOf(step));
      const { path, line } = step.at;
      faults.push({ path, line, problem: error.humanMessage });
    }
  }
}

/** A fault concerns a place when it lies there or below it. */
const concerns = (fault: Place, { path }: Place): boolean =>
  path !== '' &&
  (fault.path === path || fault.path.startsWith(`${path}.`) || fault.path.startsWith(`${path}[`));

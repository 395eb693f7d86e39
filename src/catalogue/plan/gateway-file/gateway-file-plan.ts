import { Injectable } from '@nestjs/common';
import { Fault } from '../../../kernel';
import { Database, type Tx } from '../../../platform';
import { CatalogueEditor } from '../../catalogue-editor.service';
import { PriceService } from '../../price.service';
import { applyOrDryRun } from '../apply-or-dry-run';
import { selectSteps, fingerprintOf, type PlanApproval, type PlanRow, toPlanRows } from '../plan-rows';
import { modelLabel, stepLabel, providerLabel, type Step, type Steps, type StepServices } from '../step';
import type { DesiredCatalogue } from './desired';
import { CredentialKeeper } from './credential-keeper';
import { type FileFault, FileFaults, type FilePosition } from './file-fault';
import type { KeyPlanner } from './plan-keys';
import { planSteps } from './plan-steps';
import type { FileReading } from './read-file';

export interface GatewayFilePlan {
  readonly rows: readonly PlanRow[];
  readonly gone: readonly PlanRow[];
  readonly warnings: readonly string[];
  readonly untouched: readonly string[];
  readonly fingerprint: string;
}

export interface GatewayFileOptions {
  readonly file: string;
  readonly prune: boolean;
  /**
   * Applied once from a page: the file manages nothing afterwards, and objects that another file manages stay
   * unchanged.
   */
  readonly once?: boolean;
  /** If omitted, keys in the file are ignored. */
  readonly keys?: KeyPlanner;
}

@Injectable()
export class GatewayFilePlanner {
  private readonly services: StepServices;

  constructor(
    private readonly database: Database,
    private readonly keeper: CredentialKeeper,
    editor: CatalogueEditor,
    prices: PriceService,
  ) {
    this.services = { editor, prices };
  }

  plan(reading: FileReading, options: GatewayFileOptions): Promise<GatewayFilePlan> {
    return this.run(reading, options, null);
  }

  apply(reading: FileReading, options: GatewayFileOptions & PlanApproval): Promise<GatewayFilePlan> {
    return this.run(reading, options, options);
  }

  private run(
    reading: FileReading,
    { file, prune, once = false, keys }: GatewayFileOptions,
    approval: PlanApproval | null,
  ): Promise<GatewayFilePlan> {
    return applyOrDryRun(this.database, approval !== null, async (tx) => {
      const faults = [...reading.faults];
      const source = approval === null ? `file ${file}` : `file ${file} by ${approval.actor}`;
      const steps = await planSteps(tx, reading.desired, { keeper: this.keeper, source, faults, once, keys });
      const plan = planOf(steps, reading.desired);
      const candidates = [...steps.steps, ...(prune ? steps.gone : [])];
      const selected = selectSteps(candidates, plan.fingerprint, approval ?? {});
      await runSteps(tx, this.services, selected, faults);
      if (faults.length > 0) throw new FileFaults(file, faults);
      await approval?.record?.(tx, toPlanRows(selected));
      return plan;
    });
  }
}

function planOf({ steps, gone, warnings }: Steps, desired: DesiredCatalogue): GatewayFilePlan {
  const content = { rows: toPlanRows(steps), gone: toPlanRows(gone), warnings };
  const changedLabels = new Set(steps.map(stepLabel));
  const untouched = [
    ...desired.providers.map(({ name }) => providerLabel(name)),
    ...desired.models.map(({ name }) => modelLabel(name)),
    ...desired.aliases.map(({ name }) => stepLabel({ kind: 'alias', name })),
    ...desired.organisations.map(({ slug }) => stepLabel({ kind: 'organisation', name: slug })),
    ...desired.keys.map(({ name }) => stepLabel({ kind: 'key', name })),
  ].filter((name) => !changedLabels.has(name));
  return { ...content, untouched, fingerprint: fingerprintOf(content) };
}

/** Runs each step in a savepoint of its own, so that faults after the first are found too. */
async function runSteps(
  tx: Tx,
  services: StepServices,
  steps: readonly Step[],
  faults: FileFault[],
): Promise<void> {
  const failed = new Set<string>();
  for (const step of steps) {
    if (faults.some((fault) => concerns(fault, step.at))) failed.add(stepLabel(step));
    // Steps that need a skipped step are skipped too.
    if (step.needs.some((need) => failed.has(need))) failed.add(stepLabel(step));
    if (failed.has(stepLabel(step))) continue;
    try {
      await tx.transaction((inner) => step.run(inner, services));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      failed.add(stepLabel(step));
      const { path, line } = step.at;
      faults.push({ path, line, problem: error.humanMessage });
    }
  }
}

const concerns = (fault: FilePosition, { path }: FilePosition): boolean =>
  path !== '' &&
  (fault.path === path || fault.path.startsWith(`${path}.`) || fault.path.startsWith(`${path}[`));

import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { ActivityLog } from '../audit';
import {
  gatewayText,
  type GatewayFilePlan,
  GatewayFilePlanner,
  type PlanRow,
  readCurrent,
  readGatewayText,
  writePlanEntries,
  proxyNamesIn,
} from '../catalogue';
import { keyFields, KeyRegister } from '../keys';
import { AddressGuard, Database, Settings, type Tx } from '../platform';
import { commandActor, COMMAND_LINE, type CliCommand, type CliContext, UsageError } from './command';
import { loadStyles } from './extensions/command-extensions';
import { exportedKeys, FileKeys, type IssuedFileKey } from './file-keys';
import { changeCount, renderPlan } from './render-plan';
import { SecretFile } from './secret-file';
import { withServices } from './with-services';

interface GatewayCommandOptions {
  readonly path: string;
  readonly prune: boolean;
  readonly yes: boolean;
  /** File for the secrets of new keys; undefined for standard output. */
  readonly secrets?: string | undefined;
}

export const planGateway: CliCommand = {
  usage: 'plan FILE [--prune]',
  summary: 'Shows what apply would change, having tried all of it. Changes nothing.',
  run: (argv, context) => {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { prune: { type: 'boolean', default: false } },
    });
    const options = { path: onlyFile(positionals), prune: values.prune, yes: false };
    return withFile(options, context, async (file) => {
      context.write(renderPlan(await file.plan(), options.prune));
      return 0;
    });
  },
};

export const applyGateway: CliCommand = {
  usage: 'apply FILE [--yes] [--prune] [--secrets NEW_FILE]',
  summary:
    'Makes the catalogue as a gateway.yaml says: providers, models, prices, aliases, access, keys. All of it or ' +
    'nothing. Asks first unless --yes; what the file no longer has stays unless --prune. New keys are printed, this ' +
    'once, or written into the new file that --secrets names.',
  run: (argv, context) => {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        yes: { type: 'boolean', default: false },
        prune: { type: 'boolean', default: false },
        secrets: { type: 'string' },
      },
    });
    const options = { path: onlyFile(positionals), ...values };
    return withFile(options, context, (file) => showAndApply(options, context, file));
  },
};

export const exportGateway: CliCommand = {
  usage: 'export',
  summary:
    'Writes the catalogue and all keys as a gateway.yaml to standard output, without secrets. Applied again, ' +
    'the file changes nothing, but keeps from then on what it lists.',
  run: (argv, context) => {
    parseArgs({ args: argv, options: {} });
    return withServices([Database, KeyRegister], context, async (database, register) => {
      const keys = await exportedKeys(database, register);
      context.write(gatewayText(await readCurrent(database.source.manager), keys));
      return 0;
    });
  },
};

interface GatewayFile {
  plan(): Promise<GatewayFilePlan>;
  apply(expectedFingerprint?: string): Promise<AppliedGatewayFile>;
}

interface AppliedGatewayFile {
  readonly plan: GatewayFilePlan;
  readonly fresh: readonly IssuedFileKey[];
}

async function showAndApply(
  { prune, yes, secrets }: GatewayCommandOptions,
  context: CliContext,
  file: GatewayFile,
): Promise<number> {
  const previewedPlan = yes ? undefined : await file.plan();
  if (previewedPlan !== undefined) {
    context.write(renderPlan(previewedPlan, prune));
    if (changeCount(previewedPlan, prune) === 0) return 0;
    if (!(await context.confirm('Apply this?'))) {
      context.write('Nothing was changed. --yes applies without asking.\n');
      return 1;
    }
  }
  const secretFile = SecretFile.open(secrets);
  try {
    const { plan, fresh } = await file.apply(previewedPlan?.fingerprint);
    if (previewedPlan === undefined) context.write(renderPlan(plan, prune));
    if (changeCount(plan, prune) > 0) context.write('Applied.\n');
    deliverSecrets(fresh, secretFile, context);
    return 0;
  } finally {
    secretFile?.close();
  }
}

function deliverSecrets(
  fresh: readonly IssuedFileKey[],
  secretFile: SecretFile | undefined,
  context: CliContext,
): void {
  if (fresh.length === 0) return;
  const lines = fresh.map(({ name, text }) => `${name}: ${text}\n`).join('');
  if (secretFile === undefined) context.write(`New keys, shown only now:\n${lines}`);
  else {
    secretFile.write(lines);
    context.write(`New keys are in ${secretFile.path}.\n`);
  }
}

function withFile(
  { path, prune }: GatewayCommandOptions,
  context: CliContext,
  work: (file: GatewayFile) => Promise<number>,
): Promise<number> {
  const services = [Settings, GatewayFilePlanner, ActivityLog, FileKeys] as const;
  return withServices(services, context, async (settings, planner, activity, keys) => {
    const references = { environment: context.environment, folder: dirname(path) };
    const reading = readGatewayText(readFileSync(path, 'utf8'), references, {
      guard: new AddressGuard(settings.supplierAllow),
      proxyNames: proxyNamesIn(settings),
      styles: await loadStyles(settings, context),
      keyFields,
    });
    const options = { file: basename(path), prune, keys };
    const record = (tx: Tx, rows: readonly PlanRow[]): Promise<void> =>
      writePlanEntries(activity, tx, rows, commandActor);
    return work({
      plan: () => planner.plan(reading, options),
      async apply(shown) {
        const approval = { actor: COMMAND_LINE, shown, record };
        const plan = await planner.apply(reading, { ...options, ...approval });
        return { plan, fresh: keys.fresh };
      },
    });
  });
}

function onlyFile(positionals: readonly string[]): string {
  const [path, ...others] = positionals;
  if (path === undefined || others.length > 0) throw new UsageError('Name one file, such as gateway.yaml.');
  return path;
}

import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { ActivityLog } from '../audit';
import { Limits } from '../billing';
import {
  applyGatewayFile,
  gatewayText,
  type GatewayFilePlan,
  planGatewayFile,
  type PlanRow,
  readCurrent,
  readGatewayText,
  writePlanEntries,
  proxyNamesIn,
} from '../catalogue';
import { keyFields, KeyRegister } from '../keys';
import { AddressGuard, type Database, MasterKeys, SecretBox, type Tx } from '../platform';
import { COMMAND_LINE, type Command, type CommandContext, UsageError } from './command';
import { loadedStyles } from './extensions/loaded';
import { exportedKeys, FileKeys, type FreshKey } from './file-keys';
import { commandActor } from './key-entries';
import { changeCount, renderPlan } from './render-plan';
import { SecretFile } from './secret-file';
import { withDatabase } from './with-database';

interface Options {
  readonly path: string;
  readonly prune: boolean;
  readonly yes: boolean;
  /** Secrets of new keys go here; undefined stands for standard output. */
  readonly secrets?: string | undefined;
}

export const planGateway: Command = {
  usage: 'plan FILE [--prune]',
  summary: 'Shows what apply would change, having tried all of it. Changes nothing.',
  run: (words, context) => {
    const { values, positionals } = parseArgs({
      args: words,
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

export const applyGateway: Command = {
  usage: 'apply FILE [--yes] [--prune] [--secrets NEW_FILE]',
  summary:
    'Makes the catalogue as a gateway.yaml says: providers, models, prices, aliases, access, keys. All of it or ' +
    'nothing. Asks first unless --yes; what the file no longer has stays unless --prune. New keys are printed, this ' +
    'once, or written into the new file that --secrets names.',
  run: (words, context) => {
    const { values, positionals } = parseArgs({
      args: words,
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

export const exportGateway: Command = {
  usage: 'export',
  summary:
    'Writes the catalogue and all keys as a gateway.yaml to standard output, without secrets. Applied again, ' +
    'the file changes nothing, but keeps from then on what it lists.',
  run: (words, context) => {
    parseArgs({ args: words, options: {} });
    return withDatabase(async (database) => {
      context.write(gatewayText(await readCurrent(database.source.manager), await keysOf(database)));
      return 0;
    }, context);
  },
};

const keysOf = (database: Database): ReturnType<typeof exportedKeys> =>
  exportedKeys(database, new KeyRegister(database, new Limits(database)));

/** It is one file, read once. */
interface Subject {
  plan(): Promise<GatewayFilePlan>;
  apply(shown?: string): Promise<Applied>;
}

interface Applied {
  readonly plan: GatewayFilePlan;
  readonly fresh: readonly FreshKey[];
}

async function showAndApply(
  { prune, yes, secrets }: Options,
  context: CommandContext,
  file: Subject,
): Promise<number> {
  const shown = yes ? undefined : await file.plan();
  if (shown !== undefined) {
    context.write(renderPlan(shown, prune));
    if (changeCount(shown, prune) === 0) return 0;
    if (!(await context.confirm('Apply this?'))) {
      context.write('Nothing was changed. --yes applies without asking.\n');
      return 1;
    }
  }
  const kept = SecretFile.open(secrets);
  try {
    // Another may have changed the catalogue while the question stood there.
    const { plan, fresh } = await file.apply(shown?.fingerprint);
    if (shown === undefined) context.write(renderPlan(plan, prune));
    if (changeCount(plan, prune) > 0) context.write('Applied.\n');
    handOver(fresh, kept, context);
    return 0;
  } finally {
    kept?.close();
  }
}

/** The secrets of new keys, this once. */
function handOver(fresh: readonly FreshKey[], kept: SecretFile | undefined, context: CommandContext): void {
  if (fresh.length === 0) return;
  const lines = fresh.map(({ name, text }) => `${name}: ${text}\n`).join('');
  if (kept === undefined) context.write(`New keys, shown only now:\n${lines}`);
  else {
    kept.write(lines);
    context.write(`New keys are in ${kept.path}.\n`);
  }
}

function withFile(
  { path, prune }: Options,
  context: CommandContext,
  work: (file: Subject) => Promise<number>,
): Promise<number> {
  return withDatabase(async (database, settings) => {
    const references = { environment: context.environment, folder: dirname(path) };
    const reading = readGatewayText(readFileSync(path, 'utf8'), references, {
      guard: new AddressGuard(settings.supplierAllow),
      proxyNames: proxyNamesIn(settings),
      styles: await loadedStyles(settings, context),
      keyFields,
    });
    const box = new SecretBox(MasterKeys.parse(settings.masterKey));
    const options = { file: basename(path), prune, box };
    const activity = new ActivityLog(database);
    const record = (tx: Tx, rows: readonly PlanRow[]): Promise<void> =>
      writePlanEntries(activity, tx, rows, commandActor);
    return work({
      plan: () => planGatewayFile(database, reading, { ...options, keys: new FileKeys(database, settings) }),
      async apply(shown) {
        const keys = new FileKeys(database, settings);
        const approval = { actor: COMMAND_LINE, shown, record };
        const plan = await applyGatewayFile(database, reading, { ...options, ...approval, keys });
        return { plan, fresh: keys.fresh };
      },
    });
  }, context);
}

function onlyFile(positionals: readonly string[]): string {
  const [path, ...others] = positionals;
  if (path === undefined || others.length > 0) throw new UsageError('Name one file, such as gateway.yaml.');
  return path;
}

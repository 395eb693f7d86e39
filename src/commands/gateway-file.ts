import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { applyGatewayFile, type GatewayFilePlan, planGatewayFile, readGatewayText } from '../catalogue';
import { AddressGuard, MasterKeys, SecretBox } from '../platform';
import { SupplierStyles } from '../routing';
import { COMMAND_LINE, type Command, type CommandContext, UsageError } from './command';
import { changeCount, renderPlan } from './render-plan';
import { withDatabase } from './with-database';

interface Options {
  readonly path: string;
  readonly prune: boolean;
  readonly yes: boolean;
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
  usage: 'apply FILE [--yes] [--prune]',
  summary:
    'Makes the catalogue as a gateway.yaml says: providers, models, prices, aliases, access. All of it or nothing. ' +
    'Asks first unless --yes; what the file no longer has stays unless --prune.',
  run: (words, context) => {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: { yes: { type: 'boolean', default: false }, prune: { type: 'boolean', default: false } },
    });
    const options = { path: onlyFile(positionals), ...values };
    return withFile(options, context, (file) => showAndApply(options, context, file));
  },
};

/** One file, read once. */
interface Subject {
  plan(): Promise<GatewayFilePlan>;
  apply(shown?: string): Promise<GatewayFilePlan>;
}

async function showAndApply(
  { prune, yes }: Options,
  context: CommandContext,
  file: Subject,
): Promise<number> {
  const shown = yes ? await file.apply() : await file.plan();
  context.write(renderPlan(shown, prune));
  if (changeCount(shown, prune) === 0) return 0;
  if (!yes) {
    if (!(await context.confirm('Apply this?'))) {
      context.write('Nothing was changed. --yes applies without asking.\n');
      return 1;
    }
    // Another may have changed the catalogue while the question stood there.
    await file.apply(shown.fingerprint);
  }
  context.write('Applied.\n');
  return 0;
}

function withFile(
  { path, prune }: Options,
  context: CommandContext,
  work: (file: Subject) => Promise<number>,
): Promise<number> {
  return withDatabase((database, settings) => {
    const references = { environment: context.environment, folder: dirname(path) };
    const reading = readGatewayText(readFileSync(path, 'utf8'), references, {
      guard: new AddressGuard(settings.supplierAllow),
      styles: new SupplierStyles(),
    });
    const box = new SecretBox(MasterKeys.parse(settings.masterKey));
    const options = { file: basename(path), prune, box };
    return work({
      plan: () => planGatewayFile(database, reading, options),
      apply: (shown) => applyGatewayFile(database, reading, { ...options, actor: COMMAND_LINE, shown }),
    });
  }, context);
}

function onlyFile(positionals: readonly string[]): string {
  const [path, ...others] = positionals;
  if (path === undefined || others.length > 0) throw new UsageError('Name one file, such as gateway.yaml.');
  return path;
}

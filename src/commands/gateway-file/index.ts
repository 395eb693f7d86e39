import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { AddressGuard, type Database, type Settings } from '../../platform';
import { SupplierStyles } from '../../routing';
import { type Command, type CommandContext, UsageError } from '../command';
import { withDatabase } from '../with-database';
import { applyFile, type ApplyOptions } from './apply-plan';
import { type FileReading, readGatewayFile } from './read-file';
import { changeCount, renderPlan } from './render-plan';

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
    return withFile(options, context, async (rehearse) => {
      context.write(renderPlan(await rehearse(false), options.prune));
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
    return withFile(options, context, (run) => showAndApply(options, context, run));
  },
};

type Run = (commit: boolean) => ReturnType<typeof applyFile>;

async function showAndApply({ prune, yes }: Options, context: CommandContext, run: Run): Promise<number> {
  if (!yes) {
    const shown = await run(false);
    const text = renderPlan(shown, prune);
    context.write(text);
    if (changeCount(shown, prune) === 0) return 0;
    if (!(await context.confirm('Apply this?'))) {
      context.write('Nothing was changed. --yes applies without asking.\n');
      return 1;
    }
    // Somebody may have changed something while the question stood there.
    if (renderPlan(await run(false), prune) !== text) {
      context.complain('The catalogue has changed meanwhile. Nothing was applied; look again.\n');
      return 1;
    }
    await run(true);
  } else {
    const done = await run(true);
    context.write(renderPlan(done, prune));
    if (changeCount(done, prune) === 0) return 0;
  }
  context.write('Applied.\n');
  return 0;
}

function withFile(
  { path, prune }: Options,
  context: CommandContext,
  work: (run: Run) => Promise<number>,
): Promise<number> {
  return withDatabase((database: Database, settings: Settings) => {
    const reading: FileReading = readGatewayFile(path, context.environment, {
      guard: new AddressGuard(settings.supplierAllow),
      styles: new SupplierStyles(),
    });
    const options: Omit<ApplyOptions, 'commit'> = { file: basename(path), prune };
    return work((commit) => applyFile(database, settings, reading, { ...options, commit }));
  }, context);
}

function onlyFile(positionals: readonly string[]): string {
  const [path, ...others] = positionals;
  if (path === undefined || others.length > 0) throw new UsageError('Name one file, such as gateway.yaml.');
  return path;
}

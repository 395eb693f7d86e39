import { CONTRACT_VERSION } from '#extension';
import { type Extensions, readMigrationFiles } from '../../extensions';
import { type CliCommand, UsageError } from '../command';
import { loadCommandExtensions } from './command-extensions';

export const extensionList: CliCommand = {
  usage: 'extension:list',
  summary:
    'Loads the extensions of EXTENSIONS as the service would, and lists what each needs, adds and has for migrations.',
  async run(argv, context) {
    if (argv.length > 0) throw new UsageError('It takes no words.');
    const extensions = await loadCommandExtensions(context);
    context.write(`Contract ${CONTRACT_VERSION}; ${countText(extensions.all.length)}\n`);
    for (const extension of extensions.all) context.write(extensionText(extension));
    return 0;
  },
};

const countText = (count: number): string => (count === 1 ? '1 extension' : `${count} extensions`);

type ExtensionListing = Extensions['all'][number];

function extensionText(extension: ExtensionListing): string {
  const { id, version, host, from, needs, adds } = extension;
  const parts: Readonly<Record<string, readonly string[]>> = {
    needs,
    gates: namesOf(adds.gates),
    taps: namesOf(adds.taps),
    jobs: (adds.jobs ?? []).map(({ name, cron }) => `${name} (${cron})`),
    commands: namesOf(adds.commands).map((name) => `${id}:${name}`),
    migrations: readMigrationFiles(extension).map(({ name }) => name),
  };
  const lines = Object.entries(parts).flatMap(([part, names]) =>
    names.length === 0 ? [] : [`  ${part.padEnd(12)}${names.join(', ')}\n`],
  );
  return `\n${id} ${version}\n  ${'from'.padEnd(12)}${from}\n  ${'contract'.padEnd(12)}${host}\n${lines.join('')}`;
}

const namesOf = (parts: readonly { readonly name: string }[] = []): string[] => parts.map(({ name }) => name);

import { CONTRACT_VERSION } from '#extension';
import { type Extensions, migrationFilesOf } from '../../extensions';
import { type Command, UsageError } from '../command';
import { extensionsOf } from './loaded';

export const extensionList: Command = {
  usage: 'extension:list',
  summary:
    'Loads the extensions of EXTENSIONS as the service would, and lists what each needs, adds and has for migrations.',
  async run(words, context) {
    if (words.length > 0) throw new UsageError('It takes no words.');
    const extensions = await extensionsOf(context);
    context.write(`Contract ${CONTRACT_VERSION}; ${counted(extensions.all.length)}\n`);
    for (const extension of extensions.all) context.write(described(extension));
    return 0;
  },
};

const counted = (count: number): string => (count === 1 ? '1 extension' : `${count} extensions`);

type Listed = Extensions['all'][number];

function described(extension: Listed): string {
  const { id, version, host, from, needs, adds } = extension;
  const parts: Readonly<Record<string, readonly string[]>> = {
    needs,
    gates: namesOf(adds.gates),
    taps: namesOf(adds.taps),
    jobs: (adds.jobs ?? []).map(({ name, cron }) => `${name} (${cron})`),
    commands: namesOf(adds.commands).map((name) => `${id}:${name}`),
    migrations: migrationFilesOf(extension).map(({ name }) => name),
  };
  const lines = Object.entries(parts).flatMap(([part, names]) =>
    names.length === 0 ? [] : [`  ${part.padEnd(12)}${names.join(', ')}\n`],
  );
  return `\n${id} ${version}\n  ${'from'.padEnd(12)}${from}\n  ${'contract'.padEnd(12)}${host}\n${lines.join('')}`;
}

const namesOf = (parts: readonly { readonly name: string }[] = []): string[] => parts.map(({ name }) => name);

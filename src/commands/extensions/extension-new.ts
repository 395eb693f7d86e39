import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { projectFolder } from '../../views';
import { type CliCommand, UsageError } from '../command';
import { templateOf } from './extension-template';

const ID = /^[a-z][a-z0-9-]{1,30}$/;
const packages = join(projectFolder, 'dist', 'packages');

export const extensionNew: CliCommand = {
  usage: 'extension:new ID [FOLDER] [--contract FILE]',
  summary:
    'Writes a small extension in TypeScript, with a gate and its test, into a new folder. --contract names the packed ' +
    'contract, where it is not in dist/packages.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { contract: { type: 'string' } },
    });
    const [id, folder = `./${id}`, ...others] = positionals;
    if (id === undefined || others.length > 0)
      throw new UsageError('It takes an id, and the folder it goes to.');
    if (!ID.test(id))
      throw new UsageError('An id has 2 to 31 small letters, digits and hyphens, and begins with a letter.');
    const contract = resolve(values.contract ?? packedContract());
    if (!existsSync(contract)) throw new Error(`There is no file ${contract}.`);
    const targetFolder = resolve(folder);
    if (existsSync(targetFolder) && readdirSync(targetFolder).length > 0)
      throw new Error(`${targetFolder} is not empty. Nothing was written.`);
    write(targetFolder, templateOf(id, basename(contract)));
    copyFileSync(contract, join(targetFolder, 'contract', basename(contract)));
    context.write(
      `The extension ${id} is in ${targetFolder}; its README.md says how it is built, tried and used.\n`,
    );
    return Promise.resolve(0);
  },
};

function packedContract(): string {
  const [name] = existsSync(packages) ? readdirSync(packages).filter((each) => each.endsWith('.tgz')) : [];
  if (name === undefined)
    throw new Error(
      'The contract is not packed yet: run "npm run dev -- pack extension", or name it by --contract.',
    );
  return join(packages, name);
}

function write(targetFolder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(targetFolder, 'contract'), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(targetFolder, name)), { recursive: true });
    writeFileSync(join(targetFolder, name), text, { flag: 'wx' });
  }
}

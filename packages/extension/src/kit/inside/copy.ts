import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withAgent } from './agent';
import { meddle, type Plan } from './meddle';

export interface ExtensionCopy {
  readonly entry: string;
  readonly wrapper: string;
  wrapperWith(plan: Plan): string;
  remove(): void;
}

const PREFIX = '.kit-';

/** Copies the extension within its own folder, so that it resolves the same packages. */
export function copyExtension(path: string, plan: Plan): ExtensionCopy {
  const entryFile = createRequire(join(process.cwd(), 'kit.js')).resolve(resolve(path));
  const folder = statSync(resolve(path)).isDirectory() ? resolve(path) : dirname(entryFile);
  const copyFolder = mkdtempSync(join(folder, PREFIX));
  // Node cannot copy a folder into itself, so its entries are copied individually.
  const isExcluded = (name: string): boolean =>
    name === 'node_modules' || name === '.git' || name === '.npm' || name.startsWith(PREFIX);
  for (const name of readdirSync(folder))
    if (!isExcluded(name))
      cpSync(join(folder, name), join(copyFolder, name), { recursive: true, dereference: true });
  const entry = join(copyFolder, relative(folder, entryFile));
  let wrapperCount = 0;
  const wrapperWith = (wrapperPlan: Plan): string => {
    const file = join(copyFolder, `kit-wrapper-${(wrapperCount += 1)}.mjs`);
    writeFileSync(file, wrapperText(entry, wrapperPlan));
    return file;
  };
  return {
    entry,
    wrapper: wrapperWith(plan),
    wrapperWith,
    remove: () => rmSync(copyFolder, { recursive: true, force: true }),
  };
}

/** Embeds the functions as text, because the other process has none of this package's files. */
const wrapperText = (entry: string, plan: Plan): string =>
  `const withAgent = ${withAgent.toString()};
const meddle = ${meddle.toString()};
let found = await import(${JSON.stringify(pathToFileURL(entry).href)});
for (let depth = 0; depth < 2 && found?.default !== undefined; depth += 1) found = found.default;
export default meddle(withAgent(found, ${JSON.stringify(plan.agent)}), ${JSON.stringify(plan)});
`;

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { checkOutside, makeHome, type Place, placeOf, run, type Trial } from './agent';
import { clientsFolder } from './clients-folder';
import type { Outcome } from '../../test/system/program';

const client = 'docs/clients.md';
/** The address that the guide has in its examples. */
const EXAMPLE = 'http://127.0.0.1:3000';
const DEADLINE_MS = 60_000;

/** The trial types and writes what the guide tells people, as it stands there. */
export async function tryGuide(trial: Trial): Promise<void> {
  const page = readFileSync(join(clientsFolder, '..', '..', 'docs', 'clients.md'), 'utf8');
  assert.ok(page.includes(EXAMPLE));
  for (const language of ['js', 'sh', 'toml']) assert.ok(blocksOf(page, language).length > 0, language);
  const sections = page.replaceAll(EXAMPLE, trial.product.url).split(/^## /m).slice(1);
  for (const section of sections) {
    const title = section.slice(0, section.indexOf('\n'));
    for (const program of blocksOf(section, 'js'))
      await trial.findings.attempt(`${client} · ${title} · the program`, () => runProgram(trial, program));
    for (const commands of blocksOf(section, 'sh').filter(runsSomething))
      await trial.findings.attempt(`${client} · ${title} · the commands`, () =>
        runCommands(trial, commands, blocksOf(section, 'toml')[0]),
      );
  }
  await checkOutside(trial, client);
}

const blocksOf = (section: string, language: string): string[] =>
  [...section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, text]) => text ?? '');

/** A block that only sets variables is for the service, such as SAFEGUARDS_MODEL, and runs no client. */
const runsSomething = (commands: string): boolean => /^(?!export |$)/m.test(commands.trim());

const exported = ({ product }: Trial): Record<string, string> => ({
  SWITCHBOARD_URL: product.url,
  SWITCHBOARD_API_KEY: product.key,
});

async function runProgram(trial: Trial, program: string): Promise<void> {
  const scripts = join(clientsFolder, 'sdk');
  const place: Place = { cwd: scripts, environment: { PATH: process.env.PATH ?? '', ...exported(trial) } };
  const guard = join(scripts, 'only-loopback.mjs');
  answered(
    await run(
      [process.execPath, '--import', guard, '--input-type=module', '-e', program],
      place,
      DEADLINE_MS,
    ),
  );
}

async function runCommands(trial: Trial, commands: string, codexSettings?: string): Promise<void> {
  const own = makeHome(trial.folder, codexSettings === undefined ? 'guide' : 'guide-codex');
  if (codexSettings !== undefined)
    writeFileSync(join(own.home, '.codex', 'config.toml'), withoutCalls(codexSettings));
  const place = placeOf(own, trial.outside, {
    ...exported(trial),
    PATH: [commandsIn(own.home), process.env.PATH].join(delimiter),
  });
  answered(await run(['bash', '-e', '-u', '-c', commands], place, DEADLINE_MS));
}

/** The guide says that this must be added so that Codex calls only the gateway. */
const withoutCalls = (settings: string): string =>
  [
    'check_for_update_on_startup = false',
    settings,
    '[analytics]\nenabled = false',
    '[features]\nplugins = false\napps = false\n',
  ].join('\n');

/** As a global installation would have put them there. */
function commandsIn(home: string): string {
  const folder = join(home, 'bin');
  mkdirSync(folder);
  for (const [name, script] of [
    ['codex', '@openai/codex/bin/codex.js'],
    ['claude', '@anthropic-ai/claude-code/cli-wrapper.cjs'],
  ] as const) {
    const file = join(folder, name);
    const target = join(clientsFolder, 'node_modules', script);
    writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${target}" "$@" </dev/null\n`);
    chmodSync(file, 0o755);
  }
  return folder;
}

function answered({ code, output, complaint, late }: Outcome): void {
  assert.ok(!late, `no end after ${DEADLINE_MS} ms`);
  assert.equal(code, 0, output + complaint);
  assert.match(output, /\w+ \w+/, `nothing was answered: ${complaint}`);
}

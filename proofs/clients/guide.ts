import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { checkOutside, makeHome, type ClientContext, clientContextOf, run, type AgentTrial } from './agent';
import { clientsFolder } from './clients-folder';
import type { ProgramOutcome } from '../../test/system/program';

const client = 'docs/clients.md';
/** Base URL in the examples of the guide. */
const EXAMPLE_URL = 'http://127.0.0.1:3000';
const DEADLINE_MS = 60_000;

/** Runs the commands and programs of the guide exactly as printed. */
export async function tryGuide(trial: AgentTrial): Promise<void> {
  const page = readFileSync(join(clientsFolder, '..', '..', 'docs', 'clients.md'), 'utf8');
  assert.ok(page.includes(EXAMPLE_URL));
  for (const language of ['js', 'sh', 'toml']) assert.ok(blocksOf(page, language).length > 0, language);
  const sections = page.replaceAll(EXAMPLE_URL, trial.product.url).split(/^## /m).slice(1);
  for (const section of sections) {
    const title = section.slice(0, section.indexOf('\n'));
    for (const program of blocksOf(section, 'js'))
      await trial.findings.attempt(`${client} · ${title} · the program`, () => runProgram(trial, program));
    for (const commands of blocksOf(section, 'sh').filter(runsCommand))
      await trial.findings.attempt(`${client} · ${title} · the commands`, () =>
        runCommands(trial, commands, blocksOf(section, 'toml')[0]),
      );
  }
  await checkOutside(trial, client);
}

const blocksOf = (section: string, language: string): string[] =>
  [...section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, text]) => text ?? '');

/** A block that only sets variables, such as SAFEGUARDS_MODEL, configures the service and runs no client. */
const runsCommand = (commands: string): boolean => /^(?!export |$)/m.test(commands.trim());

const exportedVariables = ({ product }: AgentTrial): Record<string, string> => ({
  SWITCHBOARD_URL: product.url,
  SWITCHBOARD_API_KEY: product.key,
});

async function runProgram(trial: AgentTrial, program: string): Promise<void> {
  const scripts = join(clientsFolder, 'sdk');
  const clientContext: ClientContext = {
    cwd: scripts,
    environment: { PATH: process.env.PATH ?? '', ...exportedVariables(trial) },
  };
  const networkGuard = join(scripts, 'only-loopback.mjs');
  requireAnswer(
    await run(
      [process.execPath, '--import', networkGuard, '--input-type=module', '-e', program],
      clientContext,
      DEADLINE_MS,
    ),
  );
}

async function runCommands(trial: AgentTrial, commands: string, codexSettings?: string): Promise<void> {
  const home = makeHome(trial.folder, codexSettings === undefined ? 'guide' : 'guide-codex');
  if (codexSettings !== undefined)
    writeFileSync(join(home.home, '.codex', 'config.toml'), withoutExternalCalls(codexSettings));
  const clientContext = clientContextOf(home, trial.outside, {
    ...exportedVariables(trial),
    PATH: [createBinFolder(home.home), process.env.PATH].join(delimiter),
  });
  requireAnswer(await run(['bash', '-e', '-u', '-c', commands], clientContext, DEADLINE_MS));
}

/** Added, as the guide says, so that Codex calls only the gateway. */
const withoutExternalCalls = (settings: string): string =>
  [
    'check_for_update_on_startup = false',
    settings,
    '[analytics]\nenabled = false',
    '[features]\nplugins = false\napps = false\n',
  ].join('\n');

/** Creates a bin folder, as a global installation would. */
function createBinFolder(home: string): string {
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

function requireAnswer({ code, output, complaint, late }: ProgramOutcome): void {
  assert.ok(!late, `no end after ${DEADLINE_MS} ms`);
  assert.equal(code, 0, output + complaint);
  assert.match(output, /\w+ \w+/, `nothing was answered: ${complaint}`);
}

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, type AgentTrial } from './agent';
import { clientsFolder } from './clients-folder';
import { tryClaudeCode } from './claude-code';
import { tryCodex } from './codex';
import { tryGuide } from './guide';
import { tryOpenResponses } from './open-responses';
import { EgressProxy } from './egress-proxy';
import { Findings, runProof } from '../../test/system/findings';
import { installPackages } from '../../test/system/packages';
import { stopProgramsOnInterrupt } from '../../test/system/program';
import { startProduct } from './product';

/** Real clients hold conversations with tools through the product, started as a user would start it. */

const sdks = [
  ['openai 7', 'openai.mjs', 'openai'],
  ['openai 6', 'openai.mjs', 'openai-6'],
  ['@anthropic-ai/sdk 1', 'anthropic.mjs', '@anthropic-ai/sdk'],
  ['@anthropic-ai/sdk 0', 'anthropic.mjs', 'anthropic-sdk-0'],
  ['Vercel AI SDK 7', 'ai-sdk.mjs'],
  ['Vercel AI SDK 7', 'ai-sdk-turns.mjs', 'ai', '@ai-sdk/openai'],
  ['Vercel AI SDK 5', 'ai-sdk-turns.mjs', 'ai-5', 'ai-sdk-openai-2'],
  ['LangChain', 'langchain.mjs'],
] as const;

const SDK_DEADLINE_MS = 120_000;

/** A script prints its own findings; reaching its end is an additional one. */
async function trySdk(
  { product, findings }: AgentTrial,
  [client, file, ...args]: readonly [string, string, ...string[]],
): Promise<void> {
  const scripts = join(clientsFolder, 'sdk');
  const { code, output, complaint, late } = await run(
    [process.execPath, '--import', join(scripts, 'only-loopback.mjs'), join(scripts, file), ...args],
    {
      cwd: scripts,
      environment: {
        PATH: process.env.PATH ?? '',
        GATEWAY_URL: product.url,
        GATEWAY_KEY: product.key,
        LANGSMITH_TRACING: 'false',
      },
    },
    SDK_DEADLINE_MS,
  );
  const lines = output.split('\n').filter((text) => text.startsWith('{'));
  for (const line of lines) {
    const { what, fault } = JSON.parse(line) as { what: string; fault: string | null };
    findings.add(`${client} · ${what}`, fault === null, fault ?? '');
  }
  const endFault = late ? `no end after ${SDK_DEADLINE_MS} ms` : complaint;
  const fault = code !== 0 ? endFault : lines.length === 0 ? 'it checked nothing' : null;
  findings.add(`${client} · ran to the end`, fault === null, fault ?? '');
}

const others = {
  'Open Responses': tryOpenResponses,
  Codex: tryCodex,
  'Claude Code': tryClaudeCode,
  'docs/clients.md': tryGuide,
};

/** Tries only clients whose name contains the argument. */
async function main(): Promise<void> {
  const only = process.argv[2] ?? '';
  stopProgramsOnInterrupt();
  await installPackages('proofs/clients', 'the clients (about 1 GB)');
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-clients-'));
  chmodSync(folder, 0o755);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const egressProxy = await EgressProxy.open();
  const findings = new Findings('prove:clients');
  try {
    const product = await startProduct(folder);
    try {
      const trial: AgentTrial = { product, outside: egressProxy, findings, folder };
      for (const sdk of sdks) if (sdk[0].includes(only)) await trySdk(trial, sdk);
      for (const [client, attempt] of Object.entries(others)) if (client.includes(only)) await attempt(trial);
    } finally {
      await product.stop();
    }
  } finally {
    egressProxy.close();
  }
  findings.end();
}

runProof(main);

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';
import { Findings, runProof } from '../support/findings';
import { expectStatus, requestsSent } from './http';
import type { Scenario } from './scenario';
import { scenarios } from './scenarios';
import { beyondContract } from './scenarios/beyond-contract';
import { World } from './world';

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly auth: string;
}

/**
 * Every operation of the contract by its scenario: a success whose effect is seen, bad input, a caller without rights.
 * One without a scenario is pending. What is beyond the contract is proven in the same way and counted apart. `--only <words>` runs those whose name holds the words, `--list` names the pending.
 */
async function main(): Promise<void> {
  const contract = readFileSync(join(projectFolder, 'test/contract/operations.json'), 'utf8');
  const { operations } = JSON.parse(contract) as { operations: readonly Operation[] };
  const names = new Map(operations.map((operation) => [`${operation.method} ${operation.path}`, operation]));
  const only = given('only');
  const findings = new Findings('prove:operations');
  const world = await World.open();
  const failed = new Set<string>();
  try {
    for (const scenario of scenarios) {
      if (only !== null && !scenario.operation.includes(only)) continue;
      const operation = names.get(scenario.operation);
      const failures =
        operation === undefined
          ? ['the contract has no such operation']
          : await run(scenario, operation, world);
      findings.add(scenario.operation, failures.length === 0, failures.join('; '));
      if (failures.length > 0) failed.add(scenario.operation);
    }
    for (const scenario of beyondContract) {
      if (only !== null && !scenario.operation.includes(only)) continue;
      const [method = '', path = ''] = scenario.operation.split(' ');
      const failures = await run(scenario, { method, path, auth: 'session+role' }, world);
      findings.add(`beyond the contract: ${scenario.operation}`, failures.length === 0, failures.join('; '));
    }
  } finally {
    await world.close();
  }
  const told = new Set(scenarios.map(({ operation }) => operation));
  const proven = [...told].filter(
    (name) => names.has(name) && !failed.has(name) && (only === null || name.includes(only)),
  );
  const pending = [...names.keys()].filter((name) => !told.has(name));
  if (process.argv.includes('--list')) for (const name of pending) process.stdout.write(`pending  ${name}\n`);
  process.stdout.write(
    `\n${proven.length} of ${operations.length} operations proven, ${pending.length} pending\n`,
  );
  findings.end();
}

async function run(scenario: Scenario, operation: Operation, world: World): Promise<string[]> {
  const { badInput, withoutRights } = scenario;
  const steps: [string, () => Promise<void>][] = [
    ['success', () => scenario.success(world)],
    ['bad input', () => (badInput === 'none' ? askWithWrongVerb(operation, world) : badInput(world))],
    [
      'without rights',
      () => (withoutRights === 'public' ? expectPublic(operation, world) : withoutRights(world)),
    ],
  ];
  const failures: string[] = [];
  for (const [name, step] of steps) {
    const before = requestsSent(world.url);
    try {
      await step();
      if (requestsSent(world.url) === before) failures.push(`${name}: no request was sent`);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failures;
}

async function askWithWrongVerb({ path }: Operation, world: World): Promise<void> {
  const answer = await world.anonymous.send('PUT', path.replaceAll(/\{[^}]+\}/g, '1'));
  expectStatus(answer, 405, 'method_not_allowed');
}

/** Whatever else a caller without credentials is told, it is not that they have to sign in or may not. */
async function expectPublic({ method, path, auth }: Operation, world: World): Promise<void> {
  if (auth !== 'none') throw new Error(`the contract asks for ${auth}`);
  const address = path.replaceAll(/\{[^}]+\}/g, '1');
  const answer = await world.anonymous.send(method, address, method === 'GET' ? {} : { json: {} });
  const { status, text } = answer;
  const asksWho = /authentication_required|permission_denied|missing_api_key/.test(text);
  const refused = status >= 500 || (status >= 400 && asksWho);
  if (refused) throw new Error(`a public operation refuses strangers: ${status} ${text.slice(0, 300)}`);
}

function given(name: string): string | null {
  const place = process.argv.indexOf(`--${name}`);
  return place === -1 ? null : (process.argv[place + 1] ?? null);
}

runProof(main);

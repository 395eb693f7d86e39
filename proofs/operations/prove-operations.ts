import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';
import { Findings, runProof } from '../../test/system/findings';
import { expectStatus } from './http';
import type { Scenario } from './scenario';
import { scenarios } from './scenarios';
import { beyondContract } from './scenarios/beyond-contract';
import { exchangesWith } from './traffic';
import { World } from './world';

interface ContractOperationEntry {
  readonly method: string;
  readonly path: string;
  readonly auth: string;
}

/**
 * Runs the scenario of every contract operation: a success with a visible effect, invalid input, a caller without
 * permission. An operation without a scenario fails; behaviour beyond the contract is counted separately, and `--only
 * <text>` filters by name.
 */
async function main(): Promise<void> {
  const contract = readFileSync(join(projectFolder, 'test/contract/operations.json'), 'utf8');
  const { operations } = JSON.parse(contract) as { operations: readonly ContractOperationEntry[] };
  const unproven = new Map(
    operations.map((operation) => [`${operation.method} ${operation.path}`, operation]),
  );
  const nameFilter = optionValue('only') ?? '';
  const findings = new Findings('prove:operations');
  const world = await World.open();
  try {
    for (const scenario of scenarios) {
      const operation = unproven.get(scenario.operation);
      unproven.delete(scenario.operation);
      if (!scenario.operation.includes(nameFilter)) continue;
      const failures =
        operation === undefined
          ? ['the contract has no such operation, or another scenario has it']
          : await run(scenario, operation, world);
      findings.add(scenario.operation, failures.length === 0, failures.join('; '));
    }
    for (const name of unproven.keys())
      if (name.includes(nameFilter)) findings.add(name, false, 'no scenario proves it');
    for (const scenario of beyondContract) {
      if (!scenario.operation.includes(nameFilter)) continue;
      const [method = '', path = ''] = scenario.operation.split(' ');
      const failures = await run(scenario, { method, path, auth: 'session+role' }, world);
      findings.add(`beyond the contract: ${scenario.operation}`, failures.length === 0, failures.join('; '));
    }
  } finally {
    await world.close();
  }
  findings.end();
}

interface ScenarioPart {
  readonly name: string;
  readonly step: () => Promise<void>;
  /** Status that at least one request of the operation must get; a step without requests proves nothing. */
  readonly expectedStatus: RegExp;
  /** Method if it differs from the operation's own. */
  readonly method?: string;
}

function partsOf(
  { success, badInput, withoutRights }: Scenario,
  operation: ContractOperationEntry,
  world: World,
): ScenarioPart[] {
  // A signature covers the body, so a wrong one is invalid input.
  const rejectionStatus = operation.auth === 'processor signature' ? /^400$/ : /^40[134]$/;
  return [
    { name: 'success', step: () => success(world), expectedStatus: /^[23]/ },
    badInput === 'none'
      ? {
          name: 'bad input',
          step: () => callWithWrongMethod(operation, world),
          expectedStatus: /^405$/,
          method: 'PUT',
        }
      : { name: 'bad input', step: () => badInput(world), expectedStatus: /^4/ },
    withoutRights === 'public'
      ? { name: 'public', step: () => expectPublic(operation, world), expectedStatus: /^[234]/ }
      : { name: 'without rights', step: () => withoutRights(world), expectedStatus: rejectionStatus },
  ];
}

async function run(scenario: Scenario, operation: ContractOperationEntry, world: World): Promise<string[]> {
  const failures: string[] = [];
  for (const { name, step, expectedStatus: answered, method = operation.method } of partsOf(
    scenario,
    operation,
    world,
  )) {
    const before = exchangesWith(world.url).length;
    try {
      await step();
      const statuses = exchangesWith(world.url)
        .slice(before)
        .filter((exchange) => exchange.method === method && matchesPath(exchange.path, operation))
        .map(({ status }) => String(status));
      if (statuses.length === 0) failures.push(`${name}: the operation was not asked`);
      else if (!statuses.some((status) => answered.test(status)))
        failures.push(`${name}: no answer was ${answered.source}, but ${statuses.join(', ')}`);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failures;
}

/** Matches `/keys/7` with `/keys/{key_id}`; text after a # only names the scenario. */
function matchesPath(path: string, operation: ContractOperationEntry): boolean {
  const [template = ''] = operation.path.split('#');
  const [wanted, found] = [template.split('/'), path.split('/')];
  return (
    wanted.length === found.length &&
    wanted.every((part, index) => (/^\{.+\}$/.test(part) ? found[index] !== '' : part === found[index]))
  );
}

async function callWithWrongMethod({ path }: ContractOperationEntry, world: World): Promise<void> {
  const answer = await world.anonymous.send('PUT', path.replaceAll(/\{[^}]+\}/g, '1'));
  expectStatus(answer, 405, 'method_not_allowed');
}

/**
 * Errors about the input that share a status with missing permissions: an invalid token, or terms that are not
 * accepted.
 */
const isInputError = /"code":"(?:invalid_token|tos_not_accepted)"/;

/** An unauthenticated caller never gets a response that requires sign-in or permission. */
async function expectPublic({ method, path, auth }: ContractOperationEntry, world: World): Promise<void> {
  if (auth !== 'none') throw new Error(`the contract asks for ${auth}`);
  const address = path.replaceAll(/\{[^}]+\}/g, '1');
  const answer = await world.anonymous.send(method, address, method === 'GET' ? {} : { json: {} });
  const { status, text } = answer;
  const isRejected = status >= 500 || ([401, 403].includes(status) && !isInputError.test(text));
  if (isRejected) throw new Error(`a public operation refuses strangers: ${status} ${text.slice(0, 300)}`);
}

function optionValue(name: string): string | null {
  const index = process.argv.indexOf(`--${name}`);
  return index === -1 ? null : (process.argv[index + 1] ?? null);
}

runProof(main);

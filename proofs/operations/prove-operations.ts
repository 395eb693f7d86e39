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

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly auth: string;
}

/**
 * Every operation of the contract by its scenario: a success whose effect is seen, bad input, a caller
 * without rights. One without a scenario fails. Behaviour beyond the contract is proven in the same way and
 * counted apart. `--only <words>` runs those whose name holds the words.
 */
async function main(): Promise<void> {
  const contract = readFileSync(join(projectFolder, 'test/contract/operations.json'), 'utf8');
  const { operations } = JSON.parse(contract) as { operations: readonly Operation[] };
  const unproven = new Map(
    operations.map((operation) => [`${operation.method} ${operation.path}`, operation]),
  );
  const only = given('only') ?? '';
  const findings = new Findings('prove:operations');
  const world = await World.open();
  try {
    for (const scenario of scenarios) {
      const operation = unproven.get(scenario.operation);
      unproven.delete(scenario.operation);
      if (!scenario.operation.includes(only)) continue;
      const failures =
        operation === undefined
          ? ['the contract has no such operation, or another scenario has it']
          : await run(scenario, operation, world);
      findings.add(scenario.operation, failures.length === 0, failures.join('; '));
    }
    for (const name of unproven.keys())
      if (name.includes(only)) findings.add(name, false, 'no scenario proves it');
    for (const scenario of beyondContract) {
      if (!scenario.operation.includes(only)) continue;
      const [method = '', path = ''] = scenario.operation.split(' ');
      const failures = await run(scenario, { method, path, auth: 'session+role' }, world);
      findings.add(`beyond the contract: ${scenario.operation}`, failures.length === 0, failures.join('; '));
    }
  } finally {
    await world.close();
  }
  findings.end();
}

interface Part {
  readonly name: string;
  readonly step: () => Promise<void>;
  /** One request of the operation has to get such a status: a step that asks nothing proves nothing. */
  readonly answered: RegExp;
  /** The method is given where it is not the operation's own. */
  readonly method?: string;
}

function partsOf({ success, badInput, withoutRights }: Scenario, operation: Operation, world: World): Part[] {
  // A signature belongs to the body, so a wrong one is bad input.
  const refused = operation.auth === 'processor signature' ? /^400$/ : /^40[134]$/;
  return [
    { name: 'success', step: () => success(world), answered: /^[23]/ },
    badInput === 'none'
      ? {
          name: 'bad input',
          step: () => askWithWrongVerb(operation, world),
          answered: /^405$/,
          method: 'PUT',
        }
      : { name: 'bad input', step: () => badInput(world), answered: /^4/ },
    withoutRights === 'public'
      ? { name: 'public', step: () => expectPublic(operation, world), answered: /^[234]/ }
      : { name: 'without rights', step: () => withoutRights(world), answered: refused },
  ];
}

async function run(scenario: Scenario, operation: Operation, world: World): Promise<string[]> {
  const failures: string[] = [];
  for (const { name, step, answered, method = operation.method } of partsOf(scenario, operation, world)) {
    const before = exchangesWith(world.url).length;
    try {
      await step();
      const statuses = exchangesWith(world.url)
        .slice(before)
        .filter((exchange) => exchange.method === method && isAt(exchange.path, operation))
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

/** `/keys/7` is at `/keys/{key_id}`; what follows a # only names the scenario. */
function isAt(path: string, operation: Operation): boolean {
  const [template = ''] = operation.path.split('#');
  const [wanted, found] = [template.split('/'), path.split('/')];
  return (
    wanted.length === found.length &&
    wanted.every((part, place) => (/^\{.+\}$/.test(part) ? found[place] !== '' : part === found[place]))
  );
}

async function askWithWrongVerb({ path }: Operation, world: World): Promise<void> {
  const answer = await world.anonymous.send('PUT', path.replaceAll(/\{[^}]+\}/g, '1'));
  expectStatus(answer, 405, 'method_not_allowed');
}

/** Statuses of those who may not, given here for what was sent: a token that is none, terms that are not accepted. */
const refusesTheInput = /"code":"(?:invalid_token|tos_not_accepted)"/;

/** A caller without credentials is told anything but that they have to sign in or may not. */
async function expectPublic({ method, path, auth }: Operation, world: World): Promise<void> {
  if (auth !== 'none') throw new Error(`the contract asks for ${auth}`);
  const address = path.replaceAll(/\{[^}]+\}/g, '1');
  const answer = await world.anonymous.send(method, address, method === 'GET' ? {} : { json: {} });
  const { status, text } = answer;
  const refused = status >= 500 || ([401, 403].includes(status) && !refusesTheInput.test(text));
  if (refused) throw new Error(`a public operation refuses strangers: ${status} ${text.slice(0, 300)}`);
}

function given(name: string): string | null {
  const place = process.argv.indexOf(`--${name}`);
  return place === -1 ? null : (process.argv[place + 1] ?? null);
}

runProof(main);

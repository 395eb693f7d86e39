import type { ReadResponse, Client } from '../operations/http';
import { World } from '../operations/world';
import { Findings, inParallel, runProof } from '../../test/system/findings';
import { type ContractOperation, type ContractParameter, portalOperations } from './contract';
import { locationsOf, printFailures } from './faults';
import { type OddValue, oddValuesOf } from './odd-values';
import { proveFields } from './prove-fields';

const ROLES = ['platform_owner', 'org_admin', 'user'] as const;
const CONCURRENCY = 6;
const MAX_SHOWN_LENGTH = 40;

/** Permissions are checked first, before any value. */
const REJECTION_STATUSES = new Set([401, 403]);

/** Bodies that are not a JSON object; an empty body of a change counts as one without fields. */
const nonObjects = [undefined, 'null', '[]', '"text"', '0', '{', '{"a":1,"a":2}'];

interface ParameterCase {
  readonly operation: ContractOperation;
  readonly parameter: ContractParameter;
  readonly value: OddValue;
}

/**
 * Sends odd values for every portal parameter as three roles. Parameters and allowed values come from the contract, not
 * from the service's own description; body fields and malformed bodies follow.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:parameters');
  const world = await World.open();
  try {
    const operations = portalOperations();
    for (const role of ROLES) {
      const { client } = await world.person(role);
      await proveValues(findings, role, client, operations);
    }
    for (const role of ROLES) {
      const person = await world.newPerson({ role, organisationId: world.organisationId });
      await proveFields(findings, world, role, person, operations);
    }
    for (const role of ROLES) {
      const { client } = await world.newPerson({ role, organisationId: world.organisationId });
      await proveBodies(findings, role, client, operations);
    }
  } finally {
    await world.close();
  }
  findings.end();
}

async function proveValues(
  findings: Findings,
  role: string,
  client: Client,
  operations: readonly ContractOperation[],
): Promise<void> {
  const cases = operations.flatMap((operation) =>
    (operation.parameters ?? []).flatMap((parameter) =>
      oddValuesOf(parameter).map((value): ParameterCase => ({ operation, parameter, value })),
    ),
  );
  const failures: string[] = [];
  let rejectedCount = 0;
  await inParallel(CONCURRENCY, cases, async (one) => {
    const { method, path } = one.operation;
    const answer = await client.send(method, addressOf(one), method === 'GET' ? {} : { json: {} });
    if (answer.status === 422) rejectedCount += 1;
    const problem = problemOf(one, answer);
    if (problem === null) return;
    const shownValue = JSON.stringify(one.value.text).slice(0, MAX_SHOWN_LENGTH);
    failures.push(`${method} ${path} ${one.parameter.name}=${shownValue}: ${problem}`);
  });
  printFailures(failures);
  findings.expectNoneWrong(
    `${role}: every value outside of its type is 422, every other has an ordinary answer`,
    cases.length,
    failures.length,
    `${cases.length} values, ${rejectedCount} refused, ${failures.length} wrong`,
  );
}

/** Other ids of the path are absent ones. */
function addressOf({ operation, parameter, value }: ParameterCase): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    parameter.in === 'path' && parameter.name === name ? encodeURIComponent(value.text) : '999999',
  );
  const query = new URLSearchParams();
  for (const other of operation.parameters ?? [])
    if (other.in === 'query' && other.required && other.name !== parameter.name)
      query.append(other.name, '999999');
  if (parameter.in === 'query')
    for (let time = value.isTwice === true ? 2 : 1; time > 0; time -= 1)
      query.append(parameter.name, value.text);
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

function problemOf({ operation, parameter, value }: ParameterCase, answer: ReadResponse): string | null {
  const { status } = answer;
  if (status >= 500) return `${status} ${answer.text.slice(0, 200)}`;
  if (REJECTION_STATUSES.has(status)) return null;
  const locations = status === 422 ? locationsOf(answer) : null;
  if (typeof locations === 'string') return locations;
  const isNamed =
    locations?.some(([place, name]) => place === parameter.in && name === parameter.name) ?? false;
  if (value.verdict === 'outside' && !isNamed) return `${status}, wanted 422 for it`;
  if (value.verdict === 'inside' && isNamed) return '422, though it fits';
  // A callback without a matching sign-in of this browser is rejected for that reason.
  const isUnrelatedCallback = operation.path.includes('/login/callback');
  return value.verdict !== 'outside' && status === 400 && !isUnrelatedCallback ? '400' : null;
}

async function proveBodies(
  findings: Findings,
  role: string,
  client: Client,
  operations: readonly ContractOperation[],
): Promise<void> {
  const changes = operations.filter(({ method }) => method !== 'GET');
  const failures: string[] = [];
  let sentCount = 0;
  await inParallel(CONCURRENCY, changes, async ({ method, path, auth }) => {
    for (const body of nonObjects) {
      sentCount += 1;
      const headers = { 'content-type': 'application/json' };
      const address = path.replaceAll(/\{\w+\}/g, '999999');
      const answer = await client.send(method, address, body === undefined ? {} : { headers, body });
      const isUnsigned = auth === 'processor signature' && answer.text.includes('signature');
      const problem = isUnsigned ? null : problemOfBody(body, answer);
      if (problem !== null) failures.push(`${method} ${path} with ${body ?? 'no body'}: ${problem}`);
    }
  });
  printFailures(failures);
  findings.expectNoneWrong(
    `${role}: a body that is no object of fields is refused with its place`,
    sentCount,
    failures.length,
    `${sentCount} bodies, ${failures.length} wrong`,
  );
}

function problemOfBody(body: string | undefined, answer: ReadResponse): string | null {
  const { status, text } = answer;
  if (status >= 500 || status === 400) return `${status} ${text.slice(0, 200)}`;
  if (REJECTION_STATUSES.has(status)) return null;
  if (status === 422) {
    const locations = locationsOf(answer);
    return typeof locations === 'string' ? locations : null;
  }
  return body === undefined ? null : `${status}, wanted 422`;
}

runProof(main);

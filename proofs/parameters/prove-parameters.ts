import type { Answer, Client } from '../operations/http';
import { World } from '../operations/world';
import { Findings, inParallel, runProof } from '../../test/system/findings';
import { type ContractOperation, type ContractParameter, portalOperations } from './contract';
import { placesOf, tell } from './faults';
import { type OddValue, oddValuesOf } from './odd-values';
import { proveFields } from './prove-fields';

const ROLES = ['platform_owner', 'org_admin', 'user'] as const;
const AT_ONCE = 6;
const LONGEST_SHOWN = 40;

/** Rights come first: without them a value is not looked at. */
const refusals = new Set([401, 403]);

/** Bodies that are no object of fields; a change without a body is one without fields. */
const noObjects = [undefined, 'null', '[]', '"text"', '0', '{', '{"a":1,"a":2}'];

interface Case {
  readonly operation: ContractOperation;
  readonly parameter: ContractParameter;
  readonly value: OddValue;
}

/**
 * Odd values for every parameter of every operation of the portal, by three roles. The parameters are the contract's,
 * and so is what they take: the service's own description is not asked. Then every field of every body, and bodies
 * that are no fields at all.
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
      oddValuesOf(parameter).map((value): Case => ({ operation, parameter, value })),
    ),
  );
  const wrong: string[] = [];
  let refused = 0;
  await inParallel(AT_ONCE, cases, async (one) => {
    const { method, path } = one.operation;
    const answer = await client.send(method, addressOf(one), method === 'GET' ? {} : { json: {} });
    if (answer.status === 422) refused += 1;
    const problem = problemOf(one, answer);
    if (problem === null) return;
    const shown = JSON.stringify(one.value.text).slice(0, LONGEST_SHOWN);
    wrong.push(`${method} ${path} ${one.parameter.name}=${shown}: ${problem}`);
  });
  tell(wrong);
  findings.over(
    `${role}: every value outside of its type is 422, every other has an ordinary answer`,
    cases.length,
    wrong.length,
    `${cases.length} values, ${refused} refused, ${wrong.length} wrong`,
  );
}

/** Other ids of the path are absent ones. */
function addressOf({ operation, parameter, value }: Case): string {
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

function problemOf({ operation, parameter, value }: Case, answer: Answer): string | null {
  const { status } = answer;
  if (status >= 500) return `${status} ${answer.text.slice(0, 200)}`;
  if (refusals.has(status)) return null;
  const fault = status === 422 ? placesOf(answer) : null;
  if (typeof fault === 'string') return fault;
  const isNamed = fault?.some(([place, name]) => place === parameter.in && name === parameter.name) ?? false;
  if (value.verdict === 'outside' && !isNamed) return `${status}, wanted 422 for it`;
  if (value.verdict === 'inside' && isNamed) return '422, though it fits';
  // A callback that answers no sign-in of this browser is refused for that.
  const isAstray = operation.path.includes('/login/callback');
  return value.verdict !== 'outside' && status === 400 && !isAstray ? '400' : null;
}

async function proveBodies(
  findings: Findings,
  role: string,
  client: Client,
  operations: readonly ContractOperation[],
): Promise<void> {
  const changes = operations.filter(({ method }) => method !== 'GET');
  const wrong: string[] = [];
  let sent = 0;
  await inParallel(AT_ONCE, changes, async ({ method, path, auth }) => {
    for (const body of noObjects) {
      sent += 1;
      const headers = { 'content-type': 'application/json' };
      const address = path.replaceAll(/\{\w+\}/g, '999999');
      const answer = await client.send(method, address, body === undefined ? {} : { headers, body });
      const isStranger = auth === 'processor signature' && answer.text.includes('signature');
      const problem = isStranger ? null : problemOfBody(body, answer);
      if (problem !== null) wrong.push(`${method} ${path} with ${body ?? 'no body'}: ${problem}`);
    }
  });
  tell(wrong);
  findings.over(
    `${role}: a body that is no object of fields is refused with its place`,
    sent,
    wrong.length,
    `${sent} bodies, ${wrong.length} wrong`,
  );
}

function problemOfBody(body: string | undefined, answer: Answer): string | null {
  const { status, text } = answer;
  if (status >= 500 || status === 400) return `${status} ${text.slice(0, 200)}`;
  if (refusals.has(status)) return null;
  if (status === 422) {
    const fault = placesOf(answer);
    return typeof fault === 'string' ? fault : null;
  }
  return body === undefined ? null : `${status}, wanted 422`;
}

runProof(main);

import { type Client, expect, expectStatus } from '../../../operations/http';
import type { World } from '../../../operations/world';
import type { UserRole } from '../../../../src/kernel';
import { openPoint, row, type SpecificationRow } from '../../row';
import { ADMIN, absent, clientOf, expectInvalid } from './row-helpers';

interface RejectedParameter {
  readonly operation: string;
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly role: UserRole;
  /** Values that are invalid for the parameter. */
  readonly wrong: readonly string[];
}

const NON_INTEGERS = ['abc', '1.5', '0x10', '1e2', '%20', '-', '99999999999999999999'];

const integers = (role: UserRole, name: string, ...operations: string[]): RejectedParameter[] =>
  operations.map((operation) => ({ operation, name, in: 'path', role, wrong: NON_INTEGERS }));

const queries = (role: UserRole, operation: string, ...names: string[]): RejectedParameter[] =>
  names.map((name) => ({ operation, name, in: 'query', role, wrong: [...NON_INTEGERS, '1&TWICE=2'] }));

const user = (act: string): string => `POST ${ADMIN}/users/{user_id}/${act}`;

/** Integer parameters. */
const integerParameters: readonly RejectedParameter[] = [
  ...queries('user', 'GET /dashboard/autorouter', 'days'),
  ...queries('user', 'GET /dashboard/api/autorouter', 'days'),
  ...integers('user', 'key_id', 'GET /dashboard/keys/{key_id}', 'POST /dashboard/keys/{key_id}'),
  ...integers(
    'user',
    'conv_id',
    'GET /dashboard/webchat/{conv_id}',
    'GET /dashboard/playground/{conv_id}',
    'DELETE /api/conversations/{conv_id}',
    'POST /api/conversations/{conv_id}/model',
    'POST /api/chat/{conv_id}',
  ),
  ...integers(
    'user',
    'pm_id',
    'DELETE /api/billing/payment-method/{pm_id}',
    'POST /api/billing/payment-method/{pm_id}/default',
  ),
  ...queries('platform_admin', `GET ${ADMIN}/api/key-rate-limit-state`, 'key_id'),
  ...queries('platform_admin', 'GET /api/admin/token-logs', 'limit', 'since_ms', 'offset', 'window_hours'),
  ...integers(
    'platform_admin',
    'user_id',
    `GET ${ADMIN}/users/{user_id}`,
    ...[
      'role',
      'billing-exempt',
      'credit-limit',
      'monthly-budget',
      'billing-config',
      'status',
      'hard-delete',
      'org',
      'department',
    ].map(user),
  ),
  ...integers('platform_admin', 'invite_id', `POST ${ADMIN}/users/invite/{invite_id}/revoke`),
  ...integers('platform_admin', 'grant_id', `POST ${ADMIN}/promotions/{grant_id}/update`),
  ...integers(
    'platform_admin',
    'org_id',
    `POST ${ADMIN}/organisations/{org_id}`,
    `DELETE ${ADMIN}/organisations/{org_id}`,
    `GET ${ADMIN}/organisations/{org_id}/merge-data`,
  ),
  ...integers(
    'platform_admin',
    'conv_id',
    `GET ${ADMIN}/conversations/{conv_id}`,
    'DELETE /api/admin/conversations/{conv_id}',
  ),
  ...integers(
    'platform_admin',
    'provider_id',
    `POST ${ADMIN}/providers/{provider_id}/update`,
    `POST ${ADMIN}/providers/{provider_id}/delete`,
    `GET ${ADMIN}/providers/{provider_id}/visibility-info`,
    `POST ${ADMIN}/providers/{provider_id}/visibility`,
  ),
  ...integers('platform_admin', 'schedule_id', `DELETE ${ADMIN}/models/{model}/price-schedule/{schedule_id}`),
  ...integers(
    'org_admin',
    'dept_id',
    `GET ${ADMIN}/api/departments/{dept_id}/model-access`,
    `POST ${ADMIN}/api/departments/{dept_id}/model-access`,
  ),
];

/** Text longer than any name within the limit of 2,048 characters for a URL, and a byte that no text can contain. */
const INVALID_TEXTS = ['x'.repeat(1_900), 'a%00b'];

const texts = (role: UserRole, name: string, ...operations: string[]): RejectedParameter[] =>
  operations.map((operation) => ({ operation, name, in: 'path', role, wrong: INVALID_TEXTS }));

/** Text parameters. */
const textParameters: readonly RejectedParameter[] = [
  ...texts('user', 'request_id', 'GET /dashboard/qualitative/detail/{request_id}'),
  ...texts(
    'user',
    'pm_id',
    'DELETE /api/billing/payment-methods/{pm_id}',
    'POST /api/billing/payment-methods/{pm_id}/default',
  ),
  ...texts(
    'platform_admin',
    'model',
    `GET ${ADMIN}/models/{model}/price-schedule`,
    `POST ${ADMIN}/models/{model}/price-schedule`,
    `DELETE ${ADMIN}/models/{model}/price-schedule/{schedule_id}`,
    'POST /admin/models/{model}/ensure-admin-fixture',
    'POST /admin/models/{model}/replay-inclusion',
  ),
  ...texts('platform_admin', 'alias_name', `DELETE ${ADMIN}/model-aliases/{alias_name}`),
  ...['provider', 'key_name', 'kinds', 'source', 'error_kind'].map((name): RejectedParameter => ({
    operation: 'GET /api/admin/token-logs',
    name,
    in: 'query',
    role: 'platform_admin',
    wrong: [...INVALID_TEXTS, 'a&TWICE=b'],
  })),
];

/** Bodies in which only the parameter is invalid. */
const bodies: Readonly<Record<string, object>> = {
  'POST /api/conversations/{conv_id}/model': { model: 'sim-small' },
  'POST /api/chat/{conv_id}': { content: 'Hello' },
  'POST /dashboard/keys/{key_id}': { name: 'renamed' },
  [user('role')]: { role: 'user' },
  [user('billing-exempt')]: { billing_exempt: true },
  [user('credit-limit')]: { credit_limit: 1 },
  [user('monthly-budget')]: { monthly_budget: 1 },
  [user('billing-config')]: { billing_type: 'prepaid' },
  [user('status')]: { status: 'active' },
  [user('org')]: { org_id: null },
  [user('department')]: { department_id: null },
  [`POST ${ADMIN}/promotions/{grant_id}/update`]: { name: 'renamed' },
  [`POST ${ADMIN}/organisations/{org_id}`]: { name: 'renamed' },
  [`POST ${ADMIN}/providers/{provider_id}/update`]: { name: 'renamed' },
  [`POST ${ADMIN}/providers/{provider_id}/visibility`]: { visible: true },
  [`POST ${ADMIN}/api/departments/{dept_id}/model-access`]: { blocked: [] },
  [`POST ${ADMIN}/models/{model}/price-schedule`]: { starts_at: '2080-01-01T00:00:00Z', input_price: '1' },
  'POST /admin/models/{model}/replay-inclusion': { included: true },
};

/** Calls the operation with this value; other path parameters are valid. */
function callWithValue(client: Client, { operation, name, in: index }: RejectedParameter, value: string) {
  const [method = '', path = ''] = operation.split(' ');
  const own =
    index === 'path' ? path.replace(`{${name}}`, value) : `${path}?${name}=${value.replace('TWICE', name)}`;
  const filledPath = own.replace('{model}', 'sim-small').replaceAll(/\{\w+\}/g, String(absent));
  return client.send(method, filledPath, method === 'POST' ? { json: bodies[operation] ?? {} } : {});
}

async function refuses(world: World, parameter: RejectedParameter): Promise<void> {
  const client = await clientOf(world, parameter.role);
  for (const value of parameter.wrong) {
    const answer = await callWithValue(client, parameter, value);
    const shownValue = value.length > 40 ? `${value.length} characters` : value;
    expect(answer.status === 422, `${shownValue}: ${answer.status} ${answer.text.slice(0, 160)}`);
    expectInvalid(answer, parameter.in, parameter.name);
  }
}

const refusal = (parameter: RejectedParameter, what: string): SpecificationRow =>
  row(
    '4.10',
    `\`${parameter.operation}\` answers \`${parameter.name}\` that is no ${what} with 422 and a validation body`,
    (world) => refuses(world, parameter),
  );

export const parameterRows: readonly SpecificationRow[] = [
  row(
    '4.10',
    'An address of more than 2,048 characters is refused with 414 before its parameters are read',
    async (world) => {
      const client = await clientOf(world, 'platform_admin');
      const path = (length: number) => `${ADMIN}/model-aliases/`.padEnd(length, 'x');
      expectInvalid(await client.delete(path(2_048)), 'path', 'alias_name');
      const answer = await client.delete(path(2_049));
      expectStatus(answer, 414, 'request_too_large');
    },
    { decided: openPoint('an address of more than 2,048 characters is 414 instead of 422') },
  ),
  ...integerParameters.map((parameter) => refusal(parameter, 'integer')),
  ...textParameters.map((parameter) => refusal(parameter, 'text of its kind')),
];

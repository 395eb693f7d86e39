import { type ReadResponse, expect } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { row, type SpecificationRow } from '../../row';
import {
  ADMIN,
  callTo,
  clientOf,
  equal,
  uniqueName,
  inHtml,
  okCsv,
  okHtml,
  okJson,
  expectRejected,
  refusesAnonymous,
} from './row-helpers';

const audit = `${ADMIN}/audit`;

/** Records a change in each organisation, each under its own name. */
async function recordChanges(world: World): Promise<{ own: string; other: string }> {
  const [ours, theirs] = [uniqueName('ours'), uniqueName('theirs')];
  const paths = [
    [await clientOf(world, 'org_owner'), ours],
    [(await world.stranger('org_owner')).client, theirs],
  ] as const;
  for (const [client, name] of paths) okCsv(await client.get(`${audit}/export?object=${name}`));
  return { own: ours, other: theirs };
}

const QUERY = 'action=log.exported';

/** Expects the log or its export to contain exactly the own entries. */
async function expectEntries(
  ask: Promise<ReadResponse>,
  { own, other }: { own: string; other: string },
): Promise<boolean[]> {
  const { status, text } = await ask;
  equal(status, 200, 'the status');
  return [text.includes(own), text.includes(other)];
}

export const auditRows: readonly SpecificationRow[] = [
  ...[audit, `${audit}/export`].flatMap((path) => {
    const file = path.endsWith('export');
    return [
      row(
        '4.10',
        `\`GET ${path}\` ${file ? 'answers as CSV what' : 'is the page on which'} owners and administrators of an organisation see${file ? '' : ' its entries'}`,
        async (world) => {
          const names = await recordChanges(world);
          for (const role of ['org_owner', 'org_admin'] as const) {
            const client = await clientOf(world, role);
            equal(
              await expectEntries(client.get(`${path}?${QUERY}`, inHtml), names),
              [true, false],
              `${role}: ours and theirs`,
            );
          }
          const answer = await (await clientOf(world, 'org_admin')).get(path);
          if (file) okCsv(answer);
          else okHtml(answer);
          await refusesAnonymous(world, callTo('GET', path));
          expectRejected(await (await clientOf(world, 'user')).get(path), 403, 'permission_denied');
        },
      ),
      row(
        '4.10',
        `\`GET ${path}\` ${file ? 'holds' : 'shows'} all entries for administrators and owners of the platform, with their own actions`,
        async (world) => {
          const names = await recordChanges(world);
          for (const role of ['platform_admin', 'platform_owner'] as const) {
            const person = await world.person(role);
            const own = uniqueName('own');
            okCsv(await person.client.get(`${audit}/export?object=${own}`));
            equal(
              await expectEntries(person.client.get(`${path}?${QUERY}`, inHtml), names),
              [true, true],
              `${role}: ours and theirs`,
            );
            expect(
              (await person.client.get(`${path}?${QUERY}`, inHtml)).text.includes(own),
              `${role}: the own action`,
            );
          }
        },
      ),
    ];
  }),
  row('4.10', `\`GET ${audit}/export\` has the filters of the list`, async (world) => {
    await recordChanges(world);
    const client = await clientOf(world, 'org_owner');
    const { columns, lines } = okCsv(await client.get(`${audit}/export?${QUERY}`));
    const at = columns.indexOf('action');
    const actions = new Set(lines.map((line) => line.split(',')[at]));
    equal([...actions], ['log.exported'], 'the actions in the file');
    equal(okCsv(await client.get(`${audit}/export?from=2030-01-01`)).lines, [], 'of a time to come');
  }),
  row(
    '4.10',
    `\`GET ${audit}/export\` is capped at the newest \`AUDIT_EXPORT_MAX_ROWS\` entries`,
    async (world) => {
      const { client } = await world.newPerson({ role: 'platform_admin' });
      const cap = Number(world.gateway.node.environment['AUDIT_EXPORT_MAX_ROWS']);
      for (let entryCount = 0; entryCount <= cap; entryCount += 1)
        okJson(await client.post('/dashboard/toggle-admin-mode', { json: {} }));
      const { columns, lines } = okCsv(await client.get(`${audit}/export`));
      equal(lines.length, cap, 'lines of the file');
      const ids = lines.map((line) => Number(line.split(',')[columns.indexOf('entry_id')]));
      const [newest] = await world.rows<{ ids: number[] }>(
        'SELECT array_agg(id ORDER BY id DESC) AS ids FROM (SELECT id::int FROM activity ORDER BY id DESC LIMIT $1) newest',
        [cap],
      );
      equal(
        ids.toSorted((one, other) => other - one),
        newest?.ids,
        'the entries',
      );
    },
  ),
];

import { type Answer, expect } from '../../../operations/http';
import type { World } from '../../../operations/world';
import { row, type Row } from '../../row';
import {
  ADMIN,
  asking,
  clientOf,
  equal,
  fresh,
  inHtml,
  okCsv,
  okHtml,
  okJson,
  refuses,
  refusesAnonymous,
} from './steps';

const audit = `${ADMIN}/audit`;

/** A change of ours and one of theirs on record, each by a name of its own. */
async function onRecord(world: World): Promise<{ ours: string; theirs: string }> {
  const [ours, theirs] = [fresh('ours'), fresh('theirs')];
  const paths = [
    [await clientOf(world, 'org_owner'), ours],
    [(await world.stranger('org_owner')).client, theirs],
  ] as const;
  for (const [client, name] of paths) okCsv(await client.get(`${audit}/export?object=${name}`));
  return { ours, theirs };
}

const wanted = 'action=log.exported';

/** The log, or the file of it, holds this of both. */
async function told(
  ask: Promise<Answer>,
  { ours, theirs }: { ours: string; theirs: string },
): Promise<boolean[]> {
  const { status, text } = await ask;
  equal(status, 200, 'the status');
  return [text.includes(ours), text.includes(theirs)];
}

export const auditRows: readonly Row[] = [
  ...[audit, `${audit}/export`].flatMap((path) => {
    const file = path.endsWith('export');
    return [
      row(
        '4.10',
        `\`GET ${path}\` ${file ? 'answers as CSV what' : 'is the page on which'} owners and administrators of an organisation see${file ? '' : ' its entries'}`,
        async (world) => {
          const names = await onRecord(world);
          for (const role of ['org_owner', 'org_admin'] as const) {
            const client = await clientOf(world, role);
            equal(
              await told(client.get(`${path}?${wanted}`, inHtml), names),
              [true, false],
              `${role}: ours and theirs`,
            );
          }
          const answer = await (await clientOf(world, 'org_admin')).get(path);
          if (file) okCsv(answer);
          else okHtml(answer);
          await refusesAnonymous(world, asking('GET', path));
          refuses(await (await clientOf(world, 'user')).get(path), 403, 'permission_denied');
        },
      ),
      row(
        '4.10',
        `\`GET ${path}\` ${file ? 'holds' : 'shows'} all entries for administrators and owners of the platform, with their own actions`,
        async (world) => {
          const names = await onRecord(world);
          for (const role of ['platform_admin', 'platform_owner'] as const) {
            const person = await world.person(role);
            const own = fresh('own');
            okCsv(await person.client.get(`${audit}/export?object=${own}`));
            equal(
              await told(person.client.get(`${path}?${wanted}`, inHtml), names),
              [true, true],
              `${role}: ours and theirs`,
            );
            expect(
              (await person.client.get(`${path}?${wanted}`, inHtml)).text.includes(own),
              `${role}: the own action`,
            );
          }
        },
      ),
    ];
  }),
  row('4.10', `\`GET ${audit}/export\` has the filters of the list`, async (world) => {
    await onRecord(world);
    const client = await clientOf(world, 'org_owner');
    const { columns, lines } = okCsv(await client.get(`${audit}/export?${wanted}`));
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
      for (let made = 0; made <= cap; made += 1)
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
